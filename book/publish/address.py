"""The repository's address, which stands in _config.yml, and its copies in links and notebooks.

`python book/publish/address.py https://github.com/you/fork` rewrites every copy.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_URL = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")

_IN_COLAB = re.compile(r"(colab\.research\.google\.com/github/[\w.-]+/[\w.-]+/blob/)[^/\s]+")

BOOTSTRAP = """\
import sys

if "google.colab" in sys.modules:
    %pip install -q "git+{url}@{tag}"
    import torch

    if not torch.cuda.is_available():
        print("No GPU here: choose Runtime, Change runtime type, T4 GPU.")
        print("Until then the kernels run on the emulator, and times are recorded ones.")"""


def release(root: Path = ROOT) -> str:
    """The tag of the version that this is, or is on the way to: "v0.2.0"."""
    text = (root / "softmax_lib" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"', text, re.MULTILINE)
    return f"v{version}"


def open_release(text: str) -> str:
    """`text` with its links to Colab opening the notebooks of the release."""
    return _IN_COLAB.sub(rf"\g<1>{release()}", text)


@dataclass(frozen=True)
class Address:
    """A repository on GitHub."""

    owner: str
    name: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """Raises `ValueError` when `url` is no https://github.com/OWNER/NAME."""
        match = _URL.fullmatch(url)
        if match is None:
            raise ValueError(f"{url!r} is not of the form https://github.com/OWNER/NAME.")
        return cls(*match.groups())

    @classmethod
    def read(cls, root: Path = ROOT) -> Address:
        """The address in `_config.yml`."""
        line = re.search(r"^  url: (\S+)", (root / "_config.yml").read_text(), re.MULTILINE)
        if line is None:
            raise ValueError("_config.yml has no line `  url:` under `repository:`.")
        return cls.parse(line[1])

    @property
    def url(self) -> str:
        return f"https://github.com/{self.owner}/{self.name}"

    @property
    def site(self) -> str:
        """Where GitHub Pages serves the book."""
        return f"https://{self.owner}.github.io/{self.name}/"

    def page(self, name: str) -> str:
        """A page of the site, such as "04_online"."""
        return f"{self.site}book/{name}.html"

    def notebook(self, name: str) -> str:
        """Colab on a notebook, such as "04_online", as the last release has it."""
        path = f"{self.owner}/{self.name}/blob/{release()}/book/{name}.ipynb"
        return f"https://colab.research.google.com/github/{path}"

    @property
    def bootstrap(self) -> str:
        """The first cell of every chapter: in Colab it installs the release, and moves nothing else."""
        return BOOTSTRAP.format(url=self.url, tag=release())

    def spellings(self) -> list[str]:
        """The ways in which files name the repository: links to GitHub or Colab, and the site."""
        path = f"{self.owner}/{self.name}"
        return [f"github.com/{path}", f"github/{path}", f"{self.owner}.github.io/{self.name}"]


def text_files(root: Path = ROOT) -> list[Path]:
    """Every file that a fork may have to change."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=root, capture_output=True, check=True, text=True
    )
    kinds = {".cfg", ".css", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".toml", ".yml"}
    return [root / name for name in listed.stdout.splitlines() if Path(name).suffix in kinds]


def rewrite(new: Address, root: Path = ROOT) -> list[Path]:
    """Name `new` wherever files name the address in `_config.yml`; returns the files that changed."""
    pairs = list(zip(Address.read(root).spellings(), new.spellings(), strict=True))
    changed = []
    for path in text_files(root):
        text = old_text = path.read_text(encoding="utf-8")
        for old, spelling in pairs:
            text = re.sub(re.escape(old) + r"(?![\w-])", spelling, text)
        if text != old_text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def main() -> None:
    try:
        new = Address.parse(" ".join(sys.argv[1:]))
    except ValueError as error:
        sys.exit(f"{error} Usage: make fork URL=https://github.com/OWNER/NAME")
    for path in rewrite(new):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
