// A reader's record beside the book's: its file is chosen, dropped or pasted, read in the page, and drawn with the ladder.
(function () {
  const { rules, rungs, peers, book } = window.worklogRecord;
  const place = document.querySelector(".worklog-beside");
  const LARGEST_BYTES = 64 << 20;
  const GAP = 8;
  let reader = null;

  // ---- what a record has

  // Fastest times by matrix and provider, and those by block size: as `Record.times` and `Record.select` find them.
  function recordOf({ gpu, date, kernels }, rows) {
    const best = new Map();
    for (const row of rows) {
      const matrix = `${row.rows} × ${row.cols}`;
      if (!best.has(matrix)) best.set(matrix, {});
      const there = best.get(matrix);
      if (!there[row.provider] || row.median_us < there[row.provider].median_us) there[row.provider] = row;
    }
    const stale = (name) => Object.hasOwn(rules.kernels, name) && kernels[name] !== rules.kernels[name].digest;
    return { name: gpu, where: `${gpu}, ${date}`, rows, best, stale, has: new Set(rows.map((row) => row.provider)) };
  }

  const ofBook = recordOf(
    book,
    book.rows.map((row) => Object.fromEntries(book.fields.map((field, index) => [field, row[index]]))),
  );

  const ofFile = (content) =>
    recordOf(
      { ...content, gpu: content.gpu.name },
      content.rows.filter(
        ({ dtype, l2, data, step }) => dtype === "float32" && l2 === "cold" && data === "normal" && step === "",
      ),
    );

  const records = () => [ofBook, reader];
  const starred = (record, name) => (record.stale(name) ? "*" : "");
  const share = (row) => `${Math.round((100 * row.copy_us) / row.median_us)}%`;

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
  const line = (x1, y1, x2, y2, kind) => make("svg:line", { x1, y1, x2, y2, class: kind });

  // Disc and diamond: no GPU is told by its colour alone.
  function mark(index, x, y) {
    if (index === 0) return make("svg:circle", { cx: x, cy: y, r: 5, class: "of-book" });
    return make("svg:path", { d: `M${x} ${y - 7}l7 7l-7 7l-7 -7z`, class: "of-reader" });
  }

  function scale([least, most], [from, to]) {
    const [low, high] = [Math.log(least), Math.log(most)];
    return (value) => from + ((Math.log(value) - low) / (high - low || 1)) * (to - from);
  }

  function picture(title, words, height, draw) {
    const width = Math.min(640, place.querySelector(".worklog-pictures").clientWidth);
    const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words });
    draw(svg, width);
    const key = make("figcaption", {}, make("strong", {}, title));
    for (const [index, record] of records().entries()) {
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

  function ladder(matrix) {
    const times = records().map((record) => record.best.get(matrix) ?? {});
    const names = rungs.filter((name) => records().some((record, index) => times[index][name] || !record.has.has(name)));
    const found = times.flatMap((of) => names.map((name) => of[name]?.median_us).filter(Boolean));
    const range = [Math.min(...found) / 1.5, Math.max(...found) * 1.5];
    const rowHeight = 46;
    const height = names.length * rowHeight + 34;
    const told = records().map((record, index) => {
      const of = names.map((name) => {
        const row = times[index][name];
        return `${name} ${row ? inWords(row.median_us) : lacking(record, name)}${starred(record, name)}`;
      });
      return `${record.where}: ${of.join(", ")}`;
    });
    return picture(`Time of each rung, ${matrix} floats`, told.join("; "), height, (svg, width) => {
      const x = scale(range, [74, width - 88]);
      for (const ten of tensIn(range)) {
        svg.append(line(x(ten), 0, x(ten), height - 22, "of-grid"), text(round(ten), x(ten), height - 6, "middle"));
      }
      for (const [at, name] of names.entries()) {
        const middle = at * rowHeight + rowHeight / 2;
        svg.append(text(name, 0, middle + 4));
        for (const [index, record] of records().entries()) {
          const y = middle + (index ? 10 : -10);
          const row = times[index][name];
          if (!row) {
            svg.append(text(lacking(record, name), 74, y + 4));
            continue;
          }
          svg.append(line(74, y, x(row.median_us), y, "of-line"), mark(index, x(row.median_us), y));
          svg.append(text(inWords(row.median_us) + starred(record, name), x(row.median_us) + 12, y + 4));
        }
      }
    });
  }

  function table(matrix) {
    const times = records().map((record) => record.best.get(matrix) ?? {});
    const names = [...rungs, ...Object.keys(peers)].filter((name) => rungs.includes(name) || times.some((of) => of[name]));
    const body = make("tbody");
    for (const name of names) {
      const cells = records().flatMap((record, index) => {
        const row = times[index][name];
        if (!row) return [make("td", { colspan: 2 }, lacking(record, name))];
        return [make("td", {}, inWords(row.median_us) + starred(record, name)), make("td", {}, share(row))];
      });
      body.append(make("tr", {}, make("th", { scope: "row" }, peers[name] ?? name), ...cells));
    }
    const alike = new Set(records().map((record) => record.name)).size === 1;
    const named = (record) => (alike ? record.where : record.name);
    const gpus = records().map((record) => make("th", { scope: "colgroup", colspan: 2 }, named(record)));
    const heads = records().flatMap(() => ["time", "of a copy"].map((head) => make("th", { scope: "col" }, head)));
    const top = make("thead", {}, make("tr", {}, make("th", { scope: "col", rowspan: 2 }, matrix), ...gpus), make("tr", {}, ...heads));
    return make("div", { class: "worklog-scroll", tabindex: 0, role: "group", "aria-label": `Times on ${matrix} floats` }, make("table", {}, top, body));
  }

  // ---- curves of a kernel

  function curves(title, below, inUnit, points) {
    const series = records().map(points);
    const all = series.flat();
    const words = records().map((record, index) => {
      const of = series[index].map(([at, value]) => `${at} ${inUnit(value)}`);
      return `${record.where}: ${of.join(", ") || "nothing was timed"}`;
    });
    if (all.length === 0) return make("p", {}, `${title}: nothing was timed.`);
    const range = (index) => [Math.min(...all.map((p) => p[index])), Math.max(...all.map((p) => p[index]))];
    const [across, up] = [range(0), range(1)];
    const [low, high] = [up[0] / 1.3, up[1] * 1.3];
    return picture(`${title}, ${below}`, `${title}, ${below}. ${words.join("; ")}`, 280, (svg, width) => {
      const x = scale(across, [74, width - 24]);
      const y = scale([low, high], [244, 10]);
      let free = -Infinity;
      for (const at of [...new Set(all.map((point) => point[0]))].sort((a, b) => a - b)) {
        if (x(at) < free) continue;
        svg.append(line(x(at), 10, x(at), 244, "of-grid"), text(String(at), x(at), 264, "middle"));
        free = x(at) + 44 + GAP;
      }
      for (const value of [up[0], Math.sqrt(up[0] * up[1]), up[1]]) {
        svg.append(line(74, y(value), width - 24, y(value), "of-grid"), text(inUnit(value), 0, y(value) + 4));
      }
      for (const [index, found] of series.entries()) {
        const path = found.map(([at, value]) => `${x(at)},${y(value)}`).join(" ");
        svg.append(make("svg:polyline", { points: path, class: index ? "of-readers-line" : "of-books-line" }));
        svg.append(...found.map(([at, value]) => mark(index, x(at), y(value))));
      }
    });
  }

  const inOrder = (points) => points.sort((one, other) => one[0] - other[0]);

  const bandwidth = (kernel) =>
    curves(`GB/s of ${kernel} on 1024 rows`, "by columns", (value) => `${value.toPrecision(3) * 1} GB/s`, (record) => {
      const on = [...record.best.values()].map((of) => of[kernel]).filter((row) => row?.rows === 1024);
      return inOrder(on.map((row) => [row.cols, (8 * row.rows * row.cols) / row.median_us / 1e3]));
    });

  const blockSizes = (kernel) =>
    curves(`${kernel} on 1024 × 32768 floats`, "by threads per block", inWords, (record) => {
      const on = record.rows.filter((row) => row.provider === kernel && row.rows === 1024 && row.cols === 32768);
      return inOrder(on.map((row) => [row.block_size, row.median_us]));
    });

  // ---- the controls

  const outcome = make("p", { role: "status", class: "worklog-told" });
  const input = make("input", { type: "file", id: "worklog-record-file", accept: ".json,application/json" });
  const pasted = make("textarea", { id: "worklog-record-text", rows: 4, spellcheck: "false" });
  const paste = make("button", { type: "button" }, "Show it");
  const matrices = make("select", { id: "worklog-record-matrix" });
  const kernels = make("select", { id: "worklog-record-kernel" });
  const ofMatrix = make("div", { class: "worklog-pictures" });
  const ofKernel = make("div", { class: "worklog-pictures" });
  const shown = make(
    "div",
    { hidden: "" },
    make("p", {}, make("label", { for: matrices.id }, "Matrix "), matrices),
    ofMatrix,
    make("p", {}, make("label", { for: kernels.id }, "Kernel "), kernels),
    ofKernel,
  );

  function draw() {
    if (!reader) return;
    const stale = rungs.some((name) => records().some((record) => record.has.has(name) && record.stale(name)));
    const note = stale ? [make("p", {}, "* before this kernel changed")] : [];
    ofMatrix.replaceChildren(ladder(matrices.value), table(matrices.value), ...note);
    ofKernel.replaceChildren(bandwidth(kernels.value), blockSizes(kernels.value));
  }

  function offer() {
    const timed = [...reader.best].filter(([matrix, of]) => ofBook.best.has(matrix) && rungs.some((name) => of[name]));
    if (timed.length === 0) throw new Error(`The record of ${reader.where} has no time of a rung on a matrix of this book.`);
    const wanted = matrices.value || "1024 × 32768";
    matrices.replaceChildren(...timed.map(([matrix]) => make("option", {}, matrix)));
    if (timed.some(([matrix]) => matrix === wanted)) matrices.value = wanted;
    kernels.replaceChildren(...rungs.map((name) => make("option", {}, name)));
    kernels.value = "fusion";
  }

  function take(words, name) {
    const before = reader;
    try {
      reader = ofFile(window.worklogRecords.read(words, name, rules));
      offer();
    } catch (error) {
      reader = before;
      outcome.textContent = `${error.message}${before ? ` What is shown is still ${before.where}.` : ""}`;
      return;
    }
    shown.hidden = false;
    draw();
    outcome.textContent = `${reader.where} is shown beside ${ofBook.where}: ${reader.rows.length} times.`;
  }

  async function takeFile(file) {
    if (!file) return;
    if (file.size > LARGEST_BYTES) outcome.textContent = `${file.name} is no record: it is larger than any.`;
    else take(await file.text().catch(() => ""), file.name);
  }

  input.addEventListener("change", async () => {
    await takeFile(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  paste.addEventListener("click", () => take(pasted.value, "What was pasted"));
  shown.addEventListener("change", draw);
  window.addEventListener("resize", draw);
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    takeFile(event.dataTransfer.files[0]);
    place.scrollIntoView({ block: "start" });
  });

  place.replaceChildren(
    make("p", {}, make("label", { for: input.id }, "The file of your GPU's record, chosen here or dropped on this page"), input),
    make(
      "details",
      {},
      make("summary", {}, "Paste it"),
      make("label", { for: pasted.id }, "The text of the file"),
      pasted,
      paste,
    ),
    make("p", {}, "The file is read in this page, and nothing is sent anywhere."),
    outcome,
    shown,
  );
})();
