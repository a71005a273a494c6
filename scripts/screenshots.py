"""Draws the pictures of the README and of docs/importing.md from `waypost demo`: `python -m scripts.screenshots`.

Requires Chromium.
"""

from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from scripts.demo_site import demo_site, sign_in
from tests.support.browser import chromium

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_BASE = "http://jnpr.example"
_PICTURES = (
    ("pictures/overview", "/dashboard", "light"),
    ("pictures/statistics", "/dashboard/links/15/stats", "dark"),
    ("pictures/qr-code", "/dashboard/qr/2", "light"),
    ("import-plan", "/dashboard/import", "light"),
)
_LINKS = """Link,Destination URL,Title,Tags,Clicks,Created at,Password
http://jnpr.example/autumn,https://example.com/autumn,Autumn sale,"mail,print",412,2023-09-01,
http://jnpr.example/catalog,https://example.com/catalog.pdf,Catalog,print,97,2023-10-12,
http://jnpr.example/staff,https://example.com/staff,Staff,,31,2023-11-03,$2b$12$kept-secret
http://bit.ly/3abCdE,https://example.com/press,Press,press,58,2024-01-20,
http://jnpr.example/old,ftp://files.example.com/old,Old files,,4,2024-02-02,
"""
"""Rows of several fates: some are created, one loses its password, others cannot be imported."""


def main() -> None:
    """Start the demo, photograph its pages, and stop it."""
    with demo_site(_BASE) as site, sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP jnpr.example:80 127.0.0.1:{site.port}"
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", names])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, timezone_id="Europe/Lisbon")
        sign_in(page, site)
        _plan_import(page)
        for picture in _PICTURES:
            _photograph(page, *picture)
        browser.close()


def _plan_import(page: Page) -> None:
    page.goto(f"{_BASE}/dashboard/import/new")
    file = {"name": "links.csv", "mimeType": "text/csv", "buffer": _LINKS.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)  # type: ignore[arg-type]  # Playwright's own shape
    page.get_by_role("button", name="Preview the import").click()
    page.get_by_role("heading", name="Nothing is imported yet").wait_for()


def _photograph(page: Page, name: str, path: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
    page.goto(_BASE + path, wait_until="networkidle")
    page.wait_for_timeout(1000)  # charts and previews are drawn
    target = _DOCS / f"{name}.png"
    page.screenshot(path=target)
    picture = Image.open(target).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
