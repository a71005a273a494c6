"""Texts of the dashboard in the viewer's language: `gettext` (in templates `_`), `ngettext`, numbers and dates."""

from contextvars import ContextVar
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from waypost.http import media_types
from waypost.languages import SOURCE_LANGUAGE, translations

current_language: ContextVar[str] = ContextVar("language", default=SOURCE_LANGUAGE)
"""The language of the page that is rendered, or of the e-mail that is written."""
_THOUSANDS = {"de": ".", "es": ".", "pt": "."}
_MONTHS = {
    "de": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sept oct nov dic",
    "pt": "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
}
_PERCENT = {"de": "\u00a0%", "es": "\u00a0%", "fr": "\u202f%"}
_DECIMAL_COMMA = frozenset({"de", "es", "fr", "pt"})
_DAYS = {"de": "{day}. {month} {year}", "pt": "{day} de {month} de {year}"}


def gettext(message: str, **values: object) -> str:
    """Return the text in the viewer's language; values are escaped."""
    text = translations("waypost.dashboard", current_language.get()).gettext(message) if message else ""
    if not values:
        return text
    # The text is escaped too, so that the whole may count as markup.
    return Markup(escape(text)) % {name: escape(value) for name, value in values.items()}  # noqa: S704


def ngettext(singular: str, plural: str, count: int, **values: object) -> str:
    """Return the text for that number of things; `%(count)s` in it is the formatted number.

    Without other values the text is not escaped; with them, it is, and so are they.
    """
    text = translations("waypost.dashboard", current_language.get()).ngettext(singular, plural, count)
    if not values:
        return text % {"count": format_number(count)}
    escaped = {name: escape(value) for name, value in values.items()}
    return Markup(escape(text)) % {"count": format_number(count), **escaped}  # noqa: S704  # both escaped


def text_in(language: str, message: str, **values: str) -> str:
    """Return the text in a language, for example that of the recipient of an e-mail; values are not escaped."""
    text = translations("waypost.dashboard", language).gettext(message)
    return text % values if values else text


def gettext_noop(message: str) -> str:
    """Mark a message for `make messages` that is translated later."""
    return message


def format_number(value: int) -> str:
    """Format with the separator of the language between thousands; in English and French a thin space."""
    return f"{value:,}".replace(",", _THOUSANDS.get(current_language.get(), "\u202f"))


def format_day(value: date) -> str:
    """Format a day with the abbreviation of its month."""
    language = current_language.get()
    if language not in _MONTHS:
        return f"{value.day} {value:%b %Y}"
    month = _MONTHS[language].split()[value.month - 1]
    return _DAYS.get(language, "{day} {month} {year}").format(day=value.day, month=month, year=value.year)


def format_time(value: datetime) -> str:
    """Format a time with its day. All languages of the dashboard count 24 hours; English is that of Europe."""
    return f"{format_day(value)}, {value:%H:%M}"


def format_percent(value: object) -> str:
    """Format a number or range that is already text, such as `< 1`, as a percentage."""
    return f"{value}{_PERCENT.get(current_language.get(), '%')}"


def format_size(size: int) -> str:
    """Format a number of bytes with the decimal separator of the language."""
    text = media_types.format_size(size)
    return text.replace(".", ",") if current_language.get() in _DECIMAL_COMMA else text


@lru_cache(64)
def find_zone(name: str) -> ZoneInfo:
    """Return the viewer's time zone; UTC for an unknown name."""
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, LookupError):
        return ZoneInfo("UTC")
