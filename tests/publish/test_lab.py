"""`make lab` opens the introduction, in a list that has the pages and nothing else."""

import json
import shlex
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from address import ROOT
from prose import pages

pytestmark = pytest.mark.site

TOKEN = "for-this-test"
SECONDS_TO_START = 60


def command() -> list[str]:
    """The target's command, with the Jupyter of this environment."""
    shown = subprocess.check_output(["make", "-n", "lab"], cwd=ROOT, text=True)
    (line,) = [line for line in shown.splitlines() if "jupyter lab" in line]
    return [str(Path(sys.executable).with_name("jupyter")), *shlex.split(line)[1:]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The address that a browser is sent to once the server runs."""
    folder = tmp_path_factory.mktemp("lab")
    browser = folder / "browser"
    browser.write_text(
        f'#!/bin/sh\ncp "${{1#file://}}" {folder}/half && mv {folder}/half {folder}/page\n'
    )
    browser.chmod(0o755)
    more = ["--allow-root", "--ServerApp.port=0", f"--ServerApp.browser={browser} %s"]
    more.append(f"--IdentityProvider.token={TOKEN}")
    with subprocess.Popen([*command(), *more], cwd=ROOT, stderr=subprocess.DEVNULL) as server:
        try:
            yield wait_for(folder / "page", server).partition("url=")[2].partition('"')[0]
        finally:
            server.terminate()


def wait_for(page: Path, server: subprocess.Popen) -> str:
    end = time.monotonic() + SECONDS_TO_START
    while not page.exists():
        assert server.poll() is None, "the command is refused"
        assert time.monotonic() < end, "no browser was opened"
        time.sleep(0.1)
    return page.read_text()


def test_the_introduction_is_opened(opened):
    assert opened.endswith(f"/lab/tree/intro.ipynb?token={TOKEN}")


def test_pages_are_listed_and_nothing_else(opened):
    address = opened.partition("/lab/")[0]
    with urllib.request.urlopen(f"{address}/api/contents?token={TOKEN}") as answer:
        listed = {entry["name"] for entry in json.load(answer)["content"]}
    assert listed == {path.name for path in pages()}
