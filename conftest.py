"""What `pytest` needs to know of this repository: tiers of tests, cells of notebooks, GPUs, fuzz."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import pytest

from softmax_lib.errors import SoftmaxLibError
from softmax_lib.gpu.presence import why_no_gpu

TIERS = ("check", "test", "book", "all")
SECONDS_A_CELL = 120
SHARED_FILES = ("tests/grading/test_exercises.py",)
"""Files so long that workers share them, test by test."""
EVERYDAY_EXAMPLES, ALL_EXAMPLES = 15, 300
"""Examples of each fuzz test: the same ones every day, others in each run of the whole."""


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
        choose_examples(everyday=option.tier != "all")


def choose_examples(everyday: bool) -> None:
    """How many examples fuzz tests draw, and whether they are the same in every run."""
    from hypothesis import settings

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
    from softmax_lib.emulator.build import runtime_library, server_program
    from softmax_lib.machine.library import library_path

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
            return nodeid if nodeid.startswith(SHARED_FILES) else super()._split_scope(nodeid)

    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the tier, skip what needs a GPU where there is none, and relax what may differ."""
    tier = config.option.tier
    config.hook.pytest_deselected(items=[item for item in items if not is_in(tier, item)])
    items[:] = [item for item in items if is_in(tier, item)]
    reason = why_no_gpu()
    for item in items:
        if reason and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=f"needs a CUDA GPU: {reason}"))
        if "live" in cell_tags(item):
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the kernels whose times are missing or older than they are: a warning, whatever was run."""
    from softmax_lib.records.shelf import recorded

    with contextlib.suppress(SoftmaxLibError):  # tests of the record say what is wrong with it
        for line in recorded().waiting():
            terminalreporter.write_line(f"Warning: {line}", yellow=True)


def is_in(tier: str, item: pytest.Item) -> bool:
    """Whether a tier runs this test or cell."""
    marks = {mark.name for mark in item.iter_markers()}
    by_tier = {
        "check": "quick" in marks,
        "test": not marks & {"site", "full"},
        "book": "site" in marks and "full" not in marks,
        "all": True,
    }
    return by_tier[tier]


def cell_tags(item: pytest.Item) -> set[str]:
    """Tags of the notebook cell that nbval made `item` from; none for other tests."""
    cell = getattr(item, "cell", None)
    return set(cell.metadata.get("tags", [])) if cell else set()
