"""What `pytest` needs to know of this repository: tiers of tests, cells of notebooks, GPUs, fuzz."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from softmax_lib.engine.words import count
from softmax_lib.worklog.errors import SoftmaxLibError

pytest_plugins = ["engine.sampling"]

TIERS = {
    "check": "make check",
    "test": "make test",
    "book": "make test-book",
    "all": "make test-all",
}
"""By name, what runs each."""
OF_ONE_MARK = {"check": "quick", "book": "site"}
"""Tiers whose tests all have a mark: files that don't name it aren't imported, which would take longer than they do."""
SECONDS_A_CELL = 120
SHARED_FILES = (
    "tests/facts/test_facts.py",
    "tests/grading/test_exercises.py",
    "tests/pages/test_address.py",
    "tests/pages/test_budget.py",
    "tests/pages/test_pages.py",
    "tests/pages/test_widgets.py",
    "tests/publish/test_publish.py",
)
"""Files so long that workers share them; tests with the same parameters stay together, as those of one page."""
GPU_NEEDED = "needs a CUDA GPU, where `python tests/gpu_run.py` runs it"
EVERYDAY_EXAMPLES, ALL_EXAMPLES = 15, 300
"""Examples of each fuzz test: the same ones every day, others in each run of the whole."""
REASONS_TOLD, NAMES_WIDTH = 4, 100
"""At the end: reasons of skipped tests, and characters of kernels' names in a line."""
LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""Tests that are not of the tier, by the first tier that runs them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which tests to run, and whether records have to be as new as the kernels."""
    said = (
        "check: those marked quick; test: all but those marked site or full, and every notebook; "
        "book: those marked site and not full; all: everything. The Makefile's targets run each."
    )
    parser.addoption("--tier", choices=TIERS, default="test", help=said)
    said = (
        "fail where a kernel has changed since a GPU checked or measured it, as a release demands"
    )
    parser.addoption("--fresh", action="store_true", help=said)


def pytest_configure(config: pytest.Config) -> None:
    """Set nbval's and Hypothesis' options, so that plain `pytest --nbval` is enough."""
    option = config.option
    if hasattr(option, "nbval"):
        if option.nbval_kernel_name is None:
            option.nbval_current_env = True
        option.nbval_cell_timeout = min(option.nbval_cell_timeout, SECONDS_A_CELL)
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        everyday = option.tier != "all"
        settings.register_profile(
            "softmax",
            max_examples=EVERYDAY_EXAMPLES if everyday else ALL_EXAMPLES,
            derandomize=everyday,
            deadline=None,
            print_blob=True,
        )
        settings.load_profile("softmax")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Build what every worker needs before there are any: each would build its own."""
    from softmax_lib.engine.compiled.library import library_path
    from softmax_lib.engine.written.build import runtime_library, server_program

    for build in (library_path, runtime_library, server_program):
        with contextlib.suppress(SoftmaxLibError):  # without a compiler most tests need no build
            build()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep a file's tests on one worker, as `--dist loadfile` does, but for those of a few long files."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            _, _, parameters = test.partition("[")
            return f"{file}::{parameters or test}" if file in SHARED_FILES else file

    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among what stays to the end: that's a quarter of collecting, and a second at the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files and folders that don't name the mark of all tests of the tier, where there is one."""
    mark = OF_ONE_MARK.get(config.option.tier)
    if mark is None or config.pluginmanager.get_plugin("session").isinitpath(collection_path):
        return None
    is_folder = collection_path.is_dir()
    files = collection_path.rglob("test_*.py") if is_folder else [collection_path]
    return None if any(f"mark.{mark}".encode() in file.read_bytes() for file in files) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the tier, skip what needs a GPU where there is none, and relax what may differ."""
    from softmax_lib.gpu.presence import why_no_gpu

    tier = config.option.tier
    marks = {item: {mark.name for mark in item.iter_markers()} for item in items}
    others = [item for item in items if not is_in(tier, marks[item])]
    config.hook.pytest_deselected(items=others)
    config.stash[LEFT_OUT] = dict(
        Counter(next(t for t in [*TIERS][1:] if is_in(t, marks[one])) for one in others)
    )
    if hasattr(config, "workeroutput"):  # of pytest-xdist, whose workers alone know the tests
        config.workeroutput["left out"] = config.stash[LEFT_OUT]
    items[:] = [item for item in items if is_in(tier, marks[item])]
    reason = why_no_gpu()
    for item in items:
        if reason and "gpu" in marks[item]:
            item.add_marker(pytest.mark.skip(reason=f"{GPU_NEEDED}: {reason}"))
        cell = getattr(item, "cell", None)  # that nbval made it from
        if cell and "live" in cell.metadata.get("tags", []):
            item.options["check"] = False  # it has to run; another card prints other numbers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell of a kernel that no GPU has measured yet, and fail for it only where that is asked for."""
    report = yield
    told = item.get_closest_marker("fresh") and not item.config.option.fresh
    if told and report.failed and call.excinfo:
        report.outcome = "skipped"
        report.wasxfail = str(call.excinfo.value).partition("\n")[0]
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a worker left out: all of them the same."""
    told = getattr(node, "workeroutput", {})  # a worker that crashed has none
    if "left out" in told:
        node.config.stash[LEFT_OUT] = told["left out"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a few lines what was not run and how to run it, and which kernels wait for a GPU."""
    for line in (*tell_not_run(terminalreporter), *tell_waiting(terminalreporter)):
        terminalreporter.write_line(line, yellow=True)


def tell_not_run(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """A line for what was skipped, by its reasons, and one for what is not of the tier."""
    skipped = reporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ").partition(": ")[0] for report in skipped
    )
    told = [f"{why} ({number})" for why, number in reasons.most_common(REASONS_TOLD)]
    if len(reasons) > REASONS_TOLD:
        told.append(f"{len(reasons) - REASONS_TOLD} more reasons, which -rs lists")
    if told:
        yield f"{len(skipped)} skipped: {'; '.join(told)}."
    tier, left_out = reporter.config.option.tier, reporter.config.stash.get(LEFT_OUT, {})
    if tier in OF_ONE_MARK:
        yield f"`{TIERS[tier]}` runs tests marked {OF_ONE_MARK[tier]} alone; `make test-all` runs all."
    elif left_out:
        runs = ", ".join(f"`{TIERS[tier]}` runs {number}" for tier, number in left_out.items())
        yield f"{sum(left_out.values())} left out of `{TIERS[tier]}`: {runs}."


def tell_waiting(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """A line for tests marked fresh that would fail, and one each for kernels without times and with old ones."""
    from softmax_lib.records.shelf import recorded

    def listed(names: list[str]) -> str:
        text = ", ".join(names)
        if len(text) <= NAMES_WIDTH or reporter.verbosity > 0:
            return text
        text = text[:NAMES_WIDTH].rpartition(", ")[0]
        return f"{text} and {len(names) - text.count(', ') - 1} more (-v names all)"

    with contextlib.suppress(SoftmaxLibError):  # tests of the record say what is wrong with it
        for what, names in recorded().waiting().items():
            mend = "`softmax-lib record` on such a GPU measures them"
            yield f"Warning: {count(len(names), 'kernel')} {what}: {listed(names)}; {mend}."
    older = [report.nodeid.rpartition("::")[2] for report in reporter.stats.get("xfailed", [])]
    names = list(dict.fromkeys(one.partition("[")[2].rstrip("]") or one for one in older))
    if names:
        yield f"Warning: {len(older)} xfailed until a GPU runs anew: {listed(names)}; -rx says what each wants."


def is_in(tier: str, marks: set[str]) -> bool:
    """Whether a tier runs a test or cell with these marks."""
    by_tier = {
        "check": "quick" in marks and "full" not in marks,
        "test": not marks & {"site", "full"},
        "book": "site" in marks and "full" not in marks,
        "all": True,
    }
    return by_tier[tier]
