"""Structs, records and enums are the same in Python and in C++, and a difference is named when a process starts."""

import pytest

from softmax_lib.engine.written import process, structs


@pytest.fixture(scope="module")
def compiled():
    started = process.Process()
    yield started.layout()
    started.end()


def test_every_size_offset_and_enumerator_is_the_compilers(compiled):
    assert compiled == dict(structs.LAYOUT)
    structs.LAYOUT.check(compiled)


@pytest.mark.parametrize("name", ["Record", "Record.site", "Fault.text", "Operation.shuffle_xor"])
def test_a_change_on_one_side_alone_is_named(name, compiled):
    shifted = compiled | {name: compiled[name] + 4}
    with pytest.raises(RuntimeError, match=rf"disagree about {name}: \d+ and \d+"):
        structs.LAYOUT.check(shifted)
    missing = {other: value for other, value in compiled.items() if other != name}
    with pytest.raises(RuntimeError, match=f"{name}: .* and not there"):
        structs.LAYOUT.check(missing)


def test_what_only_one_side_has_is_named_too(compiled):
    with pytest.raises(RuntimeError, match=r"Record\.more: not there and 40"):
        structs.LAYOUT.check(compiled | {"Record.more": 40})
