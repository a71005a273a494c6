"""Menus of rows, which have the actions that are no icons."""

from playwright.sync_api import Locator


def in_row_menu(row: Locator, title: str) -> Locator:
    """Open the menu of a row, and return its action with this title."""
    row.get_by_role("button", name="Actions for").click()
    return row.get_by_title(title, exact=True)
