"""Whatever happens to the files of a cache, a run goes on, and is right."""

import subprocess

import numpy as np
import pytest
from damages import DAMAGES
from emulated import execute, noise, softmax, trace

from softmax_lib.engine import caches, toolchain
from softmax_lib.engine.written import build, device, symbols

X = noise(3, 70)
USES = {"run": lambda: execute("shared", X, 64), "trace": lambda: trace("shared", X, 64).y}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own. The compiler makes everything once, for that takes seconds, and the same each time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled, compile_it = {}, build.compile_in

    def compile_once(command, folder):
        out = folder / command[command.index("-o") + 1]
        made_of = (folder / "kernel.s").read_bytes() if "kernel.s" in command[:-2] else b""
        key = (made_of, *(word for word in command if str(tmp_path) not in word))
        if key not in compiled:
            done = compile_it(command, folder)
            compiled[key] = out.read_bytes()
            return done
        out.write_bytes(compiled[key])
        out.chmod(0o755)
        return subprocess.CompletedProcess(command, 0, "", "")

    for module in (build, toolchain):
        monkeypatch.setattr(module, "compile_in", compile_once)
    return tmp_path / "softmax_lib" / "emulator"


def files_in(cache):
    """Without the folder of headers, which are no built things."""
    return sorted(path for path in cache.iterdir() if path.is_file())


DAMAGED = {
    "runtime": "empty", "server": "zeros inside", "prelude": "longer", "05_shared": "a folder",
}  # fmt: skip
"""What each file comes to, in this order: what stands in front of a kernel is looked at when the kernel is built."""


def test_a_run_goes_on_and_is_right(cache):
    for use in USES.values():
        use()
    kept = files_in(cache)
    symbols_as = symbols._KEPT_AS
    suffixes = ["", ".gch", ".gch", ".so", ".so", ".so", symbols_as, symbols_as]
    assert sorted(path.suffix for path in kept) == sorted(suffixes)
    for stem, damage in DAMAGED.items():
        if stem == "server":
            device._idle.end()  # the system lets nobody write to a program that runs
        for path in kept:
            if path.name.startswith(stem) and caches.is_whole(path):
                DAMAGES[damage](path, 1234)
        symbols.read.cache_clear()
        for name, use in USES.items():
            np.testing.assert_allclose(use(), softmax(X), rtol=1e-5, err_msg=f"{name}, {damage}")
        assert not list(cache.glob("building-*")), damage
    for use in USES.values():
        np.testing.assert_allclose(use(), softmax(X), rtol=1e-5)
    assert files_in(cache) == kept
    assert all(map(caches.is_whole, kept))
