"""Accessibility checks of a page by axe-core, which the front end's build installs in `web/node_modules`."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

_AXE = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

Violation = tuple[str, str, list[str]]
"""(rule, impact, elements)"""
_FINISH_TRANSITIONS = """document.getAnimations().filter(animation => animation instanceof CSSTransition)
  .forEach(transition => transition.finish())"""
# Only violations: transferring the complete result takes longer than the checks.
_RUN = """options => axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}, ...options})
  .then(result => result.violations.map(violation =>
  [violation.id, violation.impact, violation.nodes.slice(0, 3).map(node => node.html.slice(0, 150))]))"""
_COLOR_RULES = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def faults(page: Page, rules: dict[str, Any] | None = None) -> list[Violation]:
    """Return the violations on a page, of all rules or of some."""
    if page.evaluate("!window.axe"):
        page.evaluate(_axe())  # evaluated, because the page's policy forbids other scripts
    violations = page.evaluate(_RUN, rules or {})
    return [(rule, impact, elements) for rule, impact, elements in violations]


def faults_by_night(page: Page) -> list[Violation]:
    """Return the contrast violations of the dark theme; other rules do not depend on the theme."""
    show(page, "dark")
    violations = faults(page, _COLOR_RULES)
    show(page, "light")
    return violations


def show(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Change the color scheme without transitions."""
    page.emulate_media(color_scheme=scheme)
    page.evaluate(_FINISH_TRANSITIONS)


@cache
def _axe() -> str:
    return _AXE.read_text()
