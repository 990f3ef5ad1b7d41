"""Ways in which a file comes to harm, each a function of its path and a place in it."""

import os
import shutil


def remove(path):
    """Whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _empty(path, place):
    os.truncate(path, 0)


def _garbage(path, place):
    path.write_bytes(bytes((31 * place + i) % 251 for i in range(1000)))


def _cut(path, place):
    os.truncate(path, place % path.stat().st_size)


def _zeros_inside(path, place):
    """In place, as a disk does it: a process that has the file mapped sees it too."""
    place %= path.stat().st_size
    with path.open("r+b") as file:
        content = file.read()
        file.seek(place)
        file.write(bytes(len(content[place : place + 4096])))


def _other_bit(path, place):
    place %= path.stat().st_size
    with path.open("r+b") as file:
        content = file.read()
        file.seek(place)
        file.write(bytes([content[place] ^ 1 << place % 8]))


def _longer(path, place):
    with path.open("ab") as file:
        file.write(b"more")


def _folder(path, place):
    remove(path)
    (path / "in the way").mkdir(parents=True)


def _link_to_nothing(path, place):
    remove(path)
    path.symlink_to("nothing")


def _pipe(path, place):
    remove(path)
    os.mkfifo(path)


def _unreadable(path, place):
    path.chmod(0)


DAMAGES = {
    "empty": _empty,
    "garbage": _garbage,
    "cut": _cut,
    "zeros inside": _zeros_inside,
    "another bit": _other_bit,
    "longer": _longer,
    "a folder": _folder,
    "a link to nothing": _link_to_nothing,
    "a pipe": _pipe,
    "unreadable": _unreadable,
    "gone": lambda path, place: remove(path),
}
