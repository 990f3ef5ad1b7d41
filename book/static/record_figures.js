// Draws records side by side: the ladder and the times of a matrix, who is first on each, counters, curves of a kernel.
window.worklogFigures = (function () {
  const { rules, rungs, peers, tie } = window.worklogRecord;
  const GAP = 8;
  const LINE = 18;

  // ---- what a record has

  // Fastest times by matrix and provider, and those by block size: as `Record.times` and `Record.select` find them.
  // `counters` are those of rungs, at each one's own block size, as `Record.profiles_on` finds them.
  function recordOf({ gpu, software, protocol, date, kernels, counters }, rows) {
    const best = new Map();
    const profiles = new Map();
    for (const row of rows) {
      const there = among(best, row);
      if (!there[row.provider] || row.median_us < there[row.provider].median_us) there[row.provider] = row;
    }
    for (const profile of counters) if (rungs.includes(profile.kernel)) among(profiles, profile)[profile.kernel] ??= profile;
    const stale = (name) => Object.hasOwn(rules.kernels, name) && kernels[name] !== rules.kernels[name].digest;
    const has = new Set(rows.map((row) => row.provider));
    const facts = { ...gpu, ...software, ...protocol };
    return { name: gpu.name, where: `${gpu.name}, ${date}`, facts, rows, best, profiles, stale, has };
  }

  function among(byMatrix, { rows, cols }) {
    const matrix = `${rows} × ${cols}`;
    if (!byMatrix.has(matrix)) byMatrix.set(matrix, {});
    return byMatrix.get(matrix);
  }

  const starred = (record, name) => (record.stale(name) ? "*" : "");
  const share = (row) => `${Math.round((100 * row.copy_us) / row.median_us)}%`;
  const called = (record, name) => (peers[name] ?? name) + starred(record, name);

  // What stands in place of a time that is not there.
  const lacking = (record, name) => (record.has.has(name) ? "not timed" : "not yet measured");

  function inWords(us) {
    const [value, unit] = +us.toPrecision(3) < 1000 ? [us, "µs"] : [us / 1000, "ms"];
    const digits = String(Math.trunc(+value.toPrecision(3))).length;
    return `${value.toFixed(Math.max(0, 3 - digits))} ${unit}`;
  }

  const round = (us) => (us < 1000 ? `${us} µs` : `${us / 1000} ms`);

  // ---- HTML and SVG

  function make(tag, attributes = {}, ...inner) {
    const element = tag.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inner);
    return element;
  }

  const text = (words, x, y, anchor = "start") => make("svg:text", { x, y, "text-anchor": anchor }, words);
  const line = (x1, y1, x2, y2) => make("svg:line", { x1, y1, x2, y2 });

  // Disc and diamond: no GPU is told by its colour alone.
  function mark(index, x, y) {
    if (index === 0) return make("svg:circle", { cx: x, cy: y, r: 5, class: "of-book" });
    return make("svg:path", { d: `M${x} ${y - 7}l7 7l-7 7l-7 -7z`, class: "of-reader" });
  }

  function scale([least, most], [from, to]) {
    const [low, high] = [Math.log(least), Math.log(most)];
    return (value) => from + ((Math.log(value) - low) / (high - low || 1)) * (to - from);
  }

  function picture(records, title, words, [width, height], draw) {
    const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words });
    draw(svg);
    const key = make("figcaption", {}, make("strong", {}, title));
    for (const [index, record] of records.entries()) {
      const sign = make("svg:svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(index, 8, 8));
      key.append(make("span", {}, sign, ` ${record.where}`));
    }
    return make("figure", {}, key, svg);
  }

  const tensIn = ([least, most]) => {
    const found = [];
    for (let ten = 10 ** Math.ceil(Math.log10(least)); ten <= most; ten *= 10) found.push(ten);
    return found;
  };

  // ---- the ladder on a matrix

  function ladder(records, matrix, width) {
    const times = records.map((record) => record.best.get(matrix) ?? {});
    const names = rungs.filter((name) => records.some((record, index) => times[index][name] || !record.has.has(name)));
    const found = times.flatMap((of) => names.map((name) => of[name]?.median_us).filter(Boolean));
    const range = [Math.min(...found) / 1.5, Math.max(...found) * 1.5];
    const rowHeight = 46;
    const height = names.length * rowHeight + 34;
    const told = records.map((record, index) => {
      const of = names.map((name) => {
        const row = times[index][name];
        return `${name} ${row ? inWords(row.median_us) : lacking(record, name)}${starred(record, name)}`;
      });
      return `${record.where}: ${of.join(", ")}`;
    });
    return picture(records, `Time of each rung, ${matrix} floats`, told.join("; "), [width, height], (svg) => {
      const x = scale(range, [74, width - 88]);
      for (const ten of tensIn(range)) {
        svg.append(line(x(ten), 0, x(ten), height - 22), text(round(ten), x(ten), height - 6, "middle"));
      }
      for (const [at, name] of names.entries()) {
        const middle = at * rowHeight + rowHeight / 2;
        svg.append(text(name, 0, middle + 4));
        for (const [index, record] of records.entries()) {
          const y = middle + (index ? 10 : -10);
          const row = times[index][name];
          if (!row) {
            svg.append(text(lacking(record, name), 74, y + 4));
            continue;
          }
          svg.append(line(74, y, x(row.median_us), y), mark(index, x(row.median_us), y));
          svg.append(text(inWords(row.median_us) + starred(record, name), x(row.median_us) + 12, y + 4));
        }
      }
    });
  }

  // ---- tables

  // A head for each column of each record, and a line for each of `lines`: what it is called, and by record its cells or a
  // sentence in their place.
  function table(records, label, corner, heads, lines) {
    const alike = new Set(records.map((record) => record.name)).size === 1;
    const cells = (of) => (Array.isArray(of) ? of.map((cell) => make("td", {}, cell)) : [make("td", { colspan: heads.length }, of)]);
    const line = ([name, ...of]) => make("tr", {}, make("th", { scope: "row" }, name), ...of.flatMap(cells));
    const whose = records.map((record) =>
      make("th", { scope: "colgroup", colspan: heads.length }, alike ? record.where : record.name),
    );
    const first = make("tr", {}, make("th", { scope: "col", rowspan: heads.length > 1 ? 2 : 1 }, corner), ...whose);
    const second = make("tr", {}, ...records.flatMap(() => heads.map((head) => make("th", { scope: "col" }, head))));
    const top = make("thead", {}, first, ...(heads.length > 1 ? [second] : []));
    const whole = make("table", {}, top, make("tbody", {}, ...lines.map(line)));
    return make("div", { class: "worklog-scroll", tabindex: 0, role: "group", "aria-label": label }, whole);
  }

  function times(records, matrix) {
    const found = records.map((record) => record.best.get(matrix) ?? {});
    const names = [...rungs, ...Object.keys(peers)].filter((name) => rungs.includes(name) || found.some((of) => of[name]));
    const lines = names.map((name) => [
      peers[name] ?? name,
      ...records.map((record, index) => {
        const { [name]: row, naive } = found[index];
        if (!row) return lacking(record, name);
        const climbed = naive ? String(+(naive.median_us / row.median_us).toPrecision(3)) : "";
        return [inWords(row.median_us) + starred(record, name), share(row), climbed];
      }),
    ]);
    return table(records, `Times on ${matrix} floats`, matrix, ["time", "of a copy", "× naive"], lines);
  }

  // Rungs and peers that were timed on a matrix, the fastest first.
  const race = (record, matrix) =>
    Object.values(record.best.get(matrix) ?? {})
      .filter((row) => rungs.includes(row.provider) || isPeer(row))
      .sort((one, other) => one.median_us - other.median_us);

  const level = (one, other) =>
    Math.max(one.median_us, other.median_us) < tie * Math.min(one.median_us, other.median_us);

  const isPeer = ({ provider }) => Object.hasOwn(peers, provider);

  function lead(record, first, second) {
    const ratio = second.median_us / first.median_us;
    const other = called(record, second.provider);
    if (level(first, second)) return `level with ${other}`;
    return ratio < 2 ? `${Math.round(100 * (ratio - 1))}% ahead of ${other}` : `${+ratio.toPrecision(3)} × as fast as ${other}`;
  }

  // Who is first on each matrix on which a peer was timed, and by how much, and how the best rung does beside the best peer.
  function firsts(records, timed) {
    const matrices = timed.filter((matrix) => records.some((record) => race(record, matrix).some(isPeer)));
    const lines = matrices.map((matrix) => [
      matrix,
      ...records.map((record) => {
        const [first, second] = race(record, matrix);
        if (!first) return "not timed";
        return [called(record, first.provider), second ? lead(record, first, second) : "alone"];
      }),
    ]);
    const scores = records.map((record) => make("p", {}, `${record.where}: ${score(record, matrices)}`));
    return [table(records, "The fastest on each matrix", "matrix", ["fastest", "beside the next"], lines), ...scores];
  }

  function score(record, matrices) {
    const counts = { ahead: 0, level: 0, behind: 0 };
    for (const matrix of matrices) {
      const racing = race(record, matrix);
      const rung = racing.find(({ provider }) => rungs.includes(provider));
      const peer = racing.find(isPeer);
      if (rung && peer) counts[level(rung, peer) ? "level" : rung === racing[0] ? "ahead" : "behind"] += 1;
    }
    if (counts.ahead + counts.level + counts.behind === 0) return "no peer was timed beside a rung.";
    const told = Object.entries(counts).map(([how, count]) => `${how} on ${count}`);
    return `the best rung beside the best peer is ${told.join(", ")}.`;
  }

  // What DRAM moved in matrices, and how warps and issue slots spent their cycles: as `Profile` makes them of counters.
  function counters(records, matrix) {
    const found = records.map((record) => record.profiles.get(matrix) ?? {});
    const names = rungs.filter((name) => found.some((of) => of[name]));
    if (names.length === 0) return make("p", {}, `No hardware counters were read on ${matrix} floats.`);
    const lines = names.map((name) => [name, ...found.map((of) => (of[name] ? counted(of[name]) : "not counted"))]);
    return table(records, `Hardware counters on ${matrix} floats`, "counters", ["read", "written", "waits", "issues"], lines);
  }

  function counted(profile) {
    const bytes = 4 * profile.rows * profile.cols;
    const moved = [profile.dram_read_bytes / bytes, profile.dram_write_bytes / bytes].map((matrices) => matrices.toFixed(2));
    if (!("warp_cycles" in profile)) return [...moved, "not counted", "not counted"];
    const stalls = Object.entries(profile).filter(([name]) => name.startsWith("stalled_"));
    const cycles = stalls.reduce((sum, [, value]) => sum + value, 0);
    const ran = [profile.stalled_long_scoreboard / cycles, profile.instructions_issued / profile.scheduler_cycles];
    return [...moved, ...ran.map((part) => part.toFixed(2))];
  }

  function origins(records) {
    const names = new Set(records.flatMap((record) => Object.keys(record.facts)));
    const lines = [...names].map((name) => [name, ...records.map(({ facts }) => [String(facts[name] ?? "")])]);
    return table(records, "How each was recorded", "recorded with", [""], lines);
  }

  // ---- curves of a kernel

  function curves(records, width, title, below, inUnit, points) {
    const series = records.map(points);
    const all = series.flat();
    const words = records.map((record, index) => {
      const of = series[index].map(([at, value]) => `${at} ${inUnit(value)}`);
      return `${record.where}: ${of.join(", ") || "nothing was timed"}`;
    });
    if (all.length === 0) return make("p", {}, `${title}: nothing was timed.`);
    const range = (index) => [Math.min(...all.map((p) => p[index])), Math.max(...all.map((p) => p[index]))];
    const [across, up] = [range(0), range(1)];
    const [low, high] = [up[0] / 1.3, up[1] * 1.3];
    return picture(records, `${title}, ${below}`, `${title}, ${below}. ${words.join("; ")}`, [width, 280], (svg) => {
      const x = scale(across, [74, width - 24]);
      const y = scale([low, high], [244, 10]);
      let free = -Infinity;
      for (const at of [...new Set(all.map((point) => point[0]))].sort((a, b) => a - b)) {
        if (x(at) < free) continue;
        svg.append(line(x(at), 10, x(at), 244), text(String(at), x(at), 264, "middle"));
        free = x(at) + 44 + GAP;
      }
      let above = Infinity;
      for (const value of [up[0], Math.sqrt(up[0] * up[1]), up[1]]) {
        if (above - y(value) < LINE) continue;
        svg.append(line(74, y(value), width - 24, y(value)), text(inUnit(value), 0, y(value) + 4));
        above = y(value);
      }
      for (const [index, found] of series.entries()) {
        const path = found.map(([at, value]) => `${x(at)},${y(value)}`).join(" ");
        svg.append(make("svg:polyline", { points: path, class: index ? "of-readers-line" : "" }));
        svg.append(...found.map(([at, value]) => mark(index, x(at), y(value))));
      }
    });
  }

  const inOrder = (points) => points.sort((one, other) => one[0] - other[0]);

  const bandwidth = (records, kernel, width) =>
    curves(records, width, `GB/s of ${kernel} on 1024 rows`, "by columns", (value) => `${value.toPrecision(3) * 1} GB/s`, (record) => {
      const on = [...record.best.values()].map((of) => of[kernel]).filter((row) => row?.rows === 1024);
      return inOrder(on.map((row) => [row.cols, (8 * row.rows * row.cols) / row.median_us / 1e3]));
    });

  const blockSizes = (records, kernel, width) =>
    curves(records, width, `${kernel} on 1024 × 32768 floats`, "by threads per block", inWords, (record) => {
      const on = record.rows.filter((row) => row.provider === kernel && row.rows === 1024 && row.cols === 32768);
      return inOrder(on.map((row) => [row.block_size, row.median_us]));
    });

  return { make, recordOf, ladder, times, firsts, counters, origins, bandwidth, blockSizes };
})();
