// Kernels of the book launched in the page, and what they ask of memory line by line, as `softmax-lib xray --json` tells it.
import { Machine, readProgram } from "./machine.mjs";

const UNITS = ["requests", "lanes", "bytes_asked", "sectors", "wavefronts", "bank_conflicts"];
const SPACES = ["global", "shared", "local", "cluster"];
const MOST = 1 << 22; // elements of a matrix
export const PATIENCE_MS = 10000; // without a thread that ends
export const WARP = 32, SECTOR_BYTES = 32;

export const DATA = {
  normal: (z) => z,
  spread: (z) => 40 * z,
  "half masked": (z, row, col) => (col % 2 ? -Infinity : z),
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

// The block size and the file of a kernel for rows of this length.
function settle(name, kernel, cols, blockSize) {
  if (cols % kernel.vector) throw new Error(`${name} takes rows of a multiple of ${kernel.vector}, not of ${cols}.`);
  const legal = kernel.sizes.filter(([, most]) => cols <= most).map(([size]) => size);
  if (!legal.length) throw new Error(`${name} takes rows of at most ${Math.max(...kernel.sizes.map((one) => one[1]))} elements, not of ${cols}.`);
  const share = kernel.thread_share;
  const size = blockSize ?? (share ? legal.find((one) => one * share >= cols) ?? legal.at(-1) : kernel.default);
  const found = kernel.programs.find(([one, most]) => one === size && (most < 0 || cols <= most));
  if (found) return [size, found[2]];
  const known = [...new Set(kernel.programs.filter(([, most]) => most < 0 || cols <= most).map(([one]) => one))];
  throw new Error(`${name} is here for rows of ${cols} with ${known.join(", ") || "no"} threads per block, not with ${size}.`);
}

function blocksOf(step, rows, cols, size) {
  const threads = {
    "thread a row": rows,
    "lanes a row": Math.ceil(rows / step.turns) * step.lanes,
    "block a row": rows * size,
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

export function explain(name, program, found) {
  const [file, line] = program.places[program.statements[Math.min(found.at, program.statements.length - 1)][0]];
  const why = { running: `no thread has ended for ${PATIENCE_MS / 1000} s` }[found.ending] ?? found.ending;
  return new Error(`${name} stopped at ${file}:${line}: ${why}.`);
}

// A kernel's `launches`, which `run` does one after the other, and what they are made of: `given` is what Machine's
// functions take for one. `open` gives the bytes of a file beside this one. `words` may have an `x`, rows times cols floats,
// in place of `data`.
export async function prepare(name, words, open) {
  const { rows = 64, cols = 4096, blockSize, arch = 90, data = "normal" } = words;
  if (arch !== 90) throw new Error(`arch is ${arch}; programs are here for 90.`);
  const { kernels, kinds } = JSON.parse(new TextDecoder().decode(await open("programs/sm_90/index.json")));
  if (!Object.hasOwn(kernels, name)) throw new Error(`${name} is no kernel here; there are ${Object.keys(kernels).join(", ")}.`);
  if (!Object.hasOwn(DATA, data)) throw new Error(`data is ${data}; there are ${Object.keys(DATA).join(", ")}.`);
  whole("rows", rows);
  whole("cols", cols);
  if (rows * cols > MOST) throw new Error(`${rows} x ${cols} are more than ${MOST} elements.`);
  const kernel = kernels[name], [size, file] = settle(name, kernel, cols, blockSize);
  const machine = await Machine.compile(await open("machine.wasm"));
  const x = words.x ?? fill(rows, cols, data), nans = (length) => new Float32Array(length).fill(NaN);
  const arrays = { x, y: nans(rows * cols), ...Object.fromEntries(kernel.scratch.map((one) => [one, nans(rows)])) };
  const launches = [];
  for (const step of kernel.steps) {
    const packed = new Blob([await open(`programs/sm_90/${file}.${step.entry}`)]).stream().pipeThrough(new DecompressionStream("gzip"));
    const program = readProgram(new Uint8Array(await new Response(packed).arrayBuffer()));
    const names = step.arguments.filter((one) => Object.hasOwn(arrays, one));
    const values = () => step.arguments.map((one) => (names.includes(one) ? new Uint8Array(arrays[one].buffer, arrays[one].byteOffset, arrays[one].byteLength) : { rows, cols }[one]));
    const blocks = blocksOf(step, rows, cols, size);
    launches.push({ program, names, blocks, given: () => [program, [blocks, 1, 1], [size, 1, 1], values()] });
  }
  const run = async ({ program, names, blocks, given }, progress = () => {}) => {
    let before = -1, since = 0;
    const found = await machine.launch(...given(), (ended) => {
      if (ended !== before) [before, since] = [ended, Date.now()];
      progress(ended, blocks * size);
      return Date.now() - since > PATIENCE_MS;
    });
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
    worst_error: worstError(x, arrays.y, cols), y: arrays.y,
  };
}

export async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name} is not there.`);
  return new Uint8Array(await answer.arrayBuffer());
}

// In a worker, which a `signal` stops; `progress` hears how many threads of how many have ended.
export function xray(name, { signal, progress = () => {}, ...words } = {}) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(import.meta.url, { type: "module" });
    const end = (settle, what) => (worker.terminate(), settle(what));
    signal?.addEventListener("abort", () => end(reject, new Error(`${name} was stopped.`)));
    worker.onerror = (event) => end(reject, new Error(event.message));
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
