"""Whatever a kernel does, Python goes on: it runs in a process of its own, and what it did there is told."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from emulated import execute, kernel_of, ones, trace

from softmax_lib import emulator, run, xray
from softmax_lib.engine.errors import CompileError, Hang, IllegalAddress, KernelFault
from softmax_lib.engine.source import blank_comments
from softmax_lib.engine.written import device
from softmax_lib.worklog.errors import SoftmaxLibError
from softmax_lib.worklog.registry import kernels

COPY = "    y[threadIdx.x] = x[threadIdx.x];\n"
both = pytest.mark.parametrize("launch", [execute, lambda *words: trace(*words).y])


def message(error, body, launch=execute, before=""):
    with pytest.raises(error) as caught:
        launch(kernel_of(body, "broken.cu", before), ones(1, 64), 64)
    return str(caught.value)


# ---- what is no kernel's to call


OF_THE_HOST = r"a function of the host, which a GPU does not have\.$"


@pytest.mark.parametrize(
    ("before", "body", "words"),
    [
        ("", "    exit(3);\n", rf"^broken\.cu:2 calls exit\(\), {OF_THE_HOST}"),
        ("", "    y[0] = 1;\n    abort();\n", rf"^broken\.cu:3 calls abort\(\), {OF_THE_HOST}"),
        ("", "    y[0] = atoi(getenv(\"HOME\"));\n", r"^broken\.cu:2 calls "),
        ("", "    y[0] = *(float*)realloc(y, 4);\n", rf"^broken\.cu:2 calls realloc\(\), {OF_THE_HOST}"),
        ('extern "C" void _exit(int);\n', "    _exit(x[0]);\n", rf"^broken\.cu:3 calls _exit\(\), {OF_THE_HOST}"),
        ("#include <vector>\n", "    std::vector<float> v(cols);\n    y[0] = v[0];\n",
         r"^broken\.cu:[345] calls the host's C\+\+ library, which a GPU does not have\.$"),
        ("", "    throw 1;\n", r"broken\.cu:2:11: error: exception handling disabled"),
        ("", "    fork();\n", "'fork' was not declared"),
    ],
)  # fmt: skip
def test_functions_of_the_host_and_exceptions_are_refused(before, body, words):
    assert re.search(words, message(CompileError, body, before=before))


OFF = '__attribute__((no_sanitize("thread"), noinline))'
HOST_WORDS = [  # before the kernel, in it, and at which line what is named
    ("", "    __shared__ float s[2] = {1, 2};\n", 2, "a first value of a __shared__ variable"),
    ("", "    void* to = &&there;\n    goto *to;\nthere:;\n", 3, "goto *"),
    ("", f"    auto first = [](float* p) {OFF} {{ return p[0]; }};\n", 2, "the attribute no_sanitize"),
    (f"#define OFF {OFF}\n__device__ void f() OFF;\n", "", 2, "the attribute no_sanitize"),
    ("__attri\\\nbute__((__no_sanitize_thread__)) __device__ void f();\n", "", 1, "the attribute __no_sanitize_thread__"),
    ("[[using gnu: noinline, optimize(\"O0\")]] __device__ void f();\n", "", 1, "the attribute optimize"),
    ('#line 9 "/usr/include/broken.cu"\n[[gnu::naked]] __device__ void f();\n#line 3 "broken.cu"\n', "", 9, "the attribute naked"),
    ("<:<:gnu::weak:>:> __device__ void f();\n", "", 1, "the attribute weak"),
    ("#pragma GCC push_options\n", "", 1, "#pragma GCC push_options"),
    ('_Pragma("clang optimize off")\n', "", 1, "#pragma clang optimize"),
    ('__device__ float f(float) asm("fabsf");\n', "", 1, "a name for the assembler"),
    ("#include <xmmintrin.h>\n", "    y[0] = 1;\n", 1, "<xmmintrin.h>"),
    ("", "    y[0] = __builtin_popcount(cols);\n", 2, "__builtin_popcount"),
    ("", "    thread_local float mine = 0;\n", 2, "thread_local"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "body", "line", "what"), HOST_WORDS)
def test_words_for_the_hosts_compiler_are_refused(before, body, line, what):
    said = message(CompileError, body, before=before)
    assert (
        said
        == f"broken.cu:{line} uses {what}, which is for the host's compiler; a GPU does not have it."
    )


def test_words_that_nvrtc_knows_are_not():
    before = """\
#pragma GCC diagnostic ignored "-Wunused"
struct __attribute__((packed, aligned(4))) Two { [[maybe_unused]] float first, second; };
__device__ __attribute__((noinline)) [[nodiscard]] float infinity(Two) { return INFINITY; }
__device__ inline void never_called() { asm volatile("bar.sync 0;"); }
"""
    body = '    const char* text = "__builtin_foo";\n    asm volatile("" ::: "memory");\n    y[0] = infinity({1, 2}) > text[0];\n'
    assert execute(kernel_of(body, before=before), ones(1, 64), 64)[0, 0] == 1


# ---- the device's heap


@both
def test_a_kernel_has_a_heap(launch):
    body = """\
    float* mine = (float*)malloc(2 * sizeof(float));
    int* more = new int[3];
    more[2] = 5;
    mine[1] = x[threadIdx.x] + more[2];
    y[threadIdx.x] = mine[1];
    free(mine);
    delete[] more;
"""
    y = launch(kernel_of(body), ones(1, 64), 64)
    assert (y == 6).all()


def test_a_heap_that_is_full_gives_null_and_is_empty_for_the_next():
    body = "    char* block = (char*)malloc(1 << 20);\n    y[threadIdx.x] = block == nullptr;\n"
    for _ in range(3):
        assert execute(kernel_of(body), ones(1, 64), 64).sum() == 64 - 8


# ---- large frames, wild pointers


@both
def test_half_a_megabyte_of_local_arrays_is_legal(launch):
    body = """\
    float large[120000];
    for (int i = 0; i < cols; i++) large[i * 1000] = x[i] + i;
    __syncthreads();
    y[threadIdx.x] = large[threadIdx.x * 1000];
"""
    y = launch(kernel_of(body), ones(1, 64), 64)
    assert (y == 1 + np.arange(64)).all()


@pytest.mark.parametrize(
    "body",
    [
        "    for (long i = 0; i < 1 << 24; i++) ((volatile float*)&rows)[i - (1 << 23)] = 7;\n",
        "    for (unsigned long at = 1 << 12; at; at <<= 1) *(volatile char*)at = 1;\n",
        "    ((void (*)())y)();\n",
        "    ((void (*)())nullptr)();\n",
    ],
)
def test_writes_and_jumps_anywhere_are_faults(body):
    message(KernelFault, body)
    assert (execute(kernel_of(COPY), ones(1, 64), 64) == 1).all()


# ---- printf


def printed(capfd, body, before=""):
    execute(kernel_of(body, before=before), ones(1, 64), 64)
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_printf_prints_where_python_prints(capsys):
    body = """\
    if (threadIdx.x) return;
    printf("%d|%5.2f|%-4s|%c|%%|%lld|%x|%*d|%e\\n", -3, 2.5f, "ab", 'c', 1LL << 40, 255, 4, 7, 1.0);
    printf("%zu %u %p\\n", sizeof(int), 7u, nullptr);
"""
    assert printed(capsys, body) == (
        "-3| 2.50|ab  |c|%|1099511627776|ff|   7|1.000000e+00\n4 7 (nil)\n"
    )


def test_headers_of_c_leave_the_devices_functions_in_place(capsys):
    headers = "cstdio cstdlib cassert stdio.h stdlib.h assert.h".split()
    body = """\
    assert(rows == 1);
    void* block = malloc(4);
    free(block);
    if (threadIdx.x == 0) printf("here\\n");
"""
    before = "".join(f"#include <{header}>\n" for header in headers)
    assert printed(capsys, body, before) == "here\n"


def test_what_printf_cannot_print_is_a_fault_or_left_out(capsys):
    said = message(KernelFault, '    printf("%s\\n", cols);\n')
    expected = (
        r"illegal address: thread 0 of block \(0,0,0\) loads at 0x40, far from every.*broken\.cu:2"
    )
    assert re.match(expected, said)
    assert printed(capsys, '    if (!threadIdx.x) printf("a%nb%y\\n", cols);\n') == "ab%y\n"


def test_a_flood_is_cut_after_what_a_gpu_keeps(capsys):
    body = '    for (int i = 0; i < 2000; i++) printf("%060d\\n", i);\n'
    out = printed(capsys, body)
    assert (1 << 20) - 200 < len(out) < (1 << 20) + 200
    left_out = 64 * 2000 - out.count("\n") + 1
    assert out.endswith(f"... and {left_out} texts more, for which the buffer of printf has no room.\n")  # fmt: skip


# ---- the process: kept, replaced, ended


def test_a_process_that_was_killed_is_replaced():
    execute(kernel_of(COPY), ones(1, 64), 64)
    for idle in device._idle._devices:
        os.kill(idle._process._process.pid, signal.SIGKILL)
        idle._process._process.wait()
    assert (execute(kernel_of(COPY), ones(1, 64), 64) == 1).all()


def test_a_copy_of_this_process_has_processes_of_its_own():
    execute(kernel_of(COPY), ones(1, 64), 64)
    child = os.fork()
    if child == 0:
        try:
            right = (execute(kernel_of(COPY), ones(1, 64), 64) == 1).all()
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (execute(kernel_of(COPY), ones(1, 64), 64) == 1).all()


def test_a_variable_keeps_its_first_value_in_a_new_process():
    text = "__device__ int count = 5;\n__global__ void next(int* y) { y[0] = count++; }\n"
    for _ in range(2):
        for _ in range(2):
            y = np.zeros(1, np.int32)
            emulator.launch(text, 1, 1, [y])
            assert y[0] == 5
        message(IllegalAddress, "    y[1 << 28] = 1.0f;\n")


STARTS_AND_ENDS = """\
import sys, numpy as np
from softmax_lib import run
from softmax_lib.engine.written import device
run("naive", np.ones((2, 8), np.float32))
print(*(one._process._process.pid for one in device._idle._devices))
"""


def test_no_process_outlives_python():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", STARTS_AND_ENDS], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    (pid,) = map(int, done.stdout.split())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_threads_have_processes_each():
    wrong = []

    def work(number):
        x = np.full((3, 64), number, np.float32)
        for _ in range(10):
            if not (execute(kernel_of(COPY), x, 64)[0] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(device._idle._devices) <= device._MOST_IDLE


# ---- mutants of the rungs


EDITS = {
    r"(?<![<>=!-])(<=?|>=?)(?![<>=])": ("<", "<=", ">", ">=", "!="),
    r"(?<!\+)\+(?![+=])|(?<!-)-(?![-=>])|(?<!/)\*(?=\s)": (" + ", " - ", " * ", " << "),
    r"[-+*]=": ("+=", "-=", "*=", "="),
    r"\bcols\b": ("rows", "(cols + 1)", "(cols - 1)", "-cols", "(cols * 4)"),
    r"\bthreadIdx\.x\b": ("blockIdx.x", "(threadIdx.x + 1)", "(threadIdx.x * 2)", "0"),
    r"\bblockIdx\.x\b": ("threadIdx.x", "(blockIdx.x + 1)", "0"),
    r"\b(blockDim\.x|BLOCK|WARPS?)\b": ("1", "0", "(BLOCK / 2)", "(BLOCK + 1)"),
    r"__sync(threads|warp)\(\);": ("", "if (threadIdx.x) __syncthreads();", "__syncwarp();"),
    r"\bfloat\b": ("double", "int", "char", "float*"),
    r"\bint\b": ("short", "unsigned", "float", "char", "long long"),
    r"(?<![\w.])\d+(?![\w.])": ("0", "1", "63", "1000000", "(-1)"),
    r"(?<![\w.])[xy](?=\[| \+)": ("x", "y", "(x + 4096)", "(y - 1)", "((float*)0)"),
    r"\bfor \(": ("while (", "if (int once = 1) for ("),
    r";\n": ("; return;\n", "; break;\n", "; continue;\n", "\n"),
    r"0xffffffff": ("0xffff", "0", "1"),
}
"""What is changed, and into which of these."""


def mutants(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """`count` sources by name, each of a rung with one to three changes; the same for the same seed."""
    chance = random.Random(seed)
    sources = {
        kernel.name: blank_comments(kernel.source.text)
        for kernel in kernels.values()
        if not kernel.foil
    }
    for number in range(count):
        name = chance.choice(sorted(sources))
        text = sources[name]
        for _ in range(chance.randint(1, 3)):
            text = _change(text, chance)
        yield f"{name}, mutant {number} of seed {seed}", text


def _change(text: str, chance: random.Random) -> str:
    body = text.index("__global__")
    while True:
        pattern = chance.choice(sorted(EDITS))
        places = list(re.compile(pattern).finditer(text, body))
        if places:
            at = chance.choice(places)
            return text[: at.start()] + chance.choice(EDITS[pattern]) + text[at.end() :]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


MOST_SECONDS = 30
"""Until a launch that hangs is told: for compiling, a watchdog of 1 s, and the 5 s after which a process
is ended that does not stop. One whose threads finish one after the other is at work, and may take longer."""


@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.full)])
def test_mutants_of_the_rungs_end_with_a_result_or_a_sentence(
    count, monkeypatch, pytestconfig, tmp_path, capsys
):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    seed = (pytestconfig.getoption("hypothesis_seed", None) or 0) if count > 6 else 0
    said, late = [], []
    x = np.random.default_rng(0).standard_normal((5, 77)).astype(np.float32)
    level, unsaid = None, []
    for number, (name, text) in enumerate(mutants(count, int(seed))):
        for use in (
            lambda text: run(text, x, block_size=64),
            lambda text: xray(text, rows=3, cols=77, block_size=64),
        ):
            start = time.monotonic()
            try:
                use(text)
                said.append("a result")
            except SoftmaxLibError as error:
                said.append(type(error).__name__)
                unsaid = unsaid + [name] * (not str(error).strip())
            seconds = time.monotonic() - start
            if said[-1] == Hang.__name__ and seconds >= MOST_SECONDS:
                late.append(f"{name}: {seconds:.0f} s")
        if number == count // 2:
            level = resident_bytes()
    assert (run("naive", x).sum(1) - 1 < 1e-5).all()
    assert resident_bytes() < level + (64 << 20)
    assert not list(tmp_path.iterdir())
    assert not unsaid
    assert not late
    outcomes = sorted(set(said))
    assert len(outcomes) > 2, outcomes
    print(seed, {outcome: said.count(outcome) for outcome in outcomes})
