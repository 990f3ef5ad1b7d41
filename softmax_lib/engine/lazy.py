"""Loading what a package names in its `__init__.pyi` when it is first used, and not before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec, spec_from_loader
from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_INSTALLED_BY = {
    "ipywidgets": '"softmax-lib[notebook]"',
    "matplotlib": '"softmax-lib[notebook]"',
    "torch": "torch",
}
"""What brings an optional library, for pip."""


def attach(
    package: str, file: str, needs: Mapping[str, str], homes: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package whose `__init__.py` is `file`; the former gives `__all__` too.

    `needs` says which names take an optional library: where that is not installed they are not
    listed, and who asks for one is told which library is missing and how to get it, by a ModuleNotFoundError.
    `homes` are modules that are to be had as the package's own: {"emulator": "engine.written"}.
    """
    there = {name: f"{package}.{home}" for name, home in (homes or {}).items()}

    @cache  # reading the stub takes longer than all else here, and waits until a name is asked for
    def stub() -> tuple[Callable[[str], Any], list[str]]:
        load, _, found = lazy_loader.attach_stub(package, file)
        moved = {home.rpartition(".")[2] for home in there.values()}
        missing = {library for library in set(needs.values()) if find_spec(library) is None}
        names = sorted({*found} - moved | {*there})
        return load, [name for name in names if needs.get(name) not in missing]

    def look_up(name: str) -> Any:
        if name == "__all__":
            return stub()[1]
        if (library := needs.get(name)) and find_spec(library) is None:
            said = f"{package}.{name} needs {library}, which is not installed: `pip install {_INSTALLED_BY[library]}`."
            raise ModuleNotFoundError(said, name=library)
        value = import_module(there[name]) if name in there else stub()[0](name)
        vars(sys.modules[package])[name] = value  # kept: the next does not come here
        return value

    if there:
        sys.meta_path.append(_Homes({f"{package}.{name}": home for name, home in there.items()}))

    return look_up, lambda: stub()[1]


class _Homes:
    """Finder and loader for `import softmax_lib.errors`, of a module that lies elsewhere: the same by another name.

    The base classes in `importlib.abc` take longer to import than all else here.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name in self._homes else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._homes[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        module.__spec__ = spec.loader_state
