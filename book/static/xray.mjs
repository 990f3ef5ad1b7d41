// Kernels of the book launched in the page, and what they ask of memory line by line, as `softmax-lib xray --json` tells it.
import { APART, FIRST, HAZARD_BYTES, Machine, readProgram } from "./machine.mjs";

const UNITS = ["requests", "lanes", "bytes_asked", "sectors", "wavefronts", "bank_conflicts"];
const SPACES = ["global", "shared", "local", "cluster"];
const MOST = 1 << 22; // elements of a matrix
export const PATIENCE_MS = 30000; // without a thread that ends
export const WARP = 32, SECTOR_BYTES = 32;

export const DATA = {
  normal: (z) => z,
  spread: (z) => 40 * z,
  "half masked": (z, row, col) => (col % 2 ? z : -Infinity),
  NaN: (z, row, col) => (row + col ? z : NaN),
  equal: () => 1,
  outlier: (z, row, col) => (col === 7 * row ? 1e4 : z),
};

// Normal numbers, the same ones for a shape.
function fill(rows, cols, data) {
  const x = new Float32Array(rows * cols);
  let state = 1;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 4294967296;
  };
  x.forEach((_, i) => {
    const z = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
    x[i] = DATA[data](z, Math.floor(i / cols), i % cols);
  });
  return x;
}

// The largest difference from a softmax in float64; NaN where one has a number and the other none.
function worstError(x, y, cols) {
  let worst = 0;
  for (let start = 0; start < x.length; start += cols) {
    const row = x.subarray(start, start + cols), max = row.reduce((a, b) => Math.max(a, b), -Infinity);
    const sum = row.reduce((total, one) => total + Math.exp(one - max), 0);
    row.forEach((one, col) => {
      const wanted = Math.exp(one - max) / sum, found = y[start + col];
      if (!Number.isNaN(wanted) || !Number.isNaN(found)) worst = Math.max(worst, Math.abs(found - wanted));
    });
  }
  return worst;
}

function whole(name, value) {
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} is ${value}; it has to be a whole number of 1 or more.`);
}

// Of a kernel's programs those for rows of this length, one a block size.
export const fitting = (programs, cols) => programs.filter(([, least, most]) => least < cols && cols <= most);

// The block size and the file of a kernel for rows of this length.
function settle(name, kernel, cols, blockSize, programs) {
  if (cols % kernel.vector) throw new Error(`${name} takes rows of a multiple of ${kernel.vector}, not of ${cols}.`);
  const legal = kernel.sizes.filter(([, most]) => cols <= most).map(([size]) => size);
  if (!legal.length) throw new Error(`${name} takes rows of at most ${Math.max(...kernel.sizes.map((one) => one[1]))} elements, not of ${cols}.`);
  const share = kernel.thread_share;
  const size = blockSize ?? (share ? legal.find((one) => one * share >= cols) ?? legal.at(-1) : kernel.default);
  const fits = fitting(programs, cols), found = fits.find(([one]) => one === size);
  if (found) return [size, `${name}-${size}${found[3] ? `-${found[3]}` : ""}`];
  const known = fits.map(([one]) => one);
  throw new Error(`${name} is here for rows of ${cols} with ${known.join(", ") || "no"} threads per block, not with ${size}.`);
}

function blocksOf(step, rows, cols, size) {
  const threads = {
    "thread a row": rows,
    "lanes a row": Math.ceil(rows / step.turns) * step.lanes,
    "block a row": rows * size * step.cluster,
    "thread an element": Math.ceil((rows * cols) / step.elements_a_thread),
  };
  return Math.ceil(threads[step.grid] / size);
}

const numbers = (bytes) => Array.from(new BigUint64Array(bytes.buffer), Number);

// Counters of one launch by line; `names` are those of its arrays.
export function* linesOf(program, names, found) {
  const counts = numbers(found.counts), executed = numbers(found.executed), barriers = numbers(found.barriers);
  const columns = names.length + 1 + SPACES.length - 1;
  for (const [site, [place, operation, size, shared, variable]] of program.sites.entries())
    for (let column = 0; column < columns; column++) {
      const at = UNITS.length * (site * columns + column), space = SPACES[Math.max(0, column - names.length)];
      const array = names[column] ?? { global: variable || "variables", shared }[space] ?? "";
      const units = counts.slice(at, at + UNITS.length);
      if (units[0]) yield [...program.places[place], space, operation, size, array, units];
    }
  for (const [number, place, operation] of program.meetings) {
    const isBarrier = operation.startsWith("barrier"), [warps, lanes] = executed.slice(2 * number, 2 * number + 2);
    const units = isBarrier ? [barriers[number], 0] : [warps, lanes];
    if (warps) yield [...program.places[place], "", operation, 0, "", [...units, 0, 0, 0, 0]];
  }
}

const byPlace = (one, other) => (one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line);

// Each line, space, operation, size and array once.
export function merge(lines) {
  const merged = new Map();
  for (const [file, line, space, operation, size, array, units] of lines) {
    const key = [file, line, space, operation, size, array].join("\0");
    const one = merged.get(key) ?? { file, line, space, operation, size, ...Object.fromEntries(UNITS.map((unit) => [unit, 0])), array };
    UNITS.forEach((unit, n) => (one[unit] += units[n]));
    merged.set(key, one);
  }
  return [...merged.values()].sort(byPlace).map((one) => ({
    ...one,
    bytes_moved: one.sectors * SECTOR_BYTES,
    sectors_a_request: one.sectors / one.requests,
    lanes_a_request: one.lanes / one.requests,
  }));
}

function addUp(lines) {
  const sum = (unit, of) => lines.filter(of).reduce((total, one) => total + one[unit], 0), total = {};
  for (const [space, unit] of [["global", "sectors"], ["shared", "wavefronts"]])
    for (const operation of ["load", "store"])
      for (const one of ["requests", unit])
        total[`${space}_${operation}_${one}`] = sum(one, (line) => line.space === space && line.operation === operation);
  for (const call of ["shuffle", "barrier"]) total[`${call}s`] = sum("requests", (line) => line.operation.startsWith(call));
  total.bank_conflicts = sum("bank_conflicts", () => true);
  total.bytes_asked = sum("bytes_asked", (line) => line.space === "global");
  total.bytes_moved = sum("bytes_moved", () => true);
  return total;
}

// What each line executes, by kind.
function instructionsOf(steps, kinds) {
  const sums = new Map();
  for (const [program, , found] of steps) {
    const executed = numbers(found.executed);
    program.statements.forEach(([place, kind], n) => {
      if (!executed[2 * n]) return;
      const [file, line] = program.places[place], key = `${file}\0${line}\0${kind}`;
      const one = sums.get(key) ?? { file, line, kind: kinds[kind], warps: 0, lanes: 0 };
      sums.set(key, { ...one, warps: one.warps + executed[2 * n], lanes: one.lanes + executed[2 * n + 1] });
    });
  }
  return [...sums.values()].sort((a, b) => byPlace(a, b) || (a.kind < b.kind ? -1 : 1));
}

// ---- hazards, as softmax_lib/engine/xrays/hazards.py tells them

const HAZARDS = { 0: "race", 1: "uninitialised", 3: "input written", 10: "same value" }; // HazardKind of cpp/hazards.h
const does = (isStore) => (isStore ? "writes" : "reads");
const SENTENCES = {
  race: (row) =>
    `race on ${row.word}: ${row.who} ${does(row.isStore)} it at ${row.at}, thread ${row.otherThread}` +
    `${row.isElsewhere ? " of another block" : ""} ${does(row.otherIsStore)} it at ${row.otherAt}, and nothing orders the two`,
  uninitialised: (row) => `${row.who} reads ${row.word} at ${row.at}, which ${row.isShared ? "no thread of its block wrote" : "nobody has written yet"}`,
  "input written": (row) => `${row.who} writes into the input, ${row.word}, at ${row.at}`,
};

// The array of a launch in which an address lies, and the element there.
export function elementAt(address, names) {
  const at = address - FIRST, array = names[Number(at / APART)] ?? "variables";
  return [array, `${array}[${(at % APART) / 4n}]`];
}

// What was found in one launch: struct Hazard of cpp/hazards.h.
const INSTRUCTION_BYTES = 68;
function* rowsOf(program, names, { hazards }) {
  const view = new DataView(hazards.buffer), at = (n) => program.places[program.statements[n][0]].join(":");
  const code = program.table(program.code), codes = new DataView(code.buffer, code.byteOffset);
  const sharedAt = (n) => program.sites[codes.getInt32(INSTRUCTION_BYTES * (n + 1) - 4, true)]?.[3]; // its last field is its site
  for (let row = 0; row < hazards.length; row += HAZARD_BYTES) {
    const [address, times, block] = [0, 8, 16].map((n) => view.getBigUint64(row + n, true));
    const [kind, place, other, thread, otherThread, isShared, isStore, otherIsStore, isElsewhere] = Array.from({ length: 9 }, (_, n) => view.getInt32(row + 24 + 4 * n, true));
    const shared = sharedAt(place), [array, word] = isShared ? [shared, `${shared && `${shared}, `}byte ${address} of shared memory`] : elementAt(address, names);
    yield {
      kind: HAZARDS[kind], array, word, times: Number(times), block: Number(block), thread, otherThread, isShared, isStore, otherIsStore, isElsewhere,
      who: `thread ${thread} of block (${block},0,0)`, at: at(place), otherAt: at(other),
    };
  }
}

const linesOfRow = (row) => (["race", "same value"].includes(row.kind) ? [row.at, row.otherAt] : [row.at]);

// Rows that one missing barrier explains, and one sentence for all of them.
function hazardsOf(steps) {
  const rows = steps.flatMap((step) => [...rowsOf(...step)]), isRace = (row) => row.kind === "race";
  let causes = [];
  for (const row of [...rows.filter(isRace), ...rows.filter((one) => !isRace(one))]) {
    const keys = linesOfRow(row).map((line) => (row.kind === "input written" ? `${row.kind} ${line}` : `${row.array} ${line}`));
    if (row.kind === "uninitialised") keys.push(`all reads ${row.array}`);
    const joined = causes.filter((cause) => keys.some((key) => cause.keys.includes(key)));
    causes = causes.filter((cause) => !joined.includes(cause));
    causes.push({ keys: [...keys, ...joined.flatMap((cause) => cause.keys)], rows: [...joined.flatMap((cause) => cause.rows), row] });
  }
  const told = causes.filter((cause) => cause.rows[0].kind !== "same value").map(({ rows }) => {
    const [first] = rows, said = linesOfRow(first), times = rows.reduce((sum, row) => sum + row.times, 0);
    const others = [...new Set(rows.flatMap(linesOfRow))].filter((line) => !said.includes(line)).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const more = [...(times > 1 ? [`${times} times`] : []), ...(others.length ? [`also at ${others.join(" and ")}`] : [])].join(", ");
    const [[file, line], [, otherLine]] = [first.at, first.otherAt].map((at) => at.split(":"));
    return {
      kind: first.kind, file, line: Number(line), other_line: isRace(first) ? Number(otherLine) : null, array: first.array,
      threads: isRace(first) ? [first.thread, first.otherThread] : [first.thread], block: first.block,
      text: `${SENTENCES[first.kind](first)}${more && ` (${more})`}.`,
    };
  });
  return told.sort(byPlace);
}

export function explain(name, program, found) {
  const [file, line] = program.places[program.statements[Math.min(found.at, program.statements.length - 1)][0]];
  const why = { running: `no thread has ended for ${PATIENCE_MS / 1000} s` }[found.ending] ?? found.ending;
  return new Error(`${name} stopped at ${file}:${line}: ${why}.`);
}

let compiled; // the machine, when it was first asked for

// A kernel's `launches`, which `run` does one after the other, and what they are made of: `given` is what Machine's
// functions take for one. `open` gives the bytes of a file beside this one. `words` may have an `x`, rows times cols floats,
// in place of `data`, and `hazards: true` looks for those too, which takes ten times as long.
export async function prepare(name, words, open) {
  const { rows = 64, cols = 4096, blockSize, arch = 90, data = "normal", hazards = false } = words;
  const { kernels, kinds } = JSON.parse(new TextDecoder().decode(await open("programs/index.json")));
  if (!Object.hasOwn(kernels, name)) throw new Error(`${name} is no kernel here; there are ${Object.keys(kernels).join(", ")}.`);
  if (!Object.hasOwn(DATA, data)) throw new Error(`data is ${data}; there are ${Object.keys(DATA).join(", ")}.`);
  whole("rows", rows);
  whole("cols", cols);
  if (rows * cols > MOST) throw new Error(`${rows} x ${cols} are more than the ${MOST.toLocaleString("en")} elements that run here.`);
  const kernel = kernels[name], programs = kernel.programs[arch];
  if (!programs) throw new Error(`arch is ${arch}; there are ${Object.keys(kernel.programs).join(", ")}.`);
  const [size, file] = settle(name, kernel, cols, blockSize, programs);
  compiled ??= Machine.compile(await open("machine.wasm"));
  const machine = await compiled;
  const x = words.x ?? fill(rows, cols, data), nans = (length) => new Float32Array(length).fill(NaN);
  const arrays = { x, y: nans(rows * cols), ...Object.fromEntries(kernel.scratch.map((one) => [one, nans(rows)])) };
  const launches = [];
  for (const step of kernel.steps) {
    const packed = new Blob([await open(`programs/sm_${arch}/${file}.${step.entry}`)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const program = readProgram(new Uint8Array(await new Response(packed).arrayBuffer()));
    program.cluster = step.cluster;
    const names = step.arguments.filter((one) => Object.hasOwn(arrays, one));
    const values = () => step.arguments.map((one) => (names.includes(one) ? new Uint8Array(arrays[one].buffer, arrays[one].byteOffset, arrays[one].byteLength) : { rows, cols }[one]));
    const blocks = blocksOf(step, rows, cols, size);
    launches.push({ program, names, blocks, given: () => [program, [blocks, 1, 1], [size, 1, 1], values()] });
  }
  const run = async ({ program, names, blocks, given }, progress = () => {}) => {
    let before = -1, since = 0;
    const begun = performance.now();
    const found = await machine.launch(...given(), (ended) => {
      if (ended !== before) [before, since] = [ended, Date.now()];
      progress(ended, blocks * size);
      return Date.now() - since > PATIENCE_MS;
    }, hazards && names.map((one) => [one === "x", one !== "x" && program === launches[0].program]));
    found.ms = performance.now() - begun;
    if (found.ending !== "done") throw explain(name, program, found);
    names.forEach((one, n) => (arrays[one] = new Float32Array(found.arrays[n].buffer)));
    return [program, names, found, blocks];
  };
  return { rows, cols, size, arch, kinds, machine, x, arrays, launches, run };
}

export async function count(name, words, open, progress) {
  const { rows, cols, size, arch, kinds, x, arrays, launches, run } = await prepare(name, words, open);
  const steps = [];
  for (const launch of launches) steps.push(await run(launch, progress));
  const lines = merge(steps.flatMap((step) => [...linesOf(...step)])), [last, , , grid] = steps.at(-1);
  const blocks = steps.reduce((total, step) => total + step[3], 0);
  const executed = steps.flatMap((step) => numbers(step[2].executed).filter((_, n) => n % 2 === 0));
  return {
    kernel: name, rows, cols, grid: [grid, 1, 1], block: [size, 1, 1], block_size: size, blocks,
    warps: blocks * Math.ceil(size / WARP), threads: blocks * size,
    total: { ...addUp(lines), instructions: executed.reduce((a, b) => a + b, 0) },
    path: "machine", arch, made_by: last.made_by, lines, instructions: instructionsOf(steps, kinds),
    worst_error: worstError(x, arrays.y, cols), y: arrays.y, ms: steps.reduce((sum, step) => sum + step[2].ms, 0),
    ...(words.hazards && { hazards: hazardsOf(steps) }),
  };
}

const kept = new Map();

// A file beside this one, which is kept.
export async function fetched(name) {
  if (!kept.has(name)) {
    const answer = await fetch(new URL(name, import.meta.url));
    if (!answer.ok) throw new Error(`${name} is not there.`);
    kept.set(name, new Uint8Array(await answer.arrayBuffer()));
  }
  return kept.get(name);
}

const idle = []; // workers that have done what they were asked

// In a worker, which a `signal` stops; `progress` hears how many threads of how many have ended.
export function xray(name, { signal, progress = () => {}, ...words } = {}) {
  return new Promise((resolve, reject) => {
    if (typeof WebAssembly === "undefined") throw new Error("This browser has no WebAssembly, which runs the kernels.");
    const worker = idle.pop() ?? new Worker(import.meta.url, { type: "module" });
    const stop = () => end(reject, new Error(`${name} was stopped.`), false);
    function end(settle, what, isWhole = true) {
      signal?.removeEventListener("abort", stop);
      if (isWhole) idle.push(worker);
      else worker.terminate();
      settle(what);
    }
    signal?.addEventListener("abort", stop);
    worker.onerror = (event) => end(reject, new Error(event.message), false);
    worker.onmessage = ({ data: { ended, of, found, error } }) => {
      if (ended !== undefined) progress(ended, of);
      else if (error) end(reject, new Error(error));
      else end(resolve, found);
    };
    worker.postMessage([name, words]);
  });
}

if (typeof WorkerGlobalScope !== "undefined")
  onmessage = ({ data: [name, words] }) =>
    count(name, words, fetched, (ended, of) => postMessage({ ended, of })).then(
      (found) => postMessage({ found }),
      (error) => postMessage({ error: error.message }),
    );
