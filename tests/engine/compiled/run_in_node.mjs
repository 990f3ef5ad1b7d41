// node run_in_node.mjs STATIC LAUNCH...: launches that test_wasm.py has left, by the module and the script of the pages.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, ...launches] = process.argv.slice(2);
const { Machine, readProgram } = await import(pathToFileURL(`${folder}/machine.mjs`));
const machine = await Machine.compile(readFileSync(`${folder}/machine.wasm`));
for (const at of launches) {
  const { grid, block, values } = JSON.parse(readFileSync(`${at}.json`));
  const given = values.map((one, n) => one ?? new Uint8Array(readFileSync(`${at}.${n}`)));
  const found = await machine.launch(readProgram(new Uint8Array(readFileSync(`${at}.program`))), grid, block, given);
  if (found.ending !== "done") throw new Error(`${at}: ${found.ending} at ${found.at}`);
  found.arrays.forEach((bytes, n) => writeFileSync(`${at}.array${n}`, bytes));
  for (const name of ["counts", "executed", "barriers"]) writeFileSync(`${at}.${name}`, found[name]);
}
