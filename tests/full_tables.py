"""Long tables of parameters, of which a test of every day takes some and the tier `full` takes all."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def some(all_of_them: Iterable, every: int) -> list:
    """Parameters of a test: all that are given, most of them for the tier `full`.

    One is a value, a tuple of values, or what `pytest.param` makes of them.
    """
    return [
        one if number % every == 0 else _for_the_full_table(one)
        for number, one in enumerate(all_of_them)
    ]


def each_value(rows: Iterable[tuple]) -> list:
    """Parameters of a test, of which that of every day takes so few that each value of each of them comes up.

    First those that have most of the values left; the order is shuffled, always in the same way, so that these come up
    in different company.
    """
    table = list(rows)
    values = [{(at, str(value)) for at, value in enumerate(row)} for row in table]
    order = random.Random(0).sample(range(len(table)), len(table))
    chosen, left = set(), set().union(*values)
    while left:
        number = max(order, key=lambda one: len(values[one] & left))
        chosen.add(number)
        left -= values[number]
    return [
        one if number in chosen else _for_the_full_table(one) for number, one in enumerate(table)
    ]


def beside(one: object, all_of_them: Iterable, every: int) -> list:
    """Those that `some` takes, or leaves to the tier `full`, together with `one`, which is among them."""
    table = list(all_of_them)
    return table[table.index(one) % every :: every]


def _for_the_full_table(one: object) -> ParameterSet:
    if isinstance(one, ParameterSet):
        return pytest.param(*one.values, id=one.id, marks=[*one.marks, pytest.mark.full])
    return pytest.param(*(one if type(one) is tuple else [one]), marks=pytest.mark.full)
