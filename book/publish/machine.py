"""Compile the interpreter of machine code for pages, book/static/machine.wasm, where a source of it has changed.

It is the native library's C++, by clang as npm has it: node and npm are needed. The module says in a section of its own what
it is made of; the same sources, flags and compiler give the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from softmax_lib.engine.caches import cache_folder, replace_file
from softmax_lib.engine.compiled.library import FOLDERS, digest

BOOK = Path(__file__).parents[1]
MODULE = BOOK / "static" / "machine.wasm"
COMPILER = "@yowasp/clang@22.0.0-git20542-10"
FLAGS = (
    "-std=c++17", "-O3", "-msimd128", "-mexec-model=reactor", "-fwasm-exceptions", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-w", "-I.", "-Wl,--strip-all",
    *(f"-Wl,--export=machine_{name}" for name in ("open", "run", "read", "hazards", "follow", "look", "step")),
    *(f"-Wl,--export={name}" for name in ("malloc", "free")),
)  # fmt: skip
SECTION = b"made of"


def made_of() -> bytes:
    """What a module is to say of itself."""
    told = {"sources": digest(), "flags": FLAGS, "compiler": COMPILER}
    return json.dumps(told).encode()


def compile_module() -> bytes:
    """The module, anew. Raises `CalledProcessError` where npm or the compiler fails."""
    packages = cache_folder("npm")
    install = ["npm", "install", "--silent", "--no-save", "--prefix", str(packages), COMPILER]
    subprocess.run(install, check=True)
    sources = (path for folder in FOLDERS for path in sorted(folder.iterdir()))
    files = {path.name: path.read_text(encoding="utf-8") for path in sources}
    units = [name for name in files if name.endswith(".cpp")]
    asked = {"arguments": ["clang++", *FLAGS, *units, "-o", "out.wasm"], "files": files}
    compiler = Path(__file__).with_name("machine_compiler.mjs")
    with tempfile.NamedTemporaryFile(suffix=".wasm") as made:
        command = ["node", str(compiler), str(packages), made.name]
        subprocess.run(command, input=json.dumps(asked), text=True, check=True)
        return made.read() + section(made_of())


def section(content: bytes) -> bytes:
    """A custom section of WebAssembly, which nothing there reads."""
    body = length(len(SECTION)) + SECTION + content
    return b"\0" + length(len(body)) + body


def length(number: int) -> bytes:
    """As WebAssembly writes one: seven bits a byte, the lowest first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + length(rest) if rest else bytes([low])


def main() -> None:
    if MODULE.exists() and MODULE.read_bytes().endswith(section(made_of())):
        print("machine.wasm: unchanged")
        return
    replace_file(MODULE, compile_module())
    print(f"machine.wasm: {MODULE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
