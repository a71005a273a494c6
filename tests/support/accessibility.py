"""What axe-core finds on a page. It is in `web/`, where the front end's build puts it beside what it builds from."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

_AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

Fault = tuple[str, str, list[str]]
"""(rule, how bad, where)"""
_SETTLE = "document.getAnimations().filter(one => one instanceof CSSTransition).forEach(one => one.finish())"
# The whole of what it found out, with all that is right, would take longer to bring here than to find.
_RUN = """rules => axe.run({resultTypes: ["violations"], ...rules}).then(found => found.violations.map(fault =>
  [fault.id, fault.impact, fault.nodes.slice(0, 3).map(node => node.html.slice(0, 150))]))"""
_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def faults(page: Page, rules: dict[str, Any] | None = None) -> list[Fault]:
    """Everything that axe-core has against a page, by all its rules or by some."""
    if page.evaluate("!window.axe"):
        page.evaluate(_axe())  # by the debugger, not as a script of the page: its policy would not have it
    found = page.evaluate(_RUN, rules or {})
    return [(rule, impact, where) for rule, impact, where in found]


def faults_by_night(page: Page) -> list[Fault]:
    """What it has against the dark colours of a page that was seen in its light ones: nothing else changes."""
    show(page, "dark")
    found = faults(page, _COLOURS)
    show(page, "light")
    return found


def show(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Change a page's colours, at once."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(_SETTLE)


@cache
def _axe() -> str:
    return _AXE.read_text()
