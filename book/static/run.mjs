// The place of a page where a reader runs a kernel of the book: at a shape, block size and data of their choice.
import { DATA, fetched, xray } from "./xray.mjs";

const place = document.querySelector(".worklog-run");
const said = (n) => n.toLocaleString("en", { maximumFractionDigits: 1 });

function make(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

const textOf = async (name) => new TextDecoder().decode(await fetched(name));
const { kernels } = JSON.parse(await textOf("programs/sm_90/index.json"));

const options = (...names) => names.map((name) => make("option", {}, name));
const number = (value) => make("input", { type: "number", min: 1, step: 1, value, required: true });
const kernel = make("select", {}, ...options(...Object.keys(kernels)));
const rows = number(64), cols = number(4096), size = make("select"), data = make("select", {}, ...options(...Object.keys(DATA)));
const run = make("button", {}, "Run it"), stop = make("button", { type: "button", disabled: true }, "Stop");
const progress = make("progress", { hidden: true, max: 1, ariaLabel: "threads that have ended" });
const outcome = make("p", { role: "status" }), shown = make("div");
const CHOSEN = "its own choice";

function offerSizes() {
  const fits = kernels[kernel.value].programs.filter(([, most]) => most < 0 || cols.value <= most), before = size.value;
  size.replaceChildren(...options(CHOSEN, ...new Set(fits.map(([threads]) => threads))));
  if ([...size.options].some((option) => option.value === before)) size.value = before;
}

// Rows of a table for each line of a file that does something, and those between.
function* rowsOf(found, file, text) {
  const [asked, doing] = [found.lines, found.instructions].map((all) => all.filter((one) => one.file === file));
  const numbers = doing.map((one) => one.line), lines = text.split("\n");
  if (numbers.length) yield make("tr", {}, make("th", { scope: "colgroup", colSpan: 5 }, file));
  for (let line = Math.min(...numbers); line <= Math.max(...numbers); line++) {
    const executed = doing.filter((one) => one.line === line).reduce((sum, one) => sum + one.warps, 0);
    const about = [make("th", { scope: "row" }, line), make("td", {}, executed ? said(executed) : "")];
    const code = [make("td", {}, make("pre", { className: "highlight" }, lines[line - 1]))];
    const here = asked.filter((one) => one.line === line);
    for (const one of here.length ? here : [{ operation: "" }]) {
      const takes = { global: [one.sectors_a_request, "sectors"], shared: [one.wavefronts / one.requests, "wavefronts"] }[one.space];
      const what = one.requests ? `${said(one.requests)} ${one.operation} ${one.array}` : "";
      const cells = [what, takes ? `${said(takes[0])} ${takes[1]}` : ""].map((words) => make("td", {}, words));
      yield make("tr", {}, ...(about.length ? about.splice(0) : [make("td"), make("td")]), ...cells, ...(code.length ? code.splice(0) : [make("td")]));
    }
  }
}

function tableOf(found, source) {
  const head = ["line", "instructions", "requests", "each takes", "code"].map((name) => make("th", { scope: "col" }, name));
  const body = Object.entries(source).flatMap(([file, text]) => [...rowsOf(found, file, text)]);
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  return make("div", { className: "worklog-xray worklog-code", tabIndex: 0, role: "group", ariaLabel: `${found.kernel} with its counters` }, table);
}

async function launch() {
  const stopped = new AbortController(), name = kernel.value, begun = performance.now();
  stop.onclick = () => stopped.abort();
  const words = { rows: rows.valueAsNumber, cols: cols.valueAsNumber, data: data.value, signal: stopped.signal };
  if (size.value !== CHOSEN) words.blockSize = Number(size.value);
  [run.disabled, stop.disabled, progress.hidden, progress.value] = [true, false, false, 0];
  outcome.textContent = `${name} runs …`;
  try {
    const found = await xray(name, { ...words, progress: (ended, of) => (progress.value = ended / of) });
    const { total } = found, seconds = (performance.now() - begun) / 1000;
    outcome.textContent =
      `${name} on ${said(found.rows)} × ${said(found.cols)}, ${said(found.blocks)} blocks of ${found.block_size} threads: ` +
      `${said(total.bytes_asked)} bytes asked for, ${said(total.bytes_moved)} moved; ${said(total.instructions)} warp instructions, ` +
      `${said(total.bank_conflicts)} bank conflicts. At worst ${found.worst_error.toExponential(1)} off a softmax in float64. ` +
      `It took this page ${seconds.toFixed(2)} s.`;
    shown.replaceChildren(tableOf(found, JSON.parse(await textOf(`programs/sm_90/${name}.json`))));
  } catch (error) {
    outcome.textContent = error.message;
  }
  [run.disabled, stop.disabled, progress.hidden] = [false, true, true];
}

const form = make("form");
for (const [label, control] of [["Kernel", kernel], ["Rows", rows], ["Columns", cols], ["Threads per block", size], ["Data", data]])
  form.append(make("label", {}, `${label} `, control));
form.append(run, stop, progress);
form.addEventListener("change", offerSizes);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  launch();
});
kernel.value = "fusion";
offerSizes();
place.replaceChildren(form, outcome, shown);
