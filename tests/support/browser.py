"""A real browser for tests; requests to other hosts go to a local fake of the web."""

import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright
from starlette.types import ASGIApp

from tests.support.fake_web import STAY, running_websites
from tests.support.server import free_port
from tests.support.system_packages import library, needed
from tests.support.threads import join
from tests.support.visits import CHROME

HOST = "go.localhost"
BRANDED = "brand.localhost"
_OTHERS = re.compile(rf"^https?://(?!({re.escape(HOST)}|{re.escape(BRANDED)})[:/])")
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_DISABLED = (
    "RenderDocument",  # with it, a page that is closed while a navigation commits is never closed
    *("AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose"),
    *("HttpsUpgrades", "OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning"),
)
"""Features of Chromium that are off. All but the first are off in Playwright, too, whose list this one replaces."""
_EXPECTED = re.compile(
    r"Failed to load resource: the server responded with a status of [45]\d\d |htmx: htmx:error: Failed to fetch "
)
"""The console messages for an error status, which some tests expect, and for a request that the next page ends.

A request that fails for another reason has another message, too.
"""


def chromium() -> str:
    """Return the path of Chromium; the headless shell needs a third less CPU time. Skips the test without one."""
    return needed(_found, "chromium-headless-shell", "Chromium is not installed, so pages were not tested in a browser")


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser that resolves all host names except the app's to a local fake of the web."""
    path = chromium()
    if sys.platform == "linux":
        library("atomic", "libatomic1")  # needed by Playwright's Node, which does not bundle it
    with running_websites() as others, sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP * {others}, EXCLUDE *.localhost"
        features = f"--disable-features={','.join(_DISABLED)}"
        options = ["--no-sandbox", "--ignore-certificate-errors", *_QUIET, features, names]
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


@contextmanager
def served(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Serve the app on a real port. Yield its URL."""
    port = port or free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{HOST}:{port}"
    server.should_exit = True
    join(thread)


@dataclass
class Window:
    """A browser window: its page, the URLs requested from other hosts, and the console errors."""

    page: Page
    foreign_urls: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)

    def record_console(self, message: ConsoleMessage) -> None:
        """Record an error of the console."""
        if message.type == "error":
            self.console_errors.append(message.text)

    def record_request(self, request: Request) -> None:
        """Record a request to another host."""
        if _OTHERS.match(request.url):
            self.foreign_urls.append(request.url)


@contextmanager
def window(
    opened: Browser, *, scripts: bool = True, stays: bool = False, context: BrowserContext | None = None
) -> Iterator[Window]:
    """Open a window. Fails if the console has errors, such as violations of the page's policy.

    With `stays`, other hosts respond 204, so that a page that redirects by itself stays open.
    """
    own = context or opened.new_context(user_agent=CHROME, java_script_enabled=scripts, service_workers="block")
    own.set_extra_http_headers({STAY: "yes"} if stays else {})
    seen = Window(own.new_page())
    own.on("request", seen.record_request)
    seen.page.on(
        "console", lambda message: seen.console_errors.append(message.text) if message.type == "error" else None
    )
    seen.page.on("pageerror", lambda error: seen.console_errors.append(str(error)))
    yield seen
    # Before the page is closed, which ends its requests with an error.
    errors = [error for error in seen.console_errors if not _EXPECTED.match(error)]
    own.remove_listener("request", seen.record_request)
    seen.page.close()
    if context is None:
        own.close()
    assert errors == [], errors
