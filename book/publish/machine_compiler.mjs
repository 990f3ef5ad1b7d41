// node machine_compiler.mjs FOLDER OUT: clang, of the npm packages in FOLDER, for {arguments, files} as JSON on standard input;
// what it makes, as out.wasm, goes into the file OUT.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, out] = process.argv.slice(2);
const { runClang } = await import(pathToFileURL(`${folder}/node_modules/@yowasp/clang/gen/bundle.js`));
const { arguments: asked, files } = JSON.parse(readFileSync(0, "utf8"));
const said = [];
const stderr = (bytes) => bytes && said.push(new TextDecoder().decode(bytes));
try {
  writeFileSync(out, (await runClang(asked, files, { stderr, fetchProgress: () => {} }))["out.wasm"]);
} catch (error) {
  console.error(said.join("") || error);
  process.exit(1);
}
