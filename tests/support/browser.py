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
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright
from starlette.types import ASGIApp

from tests.support.fake_web import STAY, everybody
from tests.support.server import free_port
from tests.support.system_packages import library, needed
from tests.support.visits import CHROME

HOST = "go.localhost"
_OTHERS = re.compile(rf"^https?://(?!{re.escape(HOST)}[:/])")
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_REFUSED = re.compile(r"Failed to load resource: the server responded with a status of [45]\d\d ")
"""What a browser says of a page that answers with such a status, as some of ours should."""


def chromium() -> str:
    """Where Chromium is. Skips as `programs.program`.

    The one without a window draws the same pages with two thirds of the work.
    """
    return needed(_found, "chromium-headless-shell", "there is no Chromium here, so no page was seen in a browser")


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that finds the service, and in place of everything else in the world a server that plays it."""
    found = chromium()
    if sys.platform == "linux":
        library("atomic", "libatomic1")  # which the Node that Playwright brings along does not bring along
    with everybody() as others, sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP * {others}, EXCLUDE {HOST}"
        options = ["--no-sandbox", "--ignore-certificate-errors", *_QUIET, names]
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
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def notice(self, request: Request) -> None:
        """Remember what others are asked."""
        if _OTHERS.match(request.url):
            self.asked.append(request.url)


@contextmanager
def window(
    opened: Browser, *, scripts: bool = True, stays: bool = False, context: BrowserContext | None = None
) -> Iterator[Window]:
    """A window of a person's browser; fails when the page complained of an error or a broken policy.

    With `stays` others answer that there is nothing new to see, so that a page that goes on by itself stays.
    """
    own = context or opened.new_context(user_agent=CHROME, java_script_enabled=scripts)
    own.set_extra_http_headers({STAY: "yes"} if stays else {})
    seen = Window(own.new_page())
    own.on("request", seen.notice)
    seen.page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    yield seen
    own.remove_listener("request", seen.notice)
    seen.page.close()
    if context is None:
        own.close()
    assert [said for said in seen.complaints if not _REFUSED.match(said)] == []
