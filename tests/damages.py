"""Ways in which a file comes to harm, each a function of its path and a place in it."""

import os
import shutil


def remove(path):
    """Whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path, place, change):
    """In place, as a disk does it: a process that has the file mapped sees it too."""
    place %= path.stat().st_size
    with path.open("r+b") as file:
        content = file.read()
        file.seek(place)
        file.write(change(content[place:]))


def _folder(path, place):
    remove(path)
    (path / "in the way").mkdir(parents=True)


def _link_to_nothing(path, place):
    remove(path)
    path.symlink_to("nothing")


def _pipe(path, place):
    remove(path)
    os.mkfifo(path)


DAMAGES = {
    "empty": lambda path, place: os.truncate(path, 0),
    "garbage": lambda path, place: path.write_bytes(bytes((31 * place + i) % 251 for i in range(1000))),
    "cut": lambda path, place: os.truncate(path, place % path.stat().st_size),
    "zeros inside": lambda path, place: _write(path, place, lambda rest: bytes(len(rest[:4096]))),
    "another bit": lambda path, place: _write(path, place, lambda rest: bytes([rest[0] ^ 1 << place % 8])),
    "longer": lambda path, place: path.write_bytes(path.read_bytes() + b"more"),
    "a folder": _folder,
    "a link to nothing": _link_to_nothing,
    "a pipe": _pipe,
    "unreadable": lambda path, place: path.chmod(0),
    "gone": lambda path, place: remove(path),
}  # fmt: skip
