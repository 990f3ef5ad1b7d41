"""Reading what was written as JSON: whatever the file holds, one sentence says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from softmax_lib.records.measurement import KNOWN
from softmax_lib.worklog.errors import BadInput

One = TypeVar("One")

LARGEST = 2.0**63
"""No number of a record is larger: products of several are still numbers."""

_AT_LEAST_ONE = frozenset(
    {"rows", "cols", "k", "batch", "length", "layers", "vocabulary", "multiprocessors"}
)


def read_json(path: Path, what: str) -> Any:
    """What `path` holds. Raises `BadInput` when it is missing or damaged, calling it "The `what`"."""
    if path.exists() and not path.is_file():
        raise BadInput(f"Cannot read the {what} {path}: it is no file.")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"Cannot read the {what} {path}: {error.strerror}.") from None
    except ValueError as error:
        raise BadInput(f"The {what} {path} is damaged: {error}.") from None
    except RecursionError:
        raise BadInput(f"The {what} {path} is damaged: it is nested too deeply.") from None


def is_possible(value: Any, least: float) -> bool:
    """Whether it is a number, and not below `least`."""
    return type(value) in (int, float) and least <= value <= LARGEST


def read_fields(kind: type[One], entry: Mapping[str, Any]) -> One:
    """One of this dataclass from the values that have its fields' names.

    Raises `BadInput` for one that has the wrong type or cannot be, `KeyError` for one that is missing.
    """
    wanted = _types(kind)  # type: ignore[arg-type]
    values = {name: entry[name] for name in wanted}
    require_types(values, wanted)
    return kind(**values)


def require_types(entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raises `BadInput` for a value that has another type than the one `wanted`, `KeyError` for one that is missing.

    Numbers that are counted are 0 or more, those that are measured are above 0; a list has at least one.
    """
    for name, kind in wanted.items():
        if not _fits(name, entry[name], kind):
            raise BadInput(f"{name} is {entry[name]!r:.40}, which cannot be")


_types = cache(get_type_hints)


def _fits(name: str, value: Any, kind: Any) -> bool:
    if kind is float:
        return is_possible(value, 1e-9)
    if kind is int:
        return type(value) is int and (name in _AT_LEAST_ONE) <= value <= LARGEST
    if kind is str:
        return isinstance(value, str) and value in KNOWN.get(name, (value,))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is list:
        inner = get_args(kind)[0]
        return isinstance(value, list) and bool(value) and all(_fits("", v, inner) for v in value)
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return isinstance(value, dict) and all(_fits("", one, inner) for one in value.values())
    return isinstance(value, kind)
