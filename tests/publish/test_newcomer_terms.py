"""Each word at which a newcomer once stumbled is explained where its page first uses it, on a page before, or gone."""

import re
from functools import cache

import nbformat
import pytest
import yaml
from address import ROOT
from notebooks import BOOK

pytestmark = pytest.mark.quick

PAGES = {"intro": "intro", "01": "01_math", "02": "02_pytorch", "03": "03_naive", "04": "04_online", "05": "05_shared",
         "06": "06_shuffle", "07": "07_float4", "08": "08_fusion", "res": "results", "xray": "xray"}  # fmt: skip

EXPLAINED = [
    ("intro", r"CUDA kernels?", "functions for a GPU, written in CUDA"),
    ("intro", r"launch(es|\b)", "means to start it on the many workers of a GPU"),
    ("intro", r"best peer", "the fastest of other people's"),
    ("intro", r"protocol|\brecord\b", "a file that names its GPU, its date and its *protocol*"),
    ("intro", r"compute capability", "the version number of what it can do"),
    ("01", r"worklog", "an article with kernels from which this book grew"),
    ("01", r"33 launches", "Each of its 33 launches has another length of the rows"),
    ("01", r"\(18, 1\)", "18 rows of one score, in groups of 32 threads"),
    ("01", r"mask", "as one *masks* what must get no probability"),
    ("01", r"bound of float32", "allows for the rounding of float32, no more"),
    ("01", r"block[_ ]size", "the number of threads in a group"),
    ("01", r"\bthreads?\b", "to start it on many workers, the *[threads](glossary.md#thread)*"),
    ("02", r"protocol", "This procedure is the book's *[protocol](glossary.md#protocol)*"),
    ("02", r"GB/s", "it prints GB/s, $10^9$ bytes per second"),
    ("02", r"queue", "Python only puts a kernel into a queue"),
    ("02", r"triton|Triton", "a language for GPU kernels inside Python"),
    ("02", r"Liger\b", "two libraries that this book often compares with"),
    ("02", r"QuACK\b", "two libraries that this book often compares with"),
    ("02", r"\bfloat4\b|\bfusion\b", "the kernels of the coming chapters, each with one more idea"),
    ("02", r"FLOP", "One operation on floats is called a [FLOP](glossary.md#flop)"),
    ("02", r"slope", "so the limit is a line that goes up"),
    ("02", r"multiprocessor", "is one of the GPU's processors"),
    ("02", r"\bbus\b", "the wires between the two"),
    ("02", r"[Ss]hare of the roof", "is its GFLOP/s divided by those of the line above it"),
    ("02", r"\bridge\b", "Slope and roof meet at the *ridge*"),
    ("02", r"aten", "`aten` is PyTorch's own name"),
    ("03", r'extern "C"', "gpu: Keep the name as it is written"),
    ("03", r"__global__", "gpu: This is a kernel: it runs on the GPU and is started from outside"),
    ("03", r"const float\*", "gpu: C++ passes a *pointer*"),
    ("03", r"__restrict__", "gpu: promises that nobody writes these floats by another pointer"),
    ("03", r"\(long long\)", "gpu: turns `row`, and so the product, into a number of 64 bits"),
    ("03", r"fmaxf|expf", "`fmaxf` and `expf` are max and exp for floats"),
    ("03", r"0\.0f", "gpu: The `f` says that 2.0 is a float of 32 bits"),
    ("03", r"launch", "gpu: To start a kernel is a [launch](glossary.md#launch)"),
    ("03", r"cache line", "four of them side by side make a [cache line](glossary.md#cache-line)"),
    ("03", r"\bphase\b", "A numbered comment begins a part of the kernel"),
    ("03", r"of use\b", "*of use* is the share that was asked for"),
    ("03", r"barriers", "are places where threads wait for each other"),
    ("03", r"a box is", "a box is a sector"),
    ("03", r"\bncu\b", "`ncu`, NVIDIA's profiler [Nsight Compute](glossary.md#nsight-compute)"),
    ("03", r"ledger", "which sets predicted bytes beside counted ones"),
    ("03", r"cycles per request|cycles that such", "its time divided by the requests of its warps"),
    ("04", r"floats off", "on a matrix that begins 0 floats off the start of its memory"),
    ("05", r"\btid\b", "`tid`, which is short for `threadIdx.x`"),
    ("05", r"\bpartial\b", "declares an array there, one for the whole block"),
    ("05", r"\bBLOCK\b", "a place for each of its `BLOCK` threads"),
    ("05", r"__shared__", "declares an array there, one for the whole block"),
    ("05", r"wavefront", "rounds in which it serves the warp"),
    ("05", r"two counts", "the first for its loads and the second for its stores"),
    ("05", r"col \+= blockDim\.x", "moves it on by the size of the block"),
    ("05", r"multiprocessors", "gpu: A launch hands its blocks out to the multiprocessors"),
    ("06", r"0xffffffff", "`0xffffffff` is 32 ones"),
    ("06", r"__device__", "`__device__` marks a function that runs on the GPU and is called there"),
    ("06", r"constexpr", "`constexpr` makes a constant that the compiler works out"),
    ("06", r"\bWARPS?\b", "`WARP` is 32, and `WARPS`"),
    ("06", r" \? [^:\n]+ : ", "gpu: is Python's `a if a > b else b`"),
    ("06", r"2048 threads", "gpu: a multiprocessor takes 2048 threads and 32 blocks at most"),
    ("06", r"stripes", "The stripes say what a warp does there"),
    ("07", r"\.cuh", "a text that several kernels share"),
    ("07", r"\bedges?\b", "The floats at both ends are the `edges`"),
    ("07", r"\bvectors\b", "`vectors` says how many it has"),
    ("07", r"x_body", "starts at the address `x_body`"),
    ("07", r"\b(max4|sum4|exp4)\b", "do to the four floats of a vector what their names say"),
    ("07", r"float4 v\b", "is four floats side by side"),
    ("07", r"reinterpret", "to take the address of a float for that of a `float4`"),
    ("08", r"PER_THREAD", "is how many floats of the row a thread keeps"),
    ("08", r"VECTORS", "an array such as `float4 v[VECTORS]`"),
    ("08", r"#pragma unroll", "asks the compiler to write all turns one after the other"),
    ("08", r"make_float4", "makes a vector of four floats"),
    ("08", r"share of the roof", "Beside it is its *share of the roof*"),
    ("08", r"__restrict__", "gpu: promises that nobody writes these floats by another pointer"),
    ("res", r"spills?", "values that find no register go out to slow memory"),
    ("res", r"\btiles?\b", "pieces of the matrix that a program holds at once"),
    ("res", r"two \*events", "marks in the GPU's queue"),
    ("xray", r"%%cuda", "a kernel of your own (in a cell that begins with `%%cuda`"),
    ("xray", r"data path", "the wires and the stage through which words leave them"),
    ("xray", r"arbiter", "the part that decides whose turn it is"),
]  # fmt: skip
"""Page, how the word looks there, and the words that explain it: on the same page, or on another one before it."""

GONE = [
    ("01", r"within the bound of float32\."), ("02", r"memory controllers?"), ("02", r"1\.39"),
    ("02", r"every share in this book"), ("04", r"sends several off together"),
    ("04", r'device="cpu"'), ("04", r"L1 counts requests"), ("05", r"launch shape"), ("07", r"usual range of latency"),
    ("08", r"memory pipes"), ("08", r"block_sum"), ("res", r"digests"), ("xray", r"cooperative launches and clusters"),
]  # fmt: skip
"""Words that their page has no more."""

_EVIDENCE = re.compile(r"<!--.*?-->")


def order() -> list[str]:
    """The stems of all pages, as a reader comes to them."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [contents["root"], *(c["file"] for part in contents["parts"] for c in part["chapters"])]
    return [file.removeprefix("book/") for file in files]


@cache
def paragraphs(stem: str) -> tuple[str, ...]:
    """What a page shows, paragraph by paragraph: its text, the code that is not hidden, and what that prints."""
    found = []
    for cell in nbformat.read(BOOK / f"{stem}.ipynb", as_version=4).cells:
        tags = set(cell.metadata.get("tags", ()))
        if tags & {"remove-cell"}:
            continue
        if not tags & {"hide-input", "remove-input"}:
            found += _EVIDENCE.sub("", cell.source).split("\n\n")
        if not tags & {"hide-output"}:
            found += [_printed(output) for output in cell.get("outputs", ())]
    return tuple(found)


def _printed(output: dict) -> str:
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def first(stem: str, pattern: str) -> int | None:
    """The first paragraph of a page in which this is found."""
    there = (i for i, text in enumerate(paragraphs(stem)) if re.search(pattern, text))
    return next(there, None)


@pytest.mark.parametrize(("page", "word", "words"), EXPLAINED, ids=lambda value: str(value)[:40])
def test_a_word_is_explained_where_it_is_first_used_or_before(page, word, words):
    used = first(PAGES[page], word)
    assert used is not None, "it is used no more: it belongs among those that are gone"
    other, colon, snippet = words.partition(": ")
    if colon and other in order():
        assert order().index(other) < order().index(PAGES[page])
        assert first(other, re.escape(snippet)) is not None
    else:
        explained = first(PAGES[page], re.escape(words))
        assert explained is not None
        assert explained <= used, paragraphs(PAGES[page])[used]


@pytest.mark.parametrize(("page", "word"), GONE)
def test_a_word_that_nobody_explained_is_gone(page, word):
    assert first(PAGES[page], word) is None
