"""Colab: the versions of its packages with which the chapters are tried, and where the introduction tells them."""

from __future__ import annotations

import re

from address import ROOT

LISTED = "2026-08-19"
"""The date of the list, `pip-freeze.txt` in github.com/googlecolab/backend-info."""
PACKAGES = {
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "jinja2": "3.1.6",
    "markdown-it-py": "4.2.0",
    "matplotlib": "3.10.0",
    "numpy": "2.1.3",
    "platformdirs": "4.11.3",
    "rich": "13.9.4",
    "traitlets": "5.7.1",
}
BELOW = {
    "backcall": "0.2.0",
    "decorator": "4.4.2",
    "ipython_genutils": "0.2.0",
    "pickleshare": "0.7.5",
}
"""What these of old need, and newer ones do not."""


def told() -> str:
    """What the introduction says of it, as Markdown."""
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (torch,) = re.findall(r"^torch==(\S+)$", constraints, re.MULTILINE)
    versions = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
    return (
        "In Colab the first cell of each notebook installs the package. Nobody has tried that in Colab itself; a "
        f"chapter was run in an environment with the packages that [Colab's list]"
        f"(https://github.com/googlecolab/backend-info) had on {LISTED}, {versions}, beside torch {torch}, "
        "and the installation changed none of them."
    )
