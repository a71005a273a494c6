"""Texts of the dashboard: `gettext` (in templates `_`) and `ngettext`, through which every text passes."""

from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape


def gettext(message: str, **values: object) -> str:
    """Return the text in the viewer's language; values are escaped."""
    if not values:
        return message
    # The message is escaped too, so that the whole may count as markup.
    return Markup(escape(message)) % {name: escape(value) for name, value in values.items()}  # noqa: S704


def ngettext(singular: str, plural: str, count: int) -> str:
    """Return the text for that number of things, not escaped; `%(count)s` in it is the formatted number."""
    return (singular if count == 1 else plural) % {"count": format_number(count)}


def format_number(value: int) -> str:
    """Format with thin spaces between thousands, which is readable in every language."""
    return f"{value:,}".replace(",", "\u202f")


@lru_cache(64)
def find_zone(name: str) -> ZoneInfo:
    """Return the viewer's time zone; UTC for an unknown name."""
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, LookupError):
        return ZoneInfo("UTC")
