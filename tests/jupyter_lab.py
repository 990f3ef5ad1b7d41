"""JupyterLab, started by the command of `make lab`."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from address import ROOT

TOKEN = "for-a-test"
SECONDS_TO_START = 120


def command() -> list[str]:
    """The target's command, with the Jupyter of this environment."""
    shown = subprocess.check_output(["make", "-n", "lab"], cwd=ROOT, text=True)
    (line,) = [line for line in shown.splitlines() if "jupyter lab" in line]
    return [str(Path(sys.executable).with_name("jupyter")), *shlex.split(line)[1:]]


@contextlib.contextmanager
def started(asked: list[str]) -> Iterator[str]:
    """The address that a browser is sent to once `asked` runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        browser, page = folder / "browser", folder / "page"
        browser.write_text(f'#!/bin/sh\ncp "${{1#file://}}" {page}.half && mv {page}.half {page}\n')
        browser.chmod(0o755)
        more = ["--allow-root", "--ServerApp.port=0", f"--ServerApp.browser={browser} %s"]
        more.append(f"--IdentityProvider.token={TOKEN}")
        with subprocess.Popen([*asked, *more], cwd=ROOT, stderr=subprocess.DEVNULL) as server:
            try:
                yield _wait_for(page, server).partition("url=")[2].partition('"')[0]
            finally:
                server.terminate()


def _wait_for(page: Path, server: subprocess.Popen) -> str:
    end = time.monotonic() + SECONDS_TO_START
    while not page.exists():
        assert server.poll() is None, "the command is refused"
        assert time.monotonic() < end, "no browser was opened"
        time.sleep(0.1)
    return page.read_text()
