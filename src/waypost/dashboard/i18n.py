"""Texts of the dashboard in the viewer's language: `gettext` (in templates `_`), `ngettext`, numbers and dates."""

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import date, datetime, time
from functools import lru_cache
from zoneinfo import ZoneInfo

import structlog
from markupsafe import Markup, escape

from waypost.core import clock, formats
from waypost.core.languages import SOURCE_LANGUAGE, translations
from waypost.http import media_types

_log = structlog.get_logger("dashboard")
_MAX_ZONE, _MAX_LOGGED_ZONES = 64, 20
_logged_zones: set[str] = set()
current_language: ContextVar[str] = ContextVar("language", default=SOURCE_LANGUAGE)
"""The language of the page that is rendered, or of the e-mail that is written."""


def gettext(message: str, **values: object) -> str:
    """Return the text in the viewer's language; values are escaped."""
    text = translations("waypost.dashboard", current_language.get()).gettext(message) if message else ""
    if not values:
        return text
    return _fill(text, values)


def ngettext(singular: str, plural: str, count: int, **values: object) -> str:
    """Return the text for that number of things; `%(count)s` in it is the formatted number.

    Without other values the text is not escaped; with them, it is, and so are they.
    """
    text = translations("waypost.dashboard", current_language.get()).ngettext(singular, plural, count)
    if not values:
        return text % {"count": format_number(count)}
    return _fill(text, {"count": format_number(count), **values})


def _fill(text: str, values: Mapping[str, object]) -> Markup:
    """Return the text with the values, both escaped. The plain `%` of strings is faster than that of `Markup`."""
    return Markup(str(escape(text)) % {name: str(escape(value)) for name, value in values.items()})  # noqa: S704


def pgettext(context: str, message: str) -> str:
    """Return the text of a context in the viewer's language, for example the name of a country."""
    return translations("waypost.dashboard", current_language.get()).pgettext(context, message)


def text_in(language: str, message: str, **values: str) -> str:
    """Return the text in a language, for example that of the recipient of an e-mail; values are not escaped."""
    text = translations("waypost.dashboard", language).gettext(message)
    return text % values if values else text


def gettext_noop(message: str) -> str:
    """Mark a message for `make messages` that is translated later."""
    return message


def format_number(value: int) -> str:
    """Format with the separator of the language between thousands."""
    return formats.number(value, current_language.get())


def format_day(value: date) -> str:
    """Format a day with the abbreviation of its month."""
    return formats.day(value, current_language.get())


def format_near_day(value: date, today: date) -> str:
    """Format a day as `format_day`, without its year if that is the year of today."""
    return formats.day_of_year(value, current_language.get()) if value.year == today.year else format_day(value)


def format_time(value: datetime) -> str:
    """Format a time with its day."""
    return formats.day_and_time(value, current_language.get())


def comma() -> str:
    """Return the comma and the space between the parts of a text."""
    return formats.comma(current_language.get())


def format_hour(hour: int) -> str:
    """Format an hour of a scale."""
    return formats.hour_name(hour, current_language.get())


def format_clock(hour: int) -> str:
    """Format a full hour as a time."""
    return formats.clock_time(time(hour), current_language.get())


def format_percent(value: object) -> str:
    """Format a number or range that is already text, such as `< 1`, as a percentage."""
    return formats.percentage(value, current_language.get())


def format_size(size: int) -> str:
    """Format a number of bytes with the decimal separator of the language."""
    return formats.size(media_types.format_size(size), current_language.get())


def format_limit(size: int) -> str:
    """Format a limit in bytes, exactly if two decimals are enough."""
    return formats.size(media_types.format_limit(size), current_language.get())


@lru_cache(64)
def find_zone(name: str) -> ZoneInfo:
    """Return the viewer's time zone. An unknown name is UTC and logged once; the number of logged names is limited."""
    zone = clock.zone(name or "UTC")
    if zone is None and name not in _logged_zones and len(_logged_zones) < _MAX_LOGGED_ZONES:
        _logged_zones.add(name)
        _log.warning("unknown time zone; times are shown in UTC", zone=name[:_MAX_ZONE])
    return zone or ZoneInfo("UTC")
