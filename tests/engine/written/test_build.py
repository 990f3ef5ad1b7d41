"""Building: the reader's own lines in every message, one build for all, a cache that may fail."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from emulated import HEAD, noise, ones, softmax, trace
from emulated import execute as execute_on

from softmax_lib import emulator
from softmax_lib.engine import toolchain
from softmax_lib.engine.errors import CompileError, NotAvailable
from softmax_lib.engine.source import Source
from softmax_lib.engine.written import build, flags, process, structs, symbols
from softmax_lib.engine.written.flags import headers_folder
from softmax_lib.worklog import registry

PACKAGE = build.CPP_FOLDER.parents[1]
COPY = HEAD + "    y[threadIdx.x] = x[threadIdx.x];\n}\n"


def execute(source):
    return execute_on(source, ones(1, 32), 32)


def message_of(text, file_name="mine.cu"):
    with pytest.raises(CompileError) as caught:
        execute(Source(file_name, text))
    return str(caught.value)


# ---- messages


OTHERS = '#define fmaxf missing\n#include "block_reduce.cuh"\n'
SAID = {
    "an error at its line": (
        HEAD + "    int n = cols;\n    y[0] = n + missing;\n}\n",
        "mine.cu:3:",
        "missing",
    ),
    "an error in a header": (OTHERS + COPY, "block_reduce.cuh:", "missing"),
    "an error behind a header of the standard library": (
        "#include <cuda/std/optional>\nvoid* a;\ncuda::std::optional<int> b(a);\n" + COPY,
        "from cuda/std/optional:",
        "",
    ),
    "a missing brace": (HEAD + "    y[0] = x[0];\n", "mine.cu:2:", ""),
}


@pytest.mark.parametrize("name", SAID)
def test_what_does_not_compile_is_told_at_the_readers_line_and_of_nothing_else(name):
    text, place, word = SAID[name]
    said = message_of(text)
    assert place in said
    assert word in said
    for hidden in ("/tmp", str(build.CPP_FOLDER), "shim", "EMULATOR", "launcher"):
        assert hidden not in said


def test_a_kernel_that_takes_other_arguments():
    text = message_of('extern "C" __global__ void mine(const float* x, float* y, int cols) {\n}\n')
    assert text == (
        "mine.cu is launched as mine(x, y, rows, cols), with arrays of float and int sizes, and "
        "its kernels take something else."
    )


def test_a_file_name_with_spaces():
    assert "my own kernel.cu:2:" in message_of(HEAD + "    oops;\n}\n", "my own kernel.cu")
    assert (execute(Source("my own kernel.cu", COPY)) == 1).all()


# ---- compilers

COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"no {name} here"))
    for name in ("g++", "clang++")
]


@pytest.mark.full  # also the runtime, with each
@pytest.mark.parametrize("command", COMPILERS)
def test_each_compiler_builds_runs_and_traces(monkeypatch, command):
    monkeypatch.setenv("CXX", command)
    assert emulator.compiler()[0] == [command]
    for name in ("shuffle", "float4"):
        x = noise(4, 100)
        traced = trace(name, x, 32)
        np.testing.assert_allclose(execute_on(name, x, 32), softmax(x), rtol=1e-5)
        # float4: a row of 100 floats is read twice, 25 vectors each time; else every float by itself
        loads = traced.events[(traced.events["operation"] == 0) & (traced.events["block"] == 0)]
        of_x = loads[loads["array"] == 0]
        assert of_x["size"].sum() == 2 * 100 * 4
        assert set(of_x["size"].tolist()) == ({16} if name == "float4" else {4})


@pytest.mark.full
@pytest.mark.skipif(not (shutil.which("g++") and shutil.which("clang++")), reason="needs both")
@pytest.mark.parametrize("name", registry.with_copy)
def test_compilers_agree_in_every_bit(monkeypatch, name):
    kernel = registry.with_copy[name]
    x = noise(20, kernel.longer(333), scale=5)
    for block_size in kernel.legal_block_sizes(x.shape[1]):
        results = []
        for command in ("g++", "clang++"):
            monkeypatch.setenv("CXX", command)
            results.append(execute_on(kernel, x, block_size).tobytes())
        assert results[0] == results[1], block_size


@pytest.fixture
def stub(monkeypatch, tmp_path):
    """Makes a shell script the compiler."""

    def use(script):
        path = tmp_path / "c++"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        return str(path)

    return use


def test_a_compiler_is_told_with_its_version(stub):
    path = stub("echo 'c++ 13.1 '\necho 'Copyright'")
    assert emulator.compiler() == ([path], f"{path} (c++ 13.1)")


def test_a_compiler_may_come_with_flags(monkeypatch, usual_runtime):
    plain = emulator.compiler()[0]
    monkeypatch.setenv("CXX", f"{plain[0]} -DFROM_CXX=3")
    source = HEAD + "    y[threadIdx.x] = FROM_CXX;\n}\n"
    assert (execute(source) == 3).all()


def test_without_a_compiler_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotAvailable, match=r"needs a C\+\+ compiler.*install g\+\+") as caught:
        execute(COPY)
    assert str(caught.value).count(".") == 1 + str(caught.value).count("g++.")


def test_another_kind_of_machine_is_named(monkeypatch):
    monkeypatch.setattr(toolchain.platform, "machine", lambda: "riscv64")
    monkeypatch.setenv("CXX", "a-compiler-not-asked-before")
    with pytest.raises(NotAvailable, match="on riscv64"):
        emulator.compiler()


# ---- the cache


@pytest.fixture
def usual_runtime(monkeypatch):
    """The runtime, which takes seconds to build, is the one that is there, whatever a test makes the cache."""
    runtime, server = build.runtime_library(), build.server_program()
    monkeypatch.setattr(process, "server_program", lambda: server)
    for module in (build, process):
        monkeypatch.setattr(module, "runtime_library", lambda: runtime)


@pytest.fixture
def empty_cache(monkeypatch, tmp_path, usual_runtime):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "softmax_lib" / "emulator"


def libraries(folder):
    """By name, and when each was built."""
    return {path.name: path.stat().st_mtime_ns for path in sorted(folder.glob("*.so"))}


def test_a_kernel_is_built_once(empty_cache):
    execute(Source("once.cu", COPY))
    built = libraries(empty_cache)
    execute(Source("once.cu", COPY))
    assert [name.partition("-")[0] for name in built] == ["once"]
    assert libraries(empty_cache) == built


def test_headers_that_are_damaged_or_gone_are_written_again(empty_cache):
    execute(Source("first.cu", COPY))
    (headers_folder() / "cuda.h").write_text("#error damaged\n")
    (headers_folder() / "cooperative_groups.h").unlink()
    execute(Source("next.cu", "#include <cuda.h>\n#include <cooperative_groups.h>\n" + COPY))


def test_all_that_goes_into_a_build_is_in_its_name(monkeypatch):
    for name in ("build_once", "build_own_once"):
        monkeypatch.setattr(build, name, lambda path, *_, **__: path)

    def path(text=COPY, file_name="a.cu", warp_size=32, traced=False, block=64):
        kernel = registry.resolve(Source(file_name, text))
        return build.kernel_library(kernel.program(block, 32), kernel.entries, warp_size, traced)

    wide = COPY.replace("}\n", "    // BLOCK threads\n    (void)BLOCK;\n}\n")
    paths = [
        path(),
        path(COPY + "\n"),
        path(file_name="b.cu"),
        path(warp_size=4),
        path(traced=True),
    ]
    paths += [path(wide, block=block) for block in (64, 128)]
    monkeypatch.setattr(flags, "COMMON_FLAGS", (*flags.COMMON_FLAGS, "-DANOTHER"))
    paths.append(path())
    monkeypatch.setenv("CXX", f"{emulator.compiler()[0][0]} -DYET_ANOTHER")
    paths.append(path())
    assert len(set(paths)) == len(paths)


@pytest.mark.full  # what stands in front of all kernels and the runtime are built
def test_another_checkout_finds_what_one_has_built(empty_cache, tmp_path):
    code = (
        "import numpy as np; from softmax_lib import run; run('naive', np.ones((2, 8), np.float32))"
    )
    for checkout in ("one", "another"):
        folder = tmp_path / checkout
        shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("*.so"))
        (folder / "kernels").symlink_to(PACKAGE.parent / "kernels")
        environment = os.environ | {"PYTHONPATH": str(folder)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert [name.partition("-")[0] for name in libraries(empty_cache)] == ["03_naive", "runtime"]


@pytest.mark.skipif(toolchain.toolchain().is_clang, reason="g++ alone")
@pytest.mark.parametrize("traced", [False, True])
def test_what_stands_in_front_of_every_kernel_is_compiled_once(empty_cache, monkeypatch, traced):
    """With -H a compiler tells each file that it reads, and "!" of one that it reads compiled."""
    said, compile_it = [], build.compile_in

    def compile_and_tell(command, folder):
        done = compile_it([*command, "-H"] if "-S" in command else command, folder)
        said.append(done.stderr)
        return done

    monkeypatch.setattr(build, "compile_in", compile_and_tell)
    kernel = registry.kernels["shuffle"]
    build.kernel_library(kernel.program(64, 32), kernel.entries, 32, traced)
    read = [line for line in "".join(said).splitlines() if line.startswith(("!", "."))]
    assert read[0].startswith("! ./emulator_prelude.h.gch")
    assert not [line for line in read if "cuda_shim.h" in line]


def test_a_compiler_that_has_no_room_for_it_reads_what_is_written(empty_cache, stub):
    refuses = "{ echo 'fatal error: had to relocate PCH' >&2; exit 1; }"
    stub(f'[ -e emulator_prelude.h.gch ] && {refuses}\nexec {emulator.compiler()[0][0]} "$@"')
    assert (execute(COPY) == 1).all()


def test_few_compiled_preludes_are_kept(empty_cache, monkeypatch):
    def compile_at_once(command, folder):
        Path(command[-1]).write_bytes(b"a prelude")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(build, "compile_in", compile_at_once)
    for number in range(build._PRELUDES_KEPT + 2):
        monkeypatch.setenv("CXX", f"{emulator.compiler()[0][0]} -DNUMBER={number}")
        assert build._compiled_prelude(toolchain.toolchain(), 32, False, False)
    assert len(list(empty_cache.glob("*.gch"))) == build._PRELUDES_KEPT


@pytest.mark.full  # each builds all
def test_two_processes_can_build_at_once(empty_cache):
    code = (
        "from softmax_lib import run; from softmax_lib.worklog import reference;"
        "x = reference.noise(3, 70);"
        "assert reference.judge(run('shuffle', x, block_size=64), x).mistake is None"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [one.wait(timeout=300) for one in running] == [0, 0]
    assert len(libraries(empty_cache)) == 2
    assert list(empty_cache.glob("building-*")) == []


def test_a_build_that_fails_leaves_nothing_behind(empty_cache):
    message_of(HEAD + "oops;\n}\n")
    left = {path.name.partition("-")[0] for path in empty_cache.iterdir()}
    assert left == {"headers", "prelude"}


def test_a_cache_folder_that_cannot_be_written(monkeypatch, tmp_path, usual_runtime):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(in_the_way))
    with pytest.warns(UserWarning, match=f"cannot be kept in {in_the_way}/softmax_lib "):
        assert (execute(COPY) == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it warns once
        assert (execute(COPY) == 1).all()


def test_a_compiler_that_does_not_come_back_is_stopped_with_all_that_it_started(
    monkeypatch, tmp_path, stub
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(toolchain, "COMPILE_S", 0.5)
    stub(f'[ "$1" = --version ] && exit 0\nsleep 77 & echo $! > {tmp_path}/pid; wait')
    assert message_of(COPY) == toolchain.ENDLESS
    started = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    until = time.monotonic() + 5  # a signal takes its time
    while is_there := started.exists() and started.read_text().split()[2] != "Z":
        if time.monotonic() > until:
            break
    assert not is_there


FULL = [
    "{0}: fatal error: error writing to {0}: No space left on device\\ncompilation terminated.",
    "/usr/bin/ld: final link failed: No space left on device\\ncollect2: error: ld returned 1 exit status",
]
"""What g++ prints where there is no room for assembly, and for a library."""


@pytest.mark.parametrize("said", FULL)
def test_a_full_disk_is_one_sentence_and_names_the_folder(monkeypatch, tmp_path, stub, said):
    stub(f"[ \"$1\" = --version ] && exit 0\nprintf '{said}' >&2\nexit 1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NotAvailable) as stopped:
        execute(COPY)
    folder = tmp_path / "softmax_lib" / "emulator"
    assert str(stopped.value) == f"Kernels cannot be built in {folder}: No space left on device."
    assert list(folder.iterdir()) == []


def test_line_tables_are_read_once_and_kept(empty_cache):
    kernel = registry.resolve(Source("lines.cu", COPY))
    path = build.kernel_library(kernel.program(32, 32), kernel.entries, 32, True)
    found = symbols.read(path)
    kept = path.with_suffix(".symbols")
    assert {line for file, line in found.places if file == "lines.cu"} >= {1, 2, 3}
    symbols.read.cache_clear()
    assert symbols.read(path) == found
    kept.write_text(json.dumps({"half": "a file"}))  # whatever happened to it, it is made anew
    symbols.read.cache_clear()
    assert symbols.read(path) == found


# ---- enums, which are the same in Python and in C++; structs are read from the headers


def test_every_enum_counts_as_the_runtimes_does():
    files = ("launch.h", "kernel_interface.h", "server.cpp")
    paths = (toolchain.SHARED_FOLDER / "hazards.h", *(flags.CPP_FOLDER / name for name in files))
    text = "".join(path.read_text() for path in paths)
    told = {
        name: words.split(", ")
        for name, words in re.findall(r"enum class (\w+) : \w+ \{ (.*?),? \};", text)
    }
    told["Operation"] = re.findall(r"\bDO\((\w+), \"", text)
    for enum in (process.Verb, structs.FaultKind, structs.Access, structs.Operation, structs.ValueType,
                 structs.HazardKind):  # fmt: skip
        assert [one.name.lower() for one in enum] == told[enum.__name__]
        assert [*enum] == [*range(len(enum))]


def test_structs_are_as_large_as_the_headers_say():
    sizes = {"Record": structs.RECORD, "LineCounts": structs.LINE_COUNTS, "Hazard": structs.HAZARD}
    headers = (*toolchain.SHARED_FOLDER.glob("*.h"), *flags.CPP_FOLDER.glob("*.h"))
    text = "".join(header.read_text() for header in headers)
    for name, dtype in sizes.items():
        assert f"static_assert(sizeof({name}) == {dtype.itemsize});" in text
