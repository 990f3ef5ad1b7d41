// A launch one instruction at a time, forwards and back: any warp of any block, and what the instruction does and asks for.
import { make, many, said } from "./elements.mjs";
import { ENDINGS } from "./machine.mjs";
import { elementAt, explain, fetched, linesOf, merge, PATIENCE_MS, prepare, WARP } from "./xray.mjs";

const SLICE = 1n << 14n; // instructions of all warps between two looks at the time
const STEPS_APART = 1 << 14, MOST_KEPT = 1 << 28; // of one warp between two snapshots; bytes of all of them
const SLACK = 1 << 19; // bytes that the launch may take before its memory, and each snapshot of it, grows
const SECTOR_WORDS = 8;
const LOOK_BYTES = 288, STAND_BYTES = 8;
const WAITS = ["where its lanes meet", "for lanes", "for lanes", "where its lanes meet", "at the block's barrier", "at the cluster's barrier", "for a copy"];

// The last of a kernel's launches. Blocks do not hear of each other, so one is run without those before it; its warps take
// turns, a straight line of code each. Memory before the launch and, every so many steps, of the warp at hand is kept.
export class Steps {
  static async open(name, words, open) {
    const { size, machine, launches, run } = await prepare(name, words, open);
    for (const launch of launches.slice(0, -1)) await run(launch);
    const { program, names, blocks, given } = launches.at(-1);
    return new Steps({ name, program, names, blocks, warps: Math.ceil(size / WARP) }, await machine.open(...given()));
  }

  constructor(launch, opened) {
    const { e, runner, view } = opened, look = e.malloc(LOOK_BYTES), stands = e.malloc(STAND_BYTES * launch.warps);
    Object.assign(this, launch, { opened, look, stands });
    view().setUint32(look + 24, stands, true);
    e.machine_follow(runner, 0n, 0);
    e.free(e.malloc(SLACK));
    this.fresh = this.#snapshot(0);
  }

  #snapshot = (steps) => ({ steps, memory: new Uint8Array(this.opened.e.memory.buffer).slice() });
  #restore = ({ memory }) => new Uint8Array(this.opened.e.memory.buffer).set(memory);

  // Goes on to where the followed warp has done so many steps, or to its end; `hear` gets what each slice has done.
  #run(steps, hear) {
    const { e, view, runner, status } = this.opened, begun = Date.now();
    for (let ending = 0; ending === 0; ) {
      e.machine_look(runner, SLICE, BigInt(steps), this.look, status);
      const memory = view();
      ending = memory.getInt32(status + 24, true);
      hear?.(new Int32Array(memory.buffer, memory.getUint32(this.look + 8, true), memory.getUint32(this.look + 12, true)));
      const isOver = Date.now() - begun > PATIENCE_MS;
      if (isOver || (ending && ENDINGS[ending] !== "followed")) throw explain(this.name, this.program, { ending: ENDINGS[ending], at: memory.getInt32(status + 28, true) });
    }
  }

  // Which instruction a warp does at each of its steps.
  trace(block, warp) {
    if (this.kept?.block === block && this.kept.warp === warp) return this.kept.trace;
    for (const [what, number, count] of [["block", block, this.blocks], ["warp", warp, this.warps]])
      if (!Number.isInteger(number) || number < 0 || number >= count) throw new Error(`There is no ${what} ${number}: ${this.name} has ${what}s 0 to ${count - 1}.`);
    this.#restore(this.fresh);
    this.opened.e.machine_follow(this.opened.runner, BigInt(block), warp);
    const pieces = [];
    let snapshots = [this.#snapshot(0)], apart = STEPS_APART, steps = 0;
    this.#run(-1, (piece) => {
      pieces.push(piece.slice());
      steps += piece.length;
      if (steps - snapshots.at(-1).steps < apart) return;
      snapshots.push(this.#snapshot(steps));
      if (snapshots.length * this.fresh.memory.length < MOST_KEPT) return;
      snapshots = snapshots.filter((_, n) => n % 2 === 0);
      apart *= 2;
    });
    const trace = new Int32Array(steps);
    pieces.reduce((at, piece) => (trace.set(piece, at), at + piece.length), 0);
    this.kept = { block, warp, trace, snapshots };
    return trace;
  }

  // A warp before one of its steps, and its registers after it. Rows of 32 words are registers, in the file's order.
  at({ block, warp, step }) {
    const trace = this.trace(block, warp);
    if (!Number.isInteger(step) || step < 0 || step >= trace.length) throw new Error(`There is no step ${step}: warp ${warp} of block ${block} has steps 0 to ${trace.length - 1}.`);
    const { e, view, take, runner, status, read } = this.opened;
    this.#restore(this.kept.snapshots.findLast((one) => one.steps <= step));
    this.#run(step);
    const [rows, predicates, , , active, lanes] = Array.from({ length: 6 }, (_, n) => view().getUint32(this.look + 4 * n, true));
    const state = () => [take(rows, 4 * WARP * this.program.counts.cleared), take(predicates, 4 * this.program.counts.predicates)].map((bytes) => new Uint32Array(bytes.buffer));
    const [before, wasTrue] = state(), asked = new BigUint64Array(read().counts.buffer);
    const warps = Array.from(new Int32Array(take(this.stands, STAND_BYTES * this.warps).buffer)), addresses = new BigUint64Array(take(this.look + 32, 8 * WARP).buffer);
    e.machine_step(runner, status);
    const [after, isTrue] = state(), none = new Uint8Array(this.program.counts.code * 16);
    const counts = new BigUint64Array(read().counts.buffer).map((sum, n) => sum - asked[n]);
    const asks = merge([...linesOf(this.program, this.names, { counts, executed: none, barriers: none })]);
    const where = asks.length ? Array.from(addresses, (address, lane) => ((lanes >> lane) & 1 ? this.#place(address, asks) : "")) : [];
    return { block, warp, step, at: trace[step], active, lanes, before, after, wasTrue, isTrue, asks, where, addresses: Array.from(addresses, Number), warps };
  }

  #place(address, asks) {
    const { space } = asks[0];
    if (space === "global") return elementAt(address, this.names)[1];
    return `byte ${space === "shared" ? address - BigInt(this.program.shared_base) : address} of ${space} memory`;
  }

  about() {
    const { places, statements, texts, registers, kernel } = this.program;
    return { texts, registers, kernel, lines: statements.map(([at]) => places[at]), blocks: this.blocks, warps: this.warps };
  }
}

// In a worker, which answers in order what `trace` and `at` of Steps do; `opened` is what `about` says.
export function openSteps(name, words) {
  const worker = new Worker(import.meta.url, { type: "module" }), waiting = [];
  worker.onmessage = ({ data: { found, error } }) => {
    const [resolve, reject] = waiting.shift();
    error ? reject(new Error(error)) : resolve(found);
  };
  worker.onerror = (event) => waiting.splice(0).forEach(([, reject]) => reject(new Error(event.message)));
  const ask = (...asked) => new Promise((...settle) => (waiting.push(settle), worker.postMessage(asked)));
  return { opened: ask("open", name, words), ask, close: () => worker.terminate() };
}

let steps, shown; // in the worker, and in the page
if (typeof WorkerGlobalScope !== "undefined")
  onmessage = async ({ data: [what, ...given] }) => {
    try {
      if (what === "open") steps = await Steps.open(...given, fetched);
      postMessage({ found: what === "open" ? steps.about() : steps[what](...given) });
    } catch (error) {
      postMessage({ error: error.message });
    }
  };

// ---- what a reader sees

const box = (label) => make("div", { className: "worklog-xray worklog-lines", tabIndex: 0, role: "group", ariaLabel: label });
const bit = (words, n, lane) => Boolean((words[n] >>> lane) & 1);

function tellAsks(seen) {
  const lanes = `by ${seen.lanes.toString(2).replaceAll("0", "").length} of ${WARP} lanes`;
  const told = seen.asks.map((one) => {
    const takes = one.space === "shared" ? `${many(one.wavefronts, "wavefront")}, ${said(one.bank_conflicts)} of them for bank conflicts` : `${many(one.sectors, "sector")} of 32 bytes`;
    return `A ${one.space} ${one.operation}${one.array && ` of ${one.array}`} ${lanes}: ${many(one.bytes_asked, "byte")}, in ${takes}.`;
  });
  return told.join(" ") || `Done ${lanes}; it asks memory for nothing.`;
}

// What lanes ask for, drawn as memory lies: sectors of 8 words, or words of 32 banks, and in each word the lanes that ask for it.
function drawAsks({ asks: [one], lanes, addresses }) {
  if (!one || one.space === "local") return [];
  const isShared = one.space === "shared", width = isShared ? WARP : SECTOR_WORDS, rows = new Map();
  for (let lane = 0; lane < WARP; lane++)
    for (let word = Math.floor(addresses[lane] / 4), end = word + Math.ceil(one.size / 4); bit([lanes], 0, lane) && word < end; word++) {
      const row = Math.floor(word / width), words = rows.get(row) ?? rows.set(row, Array.from({ length: width }, () => [])).get(row);
      words[word % width].push(lane);
    }
  const told = ([first, ...more]) => (more.length > 1 ? `${first}–${more.at(-1)}` : [first, ...more].join(" "));
  const row = (head, cells, tag) => make("tr", {}, make("th", { scope: "row" }, head), ...cells.map((cell) => make(tag, cell.length ? { className: "asked" } : {}, cell.length ? told(cell) : "")));
  const body = [...rows].sort(([a], [b]) => a - b).map(([, words], n) => row(`${isShared ? "row" : "sector"} ${n}`, words, "td"));
  const head = row(isShared ? "bank" : "word", Array.from({ length: width }, (_, n) => [n]), "th");
  return [make("table", { className: "worklog-memory" }, make("caption", {}, isShared ? "Lanes by bank: a column with two rows takes two wavefronts." : "Lanes by sector, 8 words of 4 bytes each."), make("thead", {}, head), make("tbody", {}, ...body))];
}

// Where the other warps of the block are, those in one place together: "0–2, 5 wait at the block's barrier of line 30".
function tellWarps(seen, lines) {
  const groups = new Map();
  for (let warp = 0; 2 * warp < seen.warps.length; warp++) {
    const [at, waits] = seen.warps.slice(2 * warp, 2 * warp + 2), line = lines[Math.min(at, lines.length - 1)][1];
    const what = warp === seen.warp ? "is here" : waits === -2 ? "ended" : waits === -1 ? `at line ${line}` : `waits ${WAITS[waits]} of line ${line}`;
    const spans = groups.get(what) ?? groups.set(what, []).get(what);
    if (spans.at(-1)?.[1] === warp - 1) spans.at(-1)[1] = warp;
    else spans.push([warp, warp]);
  }
  return `Warps of the block, which take turns here: ${[...groups].map(([what, spans]) => `${spans.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(", ")} ${what}`).join("; ")}.`;
}

// Registers that an instruction names, of wide ones all, and among these what it has written: what has changed, and its result.
function namesIn({ before, after, wasTrue, isTrue }, text, first) {
  const [opcode, operands] = /^(?:@\S+ )?(\S+)(.*)/.exec(text).slice(1), isStore = /^(ST|RED|BAR|BRA)/.test(opcode);
  const wide = (end) => (end ? 2 : isStore && opcode.includes(".128") ? 4 : isStore && opcode.includes(".64") ? 2 : 1);
  const all = [...text.matchAll(/\b(UR|UP|R|P)(\d+)(\.64)?/g)].flatMap(([, kind, n, end]) => Array.from({ length: kind === "R" ? wide(end) : 1 }, (_, k) => kind + (Number(n) + k)));
  const result = isStore ? [] : operands.match(/^ ((?:UR|UP|R|P)\d+)/)?.slice(1) ?? [];
  const changed = (one, other) => [...new Set(Array.from(one, (word, n) => (word === other[n] ? -1 : n)).filter((n) => n >= 0))];
  const registers = changed(before, after).map((n) => Math.floor(n / WARP)).map((n) => (n < first ? `R${n}` : `UR${n - first}`));
  const predicates = changed(wasTrue, isTrue).map((n) => (n < 8 ? `P${n}` : `UP${n - 8}`));
  return { named: [...new Set(all)], written: [...new Set([...result, ...registers, ...predicates])] };
}

// Of one lane: what the instruction writes, with what is there behind it, what it reads, and what else is held.
function* registersOf(seen, text, first, lane) {
  const { named, written } = namesIn(seen, text, first), read = named.filter((name) => !written.includes(name));
  const row = (name, what, ...words) => make("tr", {}, make("th", { scope: "row" }, name), ...[what, ...words].map((one) => make("td", {}, one)));
  const value = (name, file, predicates) => {
    const [, kind, n] = /(\D+)(\d+)/.exec(name), word = file[WARP * (Number(n) + (kind === "UR" && first)) + lane];
    if (kind.endsWith("P")) return [String(bit(predicates, Number(n) + 8 * (kind === "UP"), lane)), "", ""];
    return [`0x${word.toString(16).padStart(8, "0")}`, said(word | 0), String(new Float32Array(Uint32Array.of(word).buffer)[0])];
  };
  if (bit([seen.lanes], 0, lane)) for (const name of written) yield row(name, "writes", ...value(name, seen.after, seen.isTrue));
  for (const name of read) yield row(name, "reads", ...value(name, seen.before, seen.wasTrue));
  const others = Array.from({ length: first - 3 }, (_, n) => `R${n}`).filter((name) => ![...read, ...written].includes(name));
  for (const name of others) yield row(name, "holds", ...value(name, seen.before));
}

// Fills `place` with the launch of a kernel that `words` say, as `xray` takes them, open at a block, warp and step of `start`;
// `source` has the kernel's files by name. `moved` hears of each step that the reader goes to. Resolves to a function that goes to one.
export async function showSteps(place, name, words, source, start = {}, moved = () => {}) {
  shown?.close();
  const status = make("p", { role: "status" }, `${name} is being read …`);
  place.replaceChildren(status);
  const { opened, ask } = (shown = openSteps(name, words));
  const about = await opened.catch((error) => void (status.textContent = error.message));
  if (!about) return undefined;
  const { texts, lines } = about;
  let at = { block: 0, warp: 0, step: 0 }, trace = [], seen, wanted, isBusy = false, file = "", lane = 0;

  const field = (max) => make("input", { type: "number", min: 0, max, step: 1, value: 0 });
  const block = field(about.blocks - 1), warp = field(about.warps - 1);
  const scrubber = make("input", { type: "range", min: 0, value: 0, ariaLabel: "step" }), counted = make("span");
  const code = box(`machine code of ${about.kernel}`), text = box(`source of ${name}`), heading = make("strong");
  const help = make("p", {}, "← and → go a step, with Shift to another line; a click on a line or an instruction goes there.");
  code.append(...texts.map((one, n) => make("div", {}, `${String(n).padStart(4)}  ${one}`)));
  const lanes = make("fieldset", { className: "worklog-lanes" }, make("legend", {}, "Lanes: filled ones do it, dotted ones are elsewhere. Choose one to see its registers."));
  const radios = Array.from({ length: WARP }, (_, n) => make("input", { type: "radio", name: "worklog-lane", value: n, checked: n === 0, ariaLabel: `lane ${n}` }));
  lanes.append(...radios.map((radio, n) => make("label", {}, radio, String(n))));
  const address = make("p"), memory = box("what the lanes ask for"), warps = make("p"), rows = make("tbody");
  const head = ["register", "it", "hex", "integer", "float32"].map((one) => make("th", { scope: "col" }, one));
  const table = make("div", { className: "worklog-scroll worklog-lines", tabIndex: 0, role: "group", ariaLabel: "registers of the lane" }, make("table", {}, make("thead", {}, make("tr", {}, ...head)), rows));

  // Source line and instruction, at once; both are in the middle of their boxes.
  function mark(number) {
    const [now, line] = lines[number];
    heading.textContent = now;
    if (now !== file) text.replaceChildren(...(source[(file = now)] ?? "").split("\n").map((one, n) => make("div", {}, `${String(n + 1).padStart(4)}  ${one}`)));
    lines.forEach(([other, of], n) => code.children[n].classList.toggle("of-line", other === file && of === line));
    for (const [all, n] of [[code, number], [text, line - 1]]) {
      all.querySelector("[aria-current]")?.removeAttribute("aria-current");
      const one = all.children[n];
      one?.setAttribute("aria-current", "step");
      if (one) all.scrollTop = one.offsetTop - all.clientHeight / 2;
    }
  }

  function showLane() {
    rows.replaceChildren(...registersOf(seen, texts[seen.at], about.registers, lane));
    address.textContent = seen.where[lane] ? `Lane ${lane} asks for ${seen.where[lane]}.` : "";
  }

  function show() {
    [block.value, warp.value, scrubber.max, scrubber.value] = [at.block, at.warp, trace.length - 1, at.step];
    counted.textContent = `step ${said(at.step)} of ${said(trace.length - 1)}`;
    mark(seen.at);
    status.textContent = `${texts[seen.at]} of ${lines[seen.at].join(":")}. ${tellAsks(seen)}`;
    radios.forEach((radio, n) => (radio.parentElement.className = bit([seen.lanes], 0, n) ? "does" : bit([seen.active], 0, n) ? "here" : ""));
    memory.replaceChildren(...drawAsks(seen));
    memory.hidden = !memory.childElementCount;
    warps.textContent = tellWarps(seen, lines);
    showLane();
  }

  // Of several wishes while the worker is busy the last one counts. Where another warp has fewer steps, `clips` takes its last.
  async function go(where, clips = false) {
    wanted = [{ ...at, ...where }, clips];
    if (isBusy) return;
    for (isBusy = true; wanted; ) {
      const [one, isClipped] = wanted;
      wanted = undefined;
      try {
        const known = one.block === at.block && one.warp === at.warp && trace.length ? trace : await ask("trace", one.block, one.warp);
        if (isClipped) one.step = Math.max(0, Math.min(one.step, known.length - 1));
        if (known === trace) mark(trace[one.step] ?? trace.at(-1));
        seen = await ask("at", one);
        [at, trace] = [one, known];
        show();
        moved(at);
      } catch (error) {
        status.textContent = error.message;
      }
    }
    isBusy = false;
  }

  const move = (way) => go({ step: (wanted?.[0] ?? at).step + way }, true);
  function leap(way) {
    let { step } = at;
    while (trace[step] !== undefined && lines[trace[step]].join() === lines[seen.at].join()) step += way;
    go({ step }, true);
  }
  function seek(is) {
    const next = trace.findIndex((n, step) => step > at.step && is(n)), step = next < 0 ? trace.findIndex(is) : next;
    if (step >= 0) go({ step });
  }

  const KEYS = {
    "Shift+ArrowLeft": ["◀◀", "back to another line", () => leap(-1)],
    ArrowLeft: ["◀", "a step back", () => move(-1)],
    ArrowRight: ["▶", "a step on", () => move(1)],
    "Shift+ArrowRight": ["▶▶", "on to another line", () => leap(1)],
  };
  const buttons = Object.entries(KEYS).map(([key, [sign, what, onclick]]) => make("button", { type: "button", ariaLabel: what, title: `${what} (${key})`, onclick }, sign));
  for (const one of [block, warp]) one.onchange = () => go({ block: block.valueAsNumber, warp: warp.valueAsNumber }, true);
  scrubber.oninput = () => go({ step: scrubber.valueAsNumber });
  lanes.onchange = (event) => ((lane = Number(event.target.value)), showLane());
  code.onclick = ({ target }) => seek((n) => code.children[n] === target);
  text.onclick = ({ target }) => seek((n) => lines[n][0] === file && text.children[lines[n][1] - 1] === target);
  const controls = make("div", { className: "worklog-row" }, make("label", {}, "Block ", block), make("label", {}, "Warp ", warp), ...buttons, scrubber, counted);
  const panel = make("div", { className: "worklog-steps", tabIndex: 0, role: "group", ariaLabel: `${name} step by step: arrow keys for a step, with Shift for a line` });
  panel.append(controls, help, status, heading, make("div", { className: "worklog-two" }, text, code), lanes, address, memory, table, warps);
  panel.onkeydown = (event) => {
    const key = KEYS["Shift+".repeat(event.shiftKey) + event.key];
    if (!key || event.target.closest("input, .worklog-lines")) return;
    event.preventDefault();
    key[2]();
  };
  place.replaceChildren(panel);
  panel.focus({ preventScroll: true });
  await go({ ...start });
  if (seen) return go;
  const why = status.textContent;
  await go({});
  status.prepend(`${why} `);
  return go;
}
