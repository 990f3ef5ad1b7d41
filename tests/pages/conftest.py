"""The built site, served on this machine and opened in Chromium."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import mimetypes
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

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
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
SECONDS_TO_ANSWER, SECONDS_TO_LOAD = 10, 60
expect.set_options(timeout=1000 * SECONDS_TO_ANSWER)
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

_FULL = pytest.mark.full
WIDTHS = [pytest.param(1400, marks=_FULL), pytest.param(820, marks=_FULL), 390]
"""For what every page is asked at each width; every day a phone's is enough."""

CHAPTERS = sorted(str(path.relative_to(SITE)) for path in SITE.glob("book/**/*.html"))
INTERACTIVE = [page for page in CHAPTERS if "worklog-positions" in (SITE / page).read_text()]
PAGES = {"chapter": CHAPTERS, "interactive": INTERACTIVE}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each page of the kind that it takes: a chapter, or one with widgets."""
    for kind in PAGES.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(kind, PAGES[kind])


class Server(http.server.ThreadingHTTPServer):
    """As many connections as a browser makes at a time may wait; five are the default."""

    request_queue_size = 128


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = SITE

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = self.folder / self.path.partition("?")[0].lstrip("/")
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        body = packed(path)
        SENT.append(len(body))
        self.send_response(200)
        self.send_header(
            "Content-Type", mimetypes.guess_type(path)[0] or "application/octet-stream"
        )
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)


SENT: list[int] = []
"""Bytes of every answer so far."""


@functools.cache
def packed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes())


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Address at which a folder is served as GitHub does, compressed."""
    with Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"folder": folder})) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/"
        served.shutdown()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Address of the site."""
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


class Tabs:
    """Tabs of a browser, which are read in again: a new one costs three times what a page does."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.free: dict[bool, list[Page]] = {True: [], False: []}

    @contextlib.contextmanager
    def opener(self, server: str) -> Iterator[OpenPage]:
        """A function that opens an address of `server` in a tab that is as good as new."""
        taken: list[tuple[bool, Page]] = []

        def open_(address: str, *, width: int = 1280, scheme: str = "light") -> Page:
            touch = width < 600
            page = self.free[touch].pop() if self.free[touch] else self.add(touch)
            taken.append((touch, page))
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.goto(server + address)
            settle(page)
            return page

        yield open_
        for touch, page in taken:
            rest(page, server)
            self.free[touch].append(page)

    def add(self, touch: bool) -> Page:
        page = self.browser.new_context(has_touch=touch).new_page()
        page.set_default_timeout(1000 * SECONDS_TO_ANSWER)
        page.set_default_navigation_timeout(1000 * SECONDS_TO_LOAD)
        page.devtools = page.context.new_cdp_session(page)
        listen(page)
        return page


@pytest.fixture(scope="session")
def tabs(chromium: Browser) -> Tabs:
    return Tabs(chromium)


@pytest.fixture
def open_page(tabs: Tabs, server: str) -> Iterator[OpenPage]:
    """A function that opens an address of the site; `page.problems` lists what went wrong on it."""
    with tabs.opener(server) as open_:
        yield open_


@pytest.fixture(scope="module")
def visit(request: pytest.FixtureRequest, tabs: Tabs, server: str) -> Iterator[Page]:
    """A page that was loaded once for all tests of a file that ask for the same address, width and scheme."""
    address, width, scheme = request.param
    with tabs.opener(server) as open_:
        yield open_(address, width=width, scheme=scheme)


Look = tuple[int, str]


def visits(addresses: list[str], looks: list[Look], full: Sequence[Look] = ()) -> Any:
    """Visit pages in each look, a width and a scheme. Tests of one visit come one after the other, in a file's order."""
    pages = [
        pytest.param((address, *look), id=" ".join(map(str, (address, *look))), marks=marks)
        for some, marks in ((looks, ()), (full, _FULL))
        for look in some
        for address in addresses
    ]
    return pytest.mark.parametrize("visit", pages, indirect=True)


def settle(page: Page) -> None:
    """Wait until all that a page asked for has come; what is near the screen it asks for once it is drawn."""
    page.evaluate(DRAWN)
    end = time.monotonic() + SECONDS_TO_LOAD
    while page.awaited:
        assert time.monotonic() < end, f"does not come: {[one.url for one in page.awaited]}"
        page.evaluate(DRAWN)


def rest(page: Page, server: str) -> None:
    """Leave a page, and with it all that it and its reader have set."""
    page.unroute_all()
    page.context.clear_permissions()
    page.mouse.move(0, 0)
    page.emulate_media(media="null")
    page.goto("about:blank")
    stored = {"origin": server.rstrip("/"), "storageTypes": "local_storage"}
    page.devtools.send("Storage.clearDataForOrigin", stored)
    page.problems.clear()
    page.awaited.clear()


def listen(page: Page) -> None:
    """Keep what a page waits for, and its errors, failed requests and requests to other hosts."""
    page.awaited, page.problems = set(), []

    def ask(request: Request) -> None:
        page.awaited.add(request)
        if not request.url.startswith(("http://127.0.0.1:", "data:")):
            page.problems.append(f"asks another host: {request.url}")

    def fail(request: Request) -> None:
        page.awaited.discard(request)
        if request.failure != "net::ERR_ABORTED":  # what is under way when a page is left
            page.problems.append(f"failed: {request.url}: {request.failure}")

    page.on("request", ask)
    page.on("requestfinished", lambda request: page.awaited.discard(request))
    page.on("requestfailed", fail)
    page.on("pageerror", lambda error: page.problems.append(f"script error: {error}"))
    page.on(
        "response",
        lambda r: page.problems.append(f"{r.status}: {r.url}") if r.status >= 400 else None,
    )
    page.on(
        "console",
        lambda m: page.problems.append(f"console: {m.text}") if m.type == "error" else None,
    )
