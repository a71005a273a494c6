"""One visit of each page for all checks of a page: the next property of every page is one more check, not a crawl."""

from collections.abc import Callable, Mapping
from typing import Any

from playwright.sync_api import Page

Steps = Mapping[str, Callable[[], object]]
"""How each page is opened, by the name of the page."""
Checks = Mapping[str, Callable[[Page], Any]]
"""The checks of each page, by the name of the property. A check returns the faults, or a value that is false."""


def crawl(page: Page, steps: Steps, checks: Checks) -> dict[str, Any]:
    """Open each page once and run all checks in their order. Return the faults by page and property."""
    faults: dict[str, Any] = {}
    for name, step in steps.items():
        step()
        results = {f"{name}: {prop}": check(page) for prop, check in checks.items()}
        faults |= {place: result for place, result in results.items() if result}
    return faults
