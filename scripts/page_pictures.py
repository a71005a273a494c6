"""Pictures of every page at two widths, light and dark: `python -m scripts.page_pictures FOLDER [PATTERN]`.

Takes the pages of `waypost demo`, for a visual check: FOLDER/WIDTH-SCHEME/PAGE.png, and sheets of many pages
side by side. PATTERN is a regular expression of the paths. Requires Chromium.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright

from scripts.demo_site import (
    PUBLIC,
    SIGNED_OUT,
    WITHOUT_TOKEN,
    DemoSite,
    add_other_items,
    dashboard_paths,
    demo_site,
    sign_in,
)
from tests.support.accessibility import show
from tests.support.browser import chromium
from tests.support.visits import CHROME

_WIDTHS = {390: 844, 1280: 800}
_SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
_MAX_HEIGHT = 3000
_COLUMNS = {390: 8, 1280: 4}
_SHEET_WIDTH = 2000
_ROWS = 3


def main() -> None:
    """Start the demo, take the pictures, and stop it."""
    folder, pattern = Path(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    with demo_site() as site, tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        add_other_items(site, Path(temporary))
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        faults = _take_all(browser, site, folder, pattern)
        browser.close()
    for width in _WIDTHS:
        for scheme in _SCHEMES:
            _draw_sheets(folder / f"{width}-{scheme}", width)
    sys.exit("\n".join(faults) or 0)


def _take_all(browser: Browser, site: DemoSite, folder: Path, pattern: re.Pattern[str]) -> list[str]:
    """Take all pictures; return the errors of pages."""
    faults: list[str] = []
    own, visitor = (browser.new_page(user_agent=CHROME, timezone_id="Europe/Lisbon") for _ in range(2))
    sign_in(own, site)
    for page, paths in ((own, dashboard_paths()), (visitor, (*SIGNED_OUT, *PUBLIC))):
        page.on("pageerror", lambda error: faults.append(str(error)))
        for path in filter(pattern.search, paths):
            response = page.goto(site.base + path, wait_until="networkidle")
            if response is None or response.status >= (500 if page is visitor or path in WITHOUT_TOKEN else 400):
                faults.append(f"{path}: status {response and response.status}")
            page.wait_for_timeout(300)  # charts and previews are drawn
            _take(page, folder, path)
    return faults


def _take(page: Page, folder: Path, path: str) -> None:
    name = re.sub(r"\W+", "-", path).strip("-") or "root"
    for width, height in _WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in _SCHEMES:
            show(page, scheme)
            target = folder / f"{width}-{scheme}" / f"{name}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            page.wait_for_timeout(100)
            full = int(page.evaluate("document.documentElement.scrollHeight"))
            # In a window of this height, bars at the bottom of the window are below the page.
            page.set_viewport_size({"width": width, "height": max(height, min(_MAX_HEIGHT, full))})
            page.screenshot(path=target)


def _draw_sheets(folder: Path, width: int) -> None:
    pictures = sorted(path for path in folder.glob("*.png") if not path.name.startswith("sheet-"))
    per_sheet = _COLUMNS[width] * _ROWS
    for first in range(0, len(pictures), per_sheet):
        _sheet(pictures[first : first + per_sheet], _COLUMNS[width]).save(
            folder / f"sheet-{first // per_sheet + 1}.png"
        )


def _sheet(pictures: Sequence[Path], columns: int) -> Image.Image:
    """Return the tops of pictures side by side, with their names."""
    width = _SHEET_WIDTH // columns
    height = width * 2 if columns > min(_COLUMNS.values()) else width
    sheet = Image.new("RGB", (_SHEET_WIDTH, (height + 20) * -(-len(pictures) // columns)), "#888888")
    for number, path in enumerate(pictures):
        left, top = width * (number % columns), (height + 20) * (number // columns)
        picture = Image.open(path).convert("RGB")
        picture = picture.resize((width - 6, picture.height * (width - 6) // picture.width))
        sheet.paste(picture.crop((0, 0, picture.width, min(picture.height, height))), (left, top + 18))
        ImageDraw.Draw(sheet).text((left + 2, top + 2), path.stem, fill="white")
    return sheet


if __name__ == "__main__":
    main()
