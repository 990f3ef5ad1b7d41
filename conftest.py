"""What `pytest` needs to know of this repository: notebook cells and site tests."""

from __future__ import annotations

import functools

import pytest

SECONDS_A_CELL = 120


def pytest_configure(config: pytest.Config) -> None:
    """Set nbval's options where nbval is installed, so that plain `pytest --nbval` is enough."""
    option = config.option
    if not hasattr(option, "nbval"):
        return
    if option.nbval_kernel_name is None:
        option.nbval_current_env = True
    option.nbval_cell_timeout = min(option.nbval_cell_timeout, SECONDS_A_CELL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Treat cells by their tags, and leave site tests to `-m site`."""
    for item in items:
        tags = cell_tags(item)
        if "gpu" in tags and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU"))
        elif tags & {"gpu", "live"}:
            item.options["check"] = False  # it has to run; another card prints other numbers
    if "site" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("site")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def cell_tags(item: pytest.Item) -> set[str]:
    """Tags of the notebook cell that nbval made `item` from; none for other tests."""
    cell = getattr(item, "cell", None)
    return set(cell.metadata.get("tags", [])) if cell else set()


@functools.cache
def has_gpu() -> bool:
    """Whether torch sees a CUDA GPU."""
    import torch

    return torch.cuda.is_available()
