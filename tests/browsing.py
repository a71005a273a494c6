"""A real browser in front of the service, with everything else in the world played by stand-ins."""

import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright
from starlette.types import ASGIApp

from tests.filing import PNG
from tests.programs import library, needed
from tests.serving import free_port
from tests.visiting import CHROME

HOST = "go.localhost"
_OTHERS = re.compile(rf"^https?://(?!{re.escape(HOST)}[:/])")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_SCRIPT = "window.UET = function () { this.push = function () {}; };"  # what one of them cannot start without
_REFUSED = re.compile(r"Failed to load resource: the server responded with a status of [45]\d\d ")
"""What a browser says of a page that answers with such a status, as some of ours should."""
_HTML = "<!doctype html><html lang=en><title>There</title><h1>The target</h1>"


def chromium() -> str:
    """Where Chromium is. Skips as `programs.program`."""
    return needed(_found, "chromium", "there is no Chromium here, so no page was seen in a browser")


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that finds nothing on its own: whatever is not the service has to be played."""
    found = chromium()
    if sys.platform == "linux":
        library("atomic", "libatomic1")  # which the Node that Playwright brings along does not bring along
    with sync_playwright() as playwright:
        options = ["--no-sandbox", *_QUIET, f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOST}"]
        opened = playwright.chromium.launch(executable_path=found, args=options)
        yield opened
        opened.close()


@contextmanager
def served(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The app behind a real port; its address."""
    port = port or free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{HOST}:{port}"
    server.should_exit = True
    thread.join()


@dataclass
class Window:
    """A fresh browser window: its page, what it asked of others, and what it complained of."""

    page: Page
    stays: bool = False
    """Whether others answer that there is nothing new to see, so that a page that goes on by itself stays."""
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def play(self, route: Route) -> None:
        """Stand in for every other host."""
        self.asked.append(route.request.url)
        if route.request.resource_type == "image":
            route.fulfill(content_type="image/png", body=PNG)
        elif route.request.resource_type == "document" and self.stays and not route.request.frame.parent_frame:
            route.fulfill(status=204, body="")
        elif route.request.resource_type == "document":
            route.fulfill(content_type="text/html", body=_HTML)
        elif route.request.resource_type == "script":
            route.fulfill(
                content_type="text/javascript", body="window.UET = function () { this.push = function () {} };"
            )
        else:
            route.fulfill(status=204, body="")


@contextmanager
def window(
    opened: Browser,
    *,
    scripts: bool = True,
    stays: bool = False,
    alone: bool = False,
    context: BrowserContext | None = None,
) -> Iterator[Window]:
    """A window of a person's browser; fails when the page complained of an error or a broken policy.

    With `alone` nobody plays the others: to ask one of them is such an error. The browser is quicker then, as it
    keeps the files of pages only when none of its requests may be answered by somebody else.
    """
    own = context or opened.new_context(user_agent=CHROME, java_script_enabled=scripts)
    seen = Window(own.new_page(), stays)
    own.unroute_all()
    if not alone:
        own.route(_OTHERS, seen.play)
    seen.page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    yield seen
    seen.page.close()
    if context is None:
        own.close()
    assert [said for said in seen.complaints if not _REFUSED.match(said)] == []
