"""Layout shift while a page loads (CLS): its fonts and pictures are late."""

import asyncio
import time
from io import BytesIO

from PIL import Image
from playwright.sync_api import Page, Request, Response, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MAX_SHIFT = 0.05
_LATE_SECONDS = 0.3
_MAX_FRAMES = 1000
_PAINTED = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
_RECORD = """
  window.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""


def is_frame(path: str) -> bool:
    """Return whether a page is a frame of another page, which forbids the script that records shifts."""
    return path.endswith("/preview")


def record_shifts(page: Page) -> None:
    """Record the layout shift of each page from now on. The fonts of `with_late_fonts` are late."""
    page.add_init_script(_RECORD)


def with_late_fonts(app: ASGIApp) -> ASGIApp:
    """Return the app with late fonts that no browser keeps. A route of the browser would turn off its whole cache."""

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        is_font = scope["type"] == "http" and scope["path"].endswith(".woff2")

        async def send_unkept(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [header for header in message["headers"] if header[0] != b"cache-control"]
                message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
            await send(message)

        if is_font:
            await asyncio.sleep(_LATE_SECONDS)
        await app(scope, receive, send_unkept if is_font else send)

    return late


def show_pictures_late(page: Page) -> None:
    """Deliver pictures of public pages late, with proportions that are not those of their places."""
    page.route(_is_picture, _show_portrait_late)


def load(page: Page, url: str) -> Response | None:
    """Open a page, wait for all of its parts but its stream of events, which does not end, and return its response."""
    running: set[Request] = set()

    def begin(request: Request) -> None:
        if request.resource_type != "eventsource":
            running.add(request)

    def end(request: Request) -> None:
        running.discard(request)

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)
    try:
        response = page.goto(url)
        for _ in range(_MAX_FRAMES):  # "networkidle" would wait for half a second more
            page.evaluate(_PAINTED)
            if not running:
                return response
        raise AssertionError(f"{url} waits for {[request.url for request in running]}")
    finally:
        page.remove_listener("request", begin)
        page.remove_listener("requestfinished", end)
        page.remove_listener("requestfailed", end)


def too_much_shift(page: Page) -> float:
    """Return the layout shift of the page if it is too much, otherwise 0."""
    shift = float(page.evaluate("layoutShift"))
    return shift if shift > _MAX_SHIFT else 0


def _is_picture(url: str) -> bool:
    """Return whether the URL is that of a picture of a public page."""
    return url.endswith((".png", "?preview=1", "format=svg"))


def _show_portrait_late(route: Route) -> None:
    portrait = BytesIO()
    Image.new("RGB", (600, 900), "navy").save(portrait, "PNG")
    time.sleep(_LATE_SECONDS)
    route.fulfill(content_type="image/png", body=portrait.getvalue())
