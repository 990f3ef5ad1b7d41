"""Loading what a package names in its `__init__.pyi` when it is first used, and not before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import lazy_loader

_INSTALLED_BY = {
    "ipywidgets": '"softmax-lib[notebook]"',
    "matplotlib": '"softmax-lib[notebook]"',
    "torch": "torch",
}
"""What brings an optional library, for pip."""


def attach(
    package: str, file: str, needs: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the package whose `__init__.py` is `file`.

    `needs` says which names take an optional library: where that is not installed they are not
    listed, and who asks for one is told which library is missing and how to get it, by a ModuleNotFoundError.
    """
    load, _, names = lazy_loader.attach_stub(package, file)
    missing = {library for library in set(needs.values()) if find_spec(library) is None}
    listed = [name for name in names if needs.get(name) not in missing]

    def look_up(name: str) -> Any:
        if (library := needs.get(name)) in missing and find_spec(library) is None:
            said = f"{package}.{name} needs {library}, which is not installed: `pip install {_INSTALLED_BY[library]}`."
            raise ModuleNotFoundError(said, name=library)
        value = vars(sys.modules[package])[name] = load(name)  # kept: the next does not come here
        return value

    return look_up, lambda: listed, listed
