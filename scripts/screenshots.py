"""Draws the pictures of the README from `waypost demo`: `python -m scripts.screenshots`. Requires Chromium."""

from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from scripts.demo_site import demo_site, sign_in
from tests.support.browser import chromium

_TARGET = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_BASE = "http://jnpr.example"
_PICTURES = (
    ("overview", "/dashboard", "light"),
    ("statistics", "/dashboard/links/15/stats", "dark"),
    ("qr-code", "/dashboard/qr/2", "light"),
)


def main() -> None:
    """Start the demo, photograph its pages, and stop it."""
    _TARGET.mkdir(exist_ok=True)
    with demo_site(_BASE) as site, sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP jnpr.example:80 127.0.0.1:{site.port}"
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", names])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Lisbon")
        sign_in(page, site)
        for picture in _PICTURES:
            _photograph(page, *picture)
        browser.close()


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
