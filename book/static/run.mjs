// Places of a page where a reader runs kernels of the book: at a shape, block size and data of their choice, one or two.
import { make, many, said } from "./elements.mjs";
import { DATA, fetched, fitting, xray } from "./xray.mjs";

const CHOSEN = "default", NOTHING = "nothing";
const SMALL = 1 << 19; // elements of a matrix, of which a launch can be looked into

const textOf = async (name) => new TextDecoder().decode(await fetched(name));
const options = (...names) => names.map((name) => make("option", { value: name }, name));
const number = (value) => make("input", { type: "number", min: 1, step: 1, value, required: true });

// Kernels by chapter, each with what it changes.
function offerKernels(kernels) {
  const chapters = Object.groupBy(Object.entries(kernels), ([, { stem }]) => `Chapter ${Number(stem.slice(0, 2))}`);
  const option = ([value, { changes }]) => make("option", { value }, changes ? `${value}: ${changes}` : value);
  return Object.entries(chapters).map(([label, those]) => make("optgroup", { label }, ...those.map(option)));
}

// ---- what came of a run

// What each array is asked for: bytes moved, or wavefronts, and how many of these were needed.
function chartLines(found) {
  const asked = new Map();
  for (const line of found.lines.filter((one) => one.space in { global: 1, shared: 1 })) {
    const key = `${line.array} ${line.operation}`, one = asked.get(key) ?? { space: line.space, requests: 0, needed: 0, took: 0 };
    const [took, needed] = line.space === "global" ? [line.bytes_moved, line.bytes_asked] : [line.wavefronts, line.wavefronts - line.bank_conflicts];
    asked.set(key, { ...one, requests: one.requests + line.requests, took: one.took + took, needed: one.needed + Math.min(took, needed) });
  }
  return asked;
}

function chartOf(asked, most) {
  const bar = (className, share) => make("span", { className, style: `width:${100 * share}%` });
  return make("dl", { className: "worklog-asked" }, ...[...asked].sort().flatMap(([key, { space, requests, took, needed }]) => {
    const unit = space === "global" ? "bytes moved" : "wavefronts";
    const wasted = took > needed ? `, ${said((100 * (took - needed)) / took)} % of them for nothing` : "";
    const bars = [bar("needed", needed / most[space]), bar("wasted", (took - needed) / most[space])];
    return [make("dt", {}, key), make("dd", {}, make("div", {}, ...bars), `${said(requests)} requests, ${said(took)} ${unit}${wasted}`)];
  }));
}

const sum = (all, unit) => all.reduce((total, one) => total + one[unit], 0);
const at = (all, file, line) => all.filter((one) => one.file === file && one.line === line);
const cell = (text) => make("td", {}, text);
const titled = (file) => make("tr", {}, make("td", { colSpan: 4 }), make("th", { scope: "rowgroup" }, file));
const code = (text) => make("td", {}, make("pre", { className: "highlight" }, text));

function tableOf(ariaLabel, head, body, className = "worklog-xray worklog-code") {
  const row = make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)));
  const table = make("table", {}, make("thead", {}, row), make("tbody", {}, ...body));
  return make("div", { className, tabIndex: 0, role: "group", ariaLabel }, table);
}

// Rows of a table for each line of a file that does something, and those between.
function* rowsOf(found, file, text) {
  const numbers = found.instructions.filter((one) => one.file === file).map((one) => one.line), lines = text.split("\n");
  if (numbers.length) yield titled(file);
  for (let line = Math.min(...numbers); line <= Math.max(...numbers); line++) {
    const executed = sum(at(found.instructions, file, line), "warps"), here = at(found.lines, file, line);
    const about = [make("th", { scope: "row" }, line), cell(executed ? said(executed) : "")], text = [code(lines[line - 1])];
    for (const one of here.length ? here : [{ operation: "" }]) {
      const takes = { global: [one.sectors_a_request, "sector"], shared: [one.wavefronts / one.requests, "wavefront"] }[one.space];
      const cells = [one.requests ? `${said(one.requests)} ${one.operation} ${one.array}` : "", takes ? many(...takes) : ""].map(cell);
      yield make("tr", {}, ...(about.length ? about.splice(0) : [cell(""), cell("")]), ...cells, ...(text.length ? text.splice(0) : [cell("")]));
    }
  }
}

// Lines of two texts side by side, by their longest common subsequence: [line of one, line of the other], 0 for none.
function* paired(one, other) {
  const longest = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let a = one.length - 1; a >= 0; a--)
    for (let b = other.length - 1; b >= 0; b--)
      longest[a][b] = one[a] === other[b] ? longest[a + 1][b + 1] + 1 : Math.max(longest[a + 1][b], longest[a][b + 1]);
  for (let a = 0, b = 0; a < one.length || b < other.length; )
    if (a < one.length && one[a] === other[b]) yield [++a, ++b];
    else if (b >= other.length || (a < one.length && longest[a + 1][b] >= longest[a][b + 1])) yield [++a, 0];
    else yield [0, ++b];
}

// Rows of a table for each line of two files: what each kernel does there.
function* differences(all, files, texts) {
  const lines = texts.map((text) => text.trimEnd().split("\n"));
  yield titled(`− ${files[0]}, + ${files[1]}`);
  for (const pair of paired(...lines)) {
    const counts = all.map((found, n) => {
      const [global, shared] = ["global", "shared"].map((space) => at(found.lines, files[n], pair[n]).filter((one) => one.space === space));
      return [sum(at(found.instructions, files[n], pair[n]), "warps"), sum(global, "sectors") + sum(shared, "wavefronts")];
    });
    const isSame = pair[0] && pair[1] && `${counts[0]}` === `${counts[1]}`;
    const numbers = [0, 1].flatMap((of) => counts.map((one, n) => cell(pair[n] && one[of] ? said(one[of]) : "")));
    const sign = pair[0] ? (pair[1] ? " " : "−") : "+";
    yield make("tr", { className: isSame ? "" : "worklog-differs" }, ...numbers, code(`${sign} ${pair[0] ? lines[0][pair[0] - 1] : lines[1][pair[1] - 1]}`));
  }
}

function sentence([{ kernel, rows, cols, blocks, block_size, total, worst_error }, other]) {
  if (other) return `${kernel} and ${other.kernel} on ${said(rows)} × ${said(cols)}; in colour, where they differ.`;
  const at = `${kernel} on ${said(rows)} × ${said(cols)}, ${many(blocks, "block")} of ${block_size} threads`;
  const moved = `${said(total.bytes_asked)} bytes asked for, ${said(total.bytes_moved)} moved`;
  const done = `${said(total.instructions)} warp instructions, ${said(total.bank_conflicts)} bank conflicts`;
  const off = Number.isNaN(worst_error) ? "NaN where a softmax has a number" : `At worst ${worst_error.toExponential(1)} off a softmax in float64`;
  return `${at}: ${moved}; ${done}. ${off}.`;
}

// Counters of two kernels; rows in which they differ are marked.
function comparison(one, other) {
  const [these, those] = [one, other].map(({ block_size, total, worst_error }) => ({ "threads per block": block_size, ...total, "worst error": worst_error }));
  const rows = Object.keys(these).filter((key) => these[key] !== 0 || those[key] !== 0).map((key) => {
    const [a, b] = [these[key], those[key]], ratio = a ? (b / a).toFixed(2) : "", tell = key === "worst error" ? (n) => n.toExponential(1) : said;
    const name = make("th", { scope: "row" }, key.replaceAll("_", " "));
    return make("tr", { className: a === b ? "" : "worklog-differs" }, name, ...[tell(a), tell(b), ratio].map(cell));
  });
  return tableOf(`${one.kernel} beside ${other.kernel}`, ["counter", one.kernel, other.kernel, "ratio"], rows, "worklog-scroll");
}

async function show(shown, all) {
  const sources = await Promise.all(all.map(async ({ kernel }) => Object.entries(JSON.parse(await textOf(`programs/${kernel}.json`)))));
  const asked = all.map(chartLines), most = { global: 1, shared: 1 };
  for (const { space, took } of asked.flatMap((one) => [...one.values()])) most[space] = Math.max(most[space], took);
  const charts = all.map(({ kernel }, n) => make("div", {}, ...(all.length > 1 ? [make("strong", {}, kernel)] : []), chartOf(asked[n], most)));
  const tables = [];
  if (all.length > 1) {
    const [one, other] = sources, names = all.map((found) => found.kernel);
    const headers = one.slice(1).filter(([file]) => other.some(([name]) => name === file)).map(([file, text]) => [[file, file], [text, text]]);
    const body = [[[one[0][0], other[0][0]], [one[0][1], other[0][1]]], ...headers].flatMap((those) => [...differences(all, ...those)]);
    const head = ["instructions −", "+", "sectors, wavefronts −", "+", "code"];
    tables.push(comparison(...all), tableOf(`${names.join(" and ")}, line by line`, head, body));
  } else {
    const body = sources[0].flatMap(([file, text]) => [...rowsOf(all[0], file, text)]);
    tables.push(tableOf(`${all[0].kernel} with its counters`, ["line", "instructions", "requests", "each takes", "code"], body));
  }
  const legend = make("p", { className: "worklog-asked" }, "What each array is asked for: needed in blue, for nothing in orange.");
  shown.replaceChildren(legend, make("div", { className: "worklog-columns" }, ...charts), ...tables);
}

// Hazards of the same launches, for which they run once more, ten times as slowly.
async function judge(verdicts, names, words) {
  verdicts.replaceChildren(make("li", {}, "Looking for races …"));
  const all = await Promise.all(names.map((name) => xray(name, { ...words, hazards: true })));
  const tell = ({ kernel, hazards }) => hazards.map(({ text }) => `${kernel}: ${text}`);
  const none = ({ kernel }) => `${kernel}: no race between warps, and nothing read that nobody wrote.`;
  const told = all.flatMap((found) => (found.hazards.length ? tell(found) : none(found)));
  verdicts.replaceChildren(...told.map((text) => make("li", {}, text)));
}

// A button that opens the launch step by step, or, where a link says a block, warp and step, that at once.
function offerSteps(place, name, words, [block, warp, step], moved) {
  async function open() {
    const { showSteps } = await import("./step.mjs"), source = JSON.parse(await textOf(`programs/${name}.json`));
    await showSteps(place, name, words, source, block === undefined ? {} : { block: Number(block), warp: Number(warp), step: Number(step) }, moved);
  }
  const onclick = () => open().catch((error) => (place.textContent = error.message));
  if (block === undefined) place.replaceChildren(make("button", { type: "button", onclick }, "Step through it"));
  else onclick();
}

// ---- what a reader chooses

// A link has what was chosen, in order.
const readLink = (name = "run") => new URLSearchParams(location.hash.slice(1)).get(name)?.split(",") ?? [];

async function build(place, name = "fusion") {
  const { kernels } = JSON.parse(await textOf("programs/index.json")), [offered, also] = [offerKernels(kernels), offerKernels(kernels)];
  const kernel = make("select", {}, ...offered), beside = make("select", {}, ...options(NOTHING), ...also);
  const rows = number(64), cols = number(4096), size = make("select"), data = make("select", {}, ...options(...Object.keys(DATA))), arch = make("select");
  const run = make("button", {}, "Run it"), stop = make("button", { type: "button", disabled: true }, "Stop");
  const progress = make("progress", { hidden: true, max: 1, ariaLabel: "threads that have ended" });
  const outcome = make("p", { role: "status" }), verdicts = make("ul"), shown = make("div"), stepped = make("div");
  const controls = { Kernel: kernel, Rows: rows, Columns: cols, "Threads per block": size, Data: data, Architecture: arch, "Beside it": beside };

  function offerSizes() {
    const { programs } = kernels[kernel.value], kept = [arch.value, size.value];
    arch.replaceChildren(...Object.keys(programs).reverse().map((one) => make("option", { value: one }, `sm_${one}`)));
    if (kept[0] in programs) arch.value = kept[0];
    size.replaceChildren(...options(CHOSEN, ...fitting(programs[arch.value], cols.value).map(([threads]) => threads)));
    if ([...size.options].some((option) => option.value === kept[1])) size.value = kept[1];
  }

  // What a link asks for and is not to be had stands as it was.
  function follow() {
    for (const [n, control] of Object.values(controls).entries()) {
      const before = control.value, asked = readLink()[n] ?? before;
      control.value = asked;
      if (control.value !== asked) [control.value, outcome.textContent] = [before, `The link asks for ${asked}, which is not to be had here.`];
      if (control === cols || control === arch) offerSizes();
    }
  }
  function remember(name, value) {
    const kept = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    if (value) kept.set(name, value);
    else kept.delete(name);
    history.replaceState(history.state, "", `#${kept}`);
  }

  async function launch() {
    const stopped = new AbortController(), begun = performance.now();
    const names = [kernel, beside].map((one) => one.value).filter((name) => name !== NOTHING);
    stop.onclick = () => stopped.abort();
    const words = { rows: rows.valueAsNumber, cols: cols.valueAsNumber, data: data.value, arch: Number(arch.value) }, { signal } = stopped;
    if (size.value !== CHOSEN) words.blockSize = Number(size.value);
    [run.disabled, stop.disabled, progress.hidden, progress.value] = [true, false, false, 0];
    outcome.textContent = `${names.join(" and ")} run${names.length > 1 ? "" : "s"} …`;
    const chosen = Object.values(controls).map((control) => control.value), opens = `${chosen}` === `${readLink()}` ? readLink("at") : [];
    remember("run", chosen);
    remember("at");
    verdicts.replaceChildren();
    stepped.replaceChildren();
    try {
      const all = await Promise.all(names.map((name) => xray(name, { ...words, signal, progress: (ended, of) => (progress.value = ended / of) })));
      const seconds = (performance.now() - begun) / 1000;
      await show(shown, all);
      outcome.textContent = `${sentence(all)} It took this page ${seconds.toFixed(2)} s.`;
      if (words.rows * words.cols > SMALL) verdicts.replaceChildren(make("li", {}, `Races are looked for up to ${said(SMALL)} elements, and so far one can step.`));
      else {
        await judge(verdicts, names, { ...words, signal });
        if (names.length === 1) offerSteps(stepped, names[0], words, opens, (at) => remember("at", Object.values(at)));
      }
    } catch (error) {
      stopped.abort();
      outcome.textContent = error.message;
    }
    [run.disabled, stop.disabled, progress.hidden] = [false, true, true];
  }

  const labelled = (label, control) => make("div", {}, make("label", { htmlFor: (control.id = `run-${label.replaceAll(" ", "-")}`) }, label), control);
  const form = make("form", {}, ...Object.entries(controls).map((one) => labelled(...one)), run, stop, progress);
  form.addEventListener("change", offerSizes);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    launch();
  });
  kernel.value = name;
  offerSizes();
  follow();
  addEventListener("hashchange", () => (follow(), place.scrollIntoView()));
  place.replaceChildren(form, outcome, verdicts, stepped, shown);
}

const start = (place, kernel) => build(place, kernel).catch((error) => (place.textContent = error.message));

for (const place of document.querySelectorAll(".worklog-run")) {
  const { kernel } = place.dataset;
  if (kernel) {
    const inside = make("div"), title = make("summary", {}, "Run ", make("code", {}, kernel), " in your browser, at any shape");
    const fold = make("details", {}, title, inside);
    fold.addEventListener("toggle", () => inside.childElementCount || start(inside, kernel));
    fold.open = readLink().length > 0;
    place.replaceChildren(fold);
  } else start(place);
}
