"""Preferences of one browser, which cookies keep: colors and keyboard shortcuts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

THEME_COOKIE, SHORTCUTS_COOKIE = "waypost_theme", "waypost_keys"
COOKIE_SECONDS = 365 * 86_400
THEMES = ("light", "dark")


@dataclass(frozen=True)
class Preferences:
    """The preferences in the cookies of a request."""

    cookies: Mapping[str, str]

    @property
    def theme(self) -> str:
        """`light`, `dark`, or "" for the system's setting."""
        value = self.cookies.get(THEME_COOKIE, "")
        return value if value in THEMES else ""

    @property
    def shortcuts(self) -> Literal["on", "off"]:
        """Shortcuts of single keys; speech input can trigger them, so they can be turned off (WCAG 2.1.4)."""
        return "off" if self.cookies.get(SHORTCUTS_COOKIE) == "off" else "on"
