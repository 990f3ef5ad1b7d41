"""The broken kernels of the page on errors as programs: `python tests/broken.py NAME` makes build/NAME, with nvcc.

`python tests/broken.py NAME torch` launches it from Python, on a GPU, and keeps the error in build/NAME.torch; `first` runs
the Python of the page.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softmax_lib.engine.source import Source
from softmax_lib.show.live.cells import read_line
from softmax_lib.worklog.launch_words import is_any_kernel, read_launch

ROOT = Path(__file__).parent.parent
PAGE, BUILD = ROOT / "book/errors.ipynb", ROOT / "build"

LINES = {
    "barrier": "--grid 1 --block 64 --arg x:f32:64 --arg y:f32:64 --arg 50",
    "dynamic": "--grid 1 --block 256 --arg x:f32:256 --arg y:f32:256",
    "trap": "--grid 1 --block 64 --arg x:f32:64",
    "unwritten": "--rows 64 --cols 1000",
}
"""How kernels in the text of the page are launched; those in its cells say so themselves."""

VARIANTS = {
    "configuration": ("race", "--block 2048"),
    "argument": ("race", "--shared-bytes 65536"),
    "image": ("race", ""),
}
"""Another name's kernel, with more words for its launch."""

TYPES = {np.dtype("float32"): "float*", np.dtype("int32"): "int*"}
PROGRAM = """\
{text}
#include <cstdio>
#include <cstdlib>

void* load(const char* file, size_t bytes) {{
    void *host = malloc(bytes), *device;
    cudaMalloc(&device, bytes);
    if (FILE* content = fopen(file, "rb"))
        cudaMemcpy(device, host, fread(host, 1, bytes, content), cudaMemcpyHostToDevice);
    return device;
}}

cudaError_t told(const char* when, cudaError_t error) {{
    printf("%s: %s, %d: %s\\n", when, cudaGetErrorName(error), error, cudaGetErrorString(error));
    return error;
}}

int main() {{
{given}
    {kernel}<<<dim3({grid}), dim3({block}), {shared_bytes}>>>({args});
    if (!told("launch", cudaGetLastError())) told("synchronize", cudaDeviceSynchronize());
}}
"""


def cells() -> list[str]:
    """The page's cells, read without Jupyter, which a GPU machine may lack."""
    return ["".join(cell["source"]) for cell in json.loads(PAGE.read_text("utf-8"))["cells"]]


def python_of_the_page() -> str:
    """The Python in its text."""
    return re.search(r"^```python\n(.*?)^```", "\n".join(cells()), re.MULTILINE | re.DOTALL)[1]


def kernels_of_the_page() -> dict[str, tuple[str, str]]:
    """How each is launched, in words, and its text, by the name of its file."""
    found = {}
    for cell in cells():
        if cell.startswith("%%cuda"):
            line, _, text = cell.removeprefix("%%cuda").partition("\n")
            found[read_line(line).name] = line, text
        for text in re.findall(r"^```cuda\n(// .*?)^```", cell, re.MULTILINE | re.DOTALL):
            name = re.match(r"// (\w+)\.cu", text)[1]
            found[name] = LINES[name], text
    return found


def launch_of(name: str) -> tuple[dict, str]:
    """The words of `emulator.launch`, with arrays of NaN for those that nobody has written, and the kernel's text."""
    of, more = VARIANTS.get(name, (name, ""))
    line, text = kernels_of_the_page()[of]
    given = read_line(f"{line} {more}")
    if is_any_kernel(given):
        return read_launch(given, Source(f"{name}.cu", text))[0], text
    x = np.random.default_rng(0).standard_normal((given.rows, given.cols), np.float32)
    args = [x, np.full_like(x, np.nan), *x.shape]
    return {"grid": (given.rows, 1, 1), "block": (256, 1, 1), "shared_bytes": 0, "args": args}, text


def build(name: str) -> None:
    """Write the program, and its arrays beside it, and compile it."""
    words, text = launch_of(name)
    BUILD.mkdir(exist_ok=True)
    given = [f"    auto a{i} = {of};" for i, of in enumerate(_given(words["args"], name))]
    program = PROGRAM.format(
        text=text.strip(),
        given="\n".join(given),
        kernel=entry_of(text),
        grid=", ".join(map(str, words["grid"])),
        block=", ".join(map(str, words["block"])),
        shared_bytes=words["shared_bytes"],
        args=", ".join(f"a{i}" for i in range(len(given))),
    )
    (BUILD / f"{name}.cu").write_text(program, encoding="utf-8")
    arch = "sm_100" if name == "image" else "native"
    command = ("nvcc", "-lineinfo", f"-arch={arch}", "-o", f"build/{name}", f"build/{name}.cu")
    subprocess.run(command, cwd=ROOT, check=True)


def _given(args: list, name: str) -> Iterator[str]:
    """What each argument is in C++; arrays come from files."""
    for i, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            file = f"build/{name}.{i}"
            if not np.isnan(arg).any():
                arg.tofile(ROOT / file)
            yield f'({TYPES[arg.dtype]})load("{file}", {arg.nbytes})'
        else:
            yield str(arg)


def entry_of(text: str) -> str:
    """The kernel's name."""
    return re.search(r"__global__ void (\w+)", text)[1]


def launch(name: str) -> None:
    """Launch by CuPy, wait by torch, and keep the error."""
    import cupy
    import torch

    words, text = launch_of(name)
    entry, text = entry_of(text), re.sub("#include.*", "", text)  # NVRTC has no header for assert
    module = cupy.RawModule(code=text, name_expressions=(entry,), options=("-std=c++17",))
    args = [cupy.asarray(a) if isinstance(a, np.ndarray) else np.int32(a) for a in words["args"]]
    BUILD.mkdir(exist_ok=True)
    torch.cuda.init()
    try:
        function = module.get_function(entry)
        function(words["grid"], words["block"], args, shared_mem=words["shared_bytes"])
        torch.cuda.synchronize()
    except Exception as error:
        said = f"{type(error).__module__}.{type(error).__qualname__}: {error}\n"
        (BUILD / f"{name}.torch").write_text(said, encoding="utf-8")


def main(name: str, how: str = "") -> None:
    if name == "first":
        exec(python_of_the_page(), {})
    elif how:
        launch(name)
    else:
        build(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
