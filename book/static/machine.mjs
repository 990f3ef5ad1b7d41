// Kernels' machine code in the page: machine.wasm, which is the native interpreter compiled to WebAssembly, and launches of
// programs as softmax_lib/engine/compiled/carried.py writes them. The layouts are those of cpp/program.h with pointers of 4 bytes.
const BANKS = 8, ARRAY_BYTES = 32, COUNTS_BYTES = 48, EXECUTED_BYTES = 16, MORE_COLUMNS = 3;
export const HAZARD_BYTES = 80;
export const FIRST = 1n << 44n, APART = 1n << 40n; // made-up addresses of arrays, as memory.py has them
const address = (n) => FIRST + BigInt(n) * APART;
const SLICE = 1n << 20n; // instructions between two looks at the time
export const ENDINGS = [
  "running", "done", "out of bounds", "misaligned", "trapped", "stuck", "no code", "constant bounds", "not there",
  "block gone", "read back", "followed",
];

export function readProgram(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const told = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const tables = bytes.subarray(4 + length);
  const table = ([at, size]) => tables.subarray(at, at + size);
  return { ...told, table };
}

// An instance of its own for each launch, so that nothing of a faulty one is left.
export class Machine {
  static async compile(wasm) {
    return new Machine(await WebAssembly.compile(wasm));
  }

  constructor(module) {
    this.module = module;
  }

  // Resolves to what became of the arrays, and what `read` of `open` gives. `isOver` hears from time to time how many
  // threads have ended.
  async launch(program, grid, block, values, isOver = () => false, watched = null) {
    const { e, view, runner, status, arrays, read } = await this.open(program, grid, block, values, watched);
    let ending;
    do {
      e.machine_run(runner, SLICE, status);
      ending = view().getInt32(status + 24, true);
    } while (ending === 0 && !isOver(Number(view().getBigUint64(status + 16, true))));
    return { ending: ENDINGS[ending], at: view().getInt32(status + 28, true), arrays: arrays(), ...read() };
  }

  // `values` are arrays of bytes, which are copied, or numbers: 4 bytes of a whole one. Of the launch before its first
  // instruction: the module's functions, its memory, its `runner`, a place for its `status`, and functions that give its
  // arrays and, as bytes, `counts` of every site and array, how often each instruction was `executed`, and `barriers` met.
  // `hazards` are looked for, and read, where `watched` says of each array whether it is only to be read, and whether
  // nobody has written it yet.
  async open(program, grid, block, values, watched = null) {
    const nothing = () => 0;
    const imports = { wasi_snapshot_preview1: new Proxy({}, { get: () => nothing }) };
    const { exports: e } = await WebAssembly.instantiate(this.module, imports);
    e._initialize();
    const view = () => new DataView(e.memory.buffer);
    const put = (bytes) => {
      const at = e.malloc(Math.max(8, bytes.length));
      new Uint8Array(e.memory.buffer).set(bytes, at);
      return at;
    };
    const take = (at, size) => new Uint8Array(e.memory.buffer, at, size).slice();

    const given = values.filter((one) => typeof one !== "number"), held = [...given, program.table(program.globals)];
    const places = held.map(put);
    const arrays = e.malloc(ARRAY_BYTES * held.length);
    held.forEach((bytes, n) => {
      const at = arrays + ARRAY_BYTES * n, flags = watched?.[n] ?? [0, 0];
      view().setBigUint64(at, address(n), true);
      view().setBigUint64(at + 8, BigInt(bytes.length), true);
      [places[n], ...flags].forEach((word, i) => view().setUint32(at + 16 + 4 * i, word, true));
    });

    const constants = Object.entries(program.constants).map(([bank, where]) => [Number(bank), program.table(where).slice()]);
    const bank = Object.fromEntries(constants);
    const first = new DataView(bank[0].buffer);
    [...block, ...grid].forEach((side, n) => first.setUint32(4 * n, side, true));
    const { cluster = 1 } = program; // blocks of one, which the bank knows of too
    if (cluster > 1) {
      [1, cluster, 1, 1].forEach((word, n) => first.setUint32(0x140 + 4 * n, word, true));
      [1 / cluster, 1, 1].forEach((side, n) => first.setFloat32(0x150 + 4 * n, side * (1 + 2 ** -23), true));
      first.setUint32(0x188, cluster, true);
    }
    let array = 0;
    program.parameters.forEach(([at], n) => {
      if (typeof values[n] === "number") first.setInt32(at, values[n], true);
      else first.setBigUint64(at, address(array++), true);
    });
    for (const [at, place] of program.addresses)
      new DataView(bank[4].buffer).setBigUint64(at, address(given.length) + BigInt(place), true);
    const banks = e.malloc(16 * BANKS);
    for (let n = 0; n < BANKS; n++) {
      const content = bank[n] ?? new Uint8Array(0), at = put(content);
      view().setUint32(banks + 16 * n, at, true);
      view().setBigUint64(banks + 16 * n + 8, BigInt(content.length), true);
    }

    const { code, fixed, sites, rows, cleared, predicates } = program.counts;
    const words = [
      put(program.table(program.code)), put(program.table(program.fixed)), banks, arrays, code, fixed, held.length, sites,
      rows, cleared, predicates, program.shared_base, program.shared_bytes, program.local_bytes, ...grid, ...block, cluster, 1, 1, 0, 0,
      watched ? 1 : 0,
    ];
    const launch = e.malloc(4 * words.length), status = e.malloc(64);
    words.forEach((word, n) => view().setUint32(launch + 4 * n, word, true));
    const runner = e.machine_open(launch);
    const sizes = [sites * (held.length + MORE_COLUMNS) * COUNTS_BYTES, code * EXECUTED_BYTES, code * 8];
    const into = sizes.map((size) => e.malloc(size + 8));
    const read = () => {
      e.machine_read(runner, ...into);
      const [counts, executed, barriers] = into.map((at, n) => take(at, sizes[n]));
      const size = watched ? HAZARD_BYTES * e.machine_hazards(runner, 0) : 0, left = e.malloc(size + 8);
      if (size) e.machine_hazards(runner, left);
      return { counts, executed, barriers, hazards: take(left, size) };
    };
    return { e, view, take, runner, status, read, arrays: () => given.map((bytes, n) => take(places[n], bytes.length)) };
  }
}
