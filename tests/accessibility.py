"""What axe-core finds on a page. It is in `web/`, where the front end's build puts it beside what it builds from."""

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

_AXE = Path(__file__).resolve().parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"


def faults(page: Page) -> list[tuple[str, str, list[str]]]:
    """(rule, how bad, where) of everything that axe-core has against a page."""
    page.evaluate(_axe())  # by the debugger, not as a script of the page: its policy would not have it
    found = page.evaluate("axe.run()")
    return [
        (fault["id"], fault["impact"], [node["html"][:150] for node in fault["nodes"][:3]])
        for fault in found["violations"]
    ]


@cache
def _axe() -> str:
    return _AXE.read_text()
