"""The built site, served on this machine and opened in Chromium."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS_TO_ANSWER = 10


_FULL = pytest.mark.full
WIDTHS = [pytest.param(1400, marks=_FULL), pytest.param(820, marks=_FULL), 390]
"""For what every page is asked at each width; every day a phone's is enough."""

CHAPTERS = sorted(str(path.relative_to(SITE)) for path in SITE.glob("book/**/*.html"))
INTERACTIVE = [page for page in CHAPTERS if "worklog-positions" in (SITE / page).read_text()]
PAGES = {
    "address": [*CHAPTERS, "search.html"],
    "chapter": CHAPTERS,
    "interactive": INTERACTIVE,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each page of the kind that it takes: any, a chapter, or one with widgets."""
    for kind in PAGES.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(kind, PAGES[kind])


class Server(http.server.ThreadingHTTPServer):
    """As many connections as a browser makes at a time may wait; five are the default."""

    request_queue_size = 128


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Address at which a folder is served."""
    handler = functools.partial(_Handler, directory=folder)
    with Server(("127.0.0.1", 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/"
        served.shutdown()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Address at which the site is served."""
    assert CHAPTERS, "the site is not built: run `make book`"
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "no chromium on the PATH: install Debian's package chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser, server: str) -> Iterator[OpenPage]:
    """A function that opens an address of the site; `page.problems` lists what went wrong on it."""
    with contextlib.ExitStack() as stack:

        def open_(address: str, *, width: int = 1280, scheme: str = "light") -> Page:
            context = chromium.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=width < 600
            )
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(1000 * SECONDS_TO_ANSWER)
            page.problems = listen(page, server)
            page.goto(server + address, wait_until="networkidle")
            return page

        yield open_


def listen(page: Page, server: str) -> list[str]:
    """A list that fills with the page's errors and failed requests, and requests to other hosts."""
    problems: list[str] = []

    def leave(route: Route) -> None:
        address = route.request.url
        if address.startswith((server, "data:")):
            route.continue_()
        else:
            problems.append(f"asks another host: {address}")
            route.abort()

    page.route("**/*", leave)
    page.on("pageerror", lambda error: problems.append(f"script error: {error}"))
    page.on("requestfailed", lambda request: problems.append(f"failed: {request.url}"))
    page.on(
        "response", lambda r: problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None
    )
    page.on(
        "console", lambda m: problems.append(f"console: {m.text}") if m.type == "error" else None
    )
    return problems
