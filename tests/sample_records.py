"""Records that tests may damage, and how to write one down."""

import copy
import json

from softmax_lib.records.shelf import FOLDER

BOOK = FOLDER / "nvidia-h200.json"


def content(**changes):
    """What the book's record holds, as plain lists and dictionaries; a new copy each time."""
    return {**copy.deepcopy(_CONTENT), **changes}


def write(path, changed):
    """Write this content as a record, and give back its text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(changed), encoding="utf-8")
    return path.read_text(encoding="utf-8")


_CONTENT = json.loads(BOOK.read_text(encoding="utf-8"))
