"""The engine's tests run whole where what they test has changed since they last passed, and as a sample elsewhere.

A stamp in the folder of built kernels has the digest of what passed. It is written by a run of everything that
passes; `make test-all`, `--whole` (which CI gives on main) and who names files or tests on the command line go without it.
"""

import hashlib
import platform
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from softmax_lib.engine.caches import cache_folder, replace_file
from softmax_lib.engine.errors import EngineError
from softmax_lib.engine.toolchain import toolchain

TESTS = Path(__file__).parents[1]
ENGINE_TESTS = TESTS / "engine"
WATCHED = ("softmax_lib/engine", "softmax_lib/gpu", "tests/engine", "tests/*.py", "conftest.py")
"""What a result of these tests depends on: the engine, its NVRTC, the tests and what helps them."""
DIGEST, SAMPLED = pytest.StashKey[str](), pytest.StashKey[bool]()
"""Of what is tested now, where this is a run of everything; and whether a sample is enough."""
ONE_OF = 10
"""Of a file's tests a sample has the first and every tenth; and those marked quick."""


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "run the engine's tests whole, also where they passed and nothing has changed since"
    parser.addoption("--whole", action="store_true", help=said)


def pytest_configure(config: pytest.Config) -> None:
    """Decide once, in the process that starts the others, whether this run takes a sample."""
    if is_worker(config):
        config.stash[SAMPLED] = config.workerinput["engine sampled"]
        return
    option = config.option
    now = digest() if is_of_everything(config) else ""
    config.stash[DIGEST] = now
    config.stash[SAMPLED] = (
        bool(now) and not option.whole and option.tier == "test" and passed() == now
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["engine sampled"] = node.config.stash[SAMPLED]


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of pytest-xdist."""
    return hasattr(config, "workerinput")


def is_of_everything(config: pytest.Config) -> bool:
    """Whether nobody chose files, tests or marks."""
    option = config.option
    chosen = (option.keyword, option.markexpr, option.deselect, option.collectonly)
    failed_before = getattr(option, "lf", False)
    at_home = config.args_source is config.ArgsSource.TESTPATHS
    return at_home and not any(chosen) and not failed_before


def digest() -> str:
    """Of what these tests test, and of the tools that this is built with."""
    found = hashlib.sha256()
    for file in sorted(watched_files()):
        found.update(f"{file.relative_to(TESTS.parent)}\n".encode() + file.read_bytes())
    installed = sorted(f"{one.name} {one.version}" for one in distributions())
    found.update("\n".join([platform.platform(), platform.python_version(), *installed]).encode())
    try:
        found.update(repr(toolchain()).encode())
    except EngineError as error:
        found.update(str(error).encode())
    return found.hexdigest()


def watched_files() -> set[Path]:
    """Files under `WATCHED`, but for what Python and the compiler leave there."""
    named = [path for pattern in WATCHED for path in TESTS.parent.glob(pattern)]
    files = [file for path in named for file in (path.rglob("*") if path.is_dir() else [path])]
    return {file for file in files if file.is_file() and file.suffix not in {".pyc", ".so"}}


def stamp() -> Path:
    return cache_folder("tests") / "engine"


def passed() -> str:
    """The digest with which a whole run passed last; empty where there was none."""
    return stamp().read_text() if stamp().is_file() else ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the sample."""
    if not config.stash[SAMPLED]:
        return
    before: Counter[Path] = Counter()
    others = []
    for item in items:
        if ENGINE_TESTS in item.path.parents:
            if before[item.path] % ONE_OF and not item.get_closest_marker("quick"):
                others.append(item)
            before[item.path] += 1
    left_out = {*others}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=others)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Note what passed, where everything ran and nothing failed."""
    config = session.config
    if is_worker(config) or config.stash[SAMPLED] or exitstatus != 0:
        return
    if config.stash[DIGEST] and config.option.tier in ("test", "all"):
        replace_file(stamp(), config.stash[DIGEST].encode())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.config.stash[SAMPLED]:
        said = f"The engine has not changed since its tests passed: 1 of {ONE_OF} ran; --whole runs all."
        terminalreporter.write_line(said, yellow=True)
