"""Draws the pictures of the README from `waypost demo`: `python -m scripts.screenshots`. Requires Chromium."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.support.browser import chromium
from tests.support.server import free_port

_TARGET = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_BASE = "http://jnpr.example"
_SECONDS = 60
_PICTURES = (
    ("overview", "/dashboard", "light"),
    ("statistics", "/dashboard/links/15/stats", "dark"),
    ("qr-code", "/dashboard/qr/2", "light"),
)


def main() -> None:
    """Start the demo, photograph its pages, and stop it."""
    _TARGET.mkdir(exist_ok=True)
    with _demo() as (port, password), sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP jnpr.example:80 127.0.0.1:{port}"
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", names])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Lisbon")
        page.goto(f"{_BASE}/dashboard/signin")
        page.get_by_label("Username or e-mail").fill("owner")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{_BASE}/dashboard")
        for picture in _PICTURES:
            _photograph(page, *picture)
        browser.close()


@contextmanager
def _demo() -> Iterator[tuple[int, str]]:
    """Run the demo; yield its port and the password."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("waypost")), "demo", "--port", str(port), "--base-url", _BASE]
    with tempfile.NamedTemporaryFile("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + _SECONDS
            while not (password := re.search(r"^  password  (\S+)$", Path(log.name).read_text(), re.MULTILINE)):
                assert time.monotonic() < deadline, "the demo did not start"
                time.sleep(0.2)
            time.sleep(5)  # all visits are counted
            yield port, password[1]
        finally:
            process.terminate()
            process.wait(_SECONDS)


def _photograph(page: Page, name: str, path: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
    page.goto(_BASE + path, wait_until="networkidle")
    page.wait_for_timeout(1000)  # charts and previews are drawn
    target = _TARGET / f"{name}.png"
    page.screenshot(path=target)
    picture = Image.open(target).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
