"""Sphinx extension: where the site finds its scripts, and what a shared link to it shows.

After `make scripts` the site serves its own copies of MathJax, RequireJS and the widget
manager. Without npm, pages load the same versions from a CDN. Versions stand in package.json.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from address import Address
from sphinx.application import Sphinx
from sphinx.config import Config

BOOK = Path(__file__).parents[1]
INSTALLED = BOOK / "node_modules"
VENDOR = "_static/vendor"
MATHJAX, REQUIRE, WIDGETS = "mathjax", "requirejs", "@jupyter-widgets/html-manager"
COPIED = {
    MATHJAX: ["es5/tex-mml-chtml.js", "es5/input", "es5/output/chtml", "es5/a11y", "es5/sre"],
    REQUIRE: ["require.js"],
    WIDGETS: ["dist/embed-amd.js", "dist/*.woff2"],
}


def is_installed() -> bool:
    """Whether npm has installed every package that pages load scripts from."""
    return all((INSTALLED / package).is_dir() for package in COPIED)


def choose_scripts(app: Sphinx, config: Config) -> None:
    """Point Sphinx and MyST-NB at the site's own copies, or at the CDN."""
    versions = json.loads((BOOK / "package.json").read_text())["dependencies"]

    def base(package: str) -> str:
        if is_installed():
            return f"vendor/{package}"
        return f"https://cdn.jsdelivr.net/npm/{package}@{versions[package]}"

    config.mathjax_path = f"{base(MATHJAX)}/es5/tex-mml-chtml.js"
    fonts = {} if is_installed() else {"data-folder": f"{base(WIDGETS)}/dist/"}
    config.nb_ipywidgets_js = {
        f"{base(REQUIRE)}/require.js": {},
        "widget-fonts.js": fonts,
        f"{base(WIDGETS)}/dist/embed-amd.js": {"data-jupyter-widgets-cdn-only": ""},
    }


def copy_scripts(app: Sphinx) -> None:
    """Copy what npm installed into the site, once."""
    if not is_installed():
        return
    for package, patterns in COPIED.items():
        source, target = INSTALLED / package, Path(app.outdir, VENDOR, package)
        for path in (found for pattern in patterns for found in source.glob(pattern)):
            _copy(path, target / path.relative_to(source))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif not target.exists() or target.stat().st_size != source.stat().st_size:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def notice_static_files(app: Sphinx, config: Config) -> None:
    """Make a change of a style sheet or script count as a change of the pages that use it."""
    files = sorted(path for path in (BOOK / "static").iterdir() if path.is_file())
    config.static_digest = hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()


def describe_links(app: Sphinx, config: Config) -> None:
    """Give every page its canonical address, and shared links a picture."""
    address = Address.read()
    config.html_baseurl = config.ogp_site_url = address.site
    config.ogp_image = f"{address.site}_static/card.png"
    config.ogp_image_alt = "A ladder of softmax kernels, each faster than the one before"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.add_config_value("static_digest", "", "html")
    app.connect("config-inited", notice_static_files)
    app.connect("config-inited", choose_scripts)
    app.connect("config-inited", describe_links)
    app.connect("builder-inited", copy_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
