"""Formats of numbers, dates, times and lists by language, as CLDR has them; English is that of Europe.

A few lines instead of a library: Babel would add its time of import and memory to every process. Tests compare both.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time

FIRST_WEEKDAY = {"pt": 6, "ar-XB": 5}
"""First day of the week, 0 for Monday, where it is another: as in Brazil, and as in Egypt for the pseudo-language."""
_THOUSANDS = {"de": ".", "fr": "\u202f", "es": ".", "pt": "."}
_DECIMAL_COMMA = frozenset({"de", "es", "fr", "pt"})
_MONTHS = {
    "de": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sept oct nov dic",
    "pt": "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
}
_DAYS = {"de": "{day}. {month} {year}", "pt": "{day} de {month} de {year}"}
_PERCENT = {"de": "\u00a0%", "es": "\u00a0%", "fr": "\u202f%"}
_HOURS = {"de": "{hour:02} Uhr", "fr": "{hour:02} h", "es": "{hour}"}
_LAST = {"de": " und ", "fr": " et ", "es": " y ", "pt": " e "}
_ENGLISH_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")


def number(value: int, language: str) -> str:
    """Format with the separator of the language between thousands; in French a thin space."""
    return f"{value:,}".replace(",", _THOUSANDS.get(language, ","))


def day(value: date, language: str) -> str:
    """Format a day with the abbreviation of its month."""
    if language not in _MONTHS:
        return f"{value.day} {value:%b %Y}"
    month = _MONTHS[language].split()[value.month - 1]
    return _DAYS.get(language, "{day} {month} {year}").format(day=value.day, month=month, year=value.year)


def clock_time(value: time | datetime, language: str) -> str:
    """Format the hour and minute. All languages count 24 hours."""
    return f"{value.hour}:{value:%M}" if language == "es" else f"{value:%H:%M}"


def day_and_time(value: datetime, language: str) -> str:
    """Format a time with its day."""
    return f"{day(value, language)}, {clock_time(value, language)}"


def utc_time(value: datetime, language: str) -> str:
    """Format a time in UTC with its day, for visitors whose time zone is unknown."""
    return f"{day_and_time(value, language)} UTC"


def hour_name(hour: int, language: str) -> str:
    """Format an hour of a scale, such as `06` or `06 Uhr`."""
    return _HOURS.get(language, "{hour:02}").format(hour=hour)


def percentage(value: object, language: str) -> str:
    """Format a number or range that is already text, such as `< 1`, as a percentage."""
    return f"{value}{_PERCENT.get(language, '%')}"


def size(text: str, language: str) -> str:
    """Return a size such as `1.4 MB` with the decimal separator of the language; in French with its units (octets)."""
    if language == "fr":
        text = text.replace("byte", "octet").replace("B", "o")
    return text.replace(".", ",") if language in _DECIMAL_COMMA else text


def listing(items: Sequence[str], language: str) -> str:
    """Join the items of a sentence: `A, B and C`."""
    *others, last = items
    return f"{', '.join(others)}{_LAST.get(language, ' and ')}{last}" if others else last


def value_of_message(text: str, language: str) -> str:
    """Return a value of a formatted English message; a number such as `10,000` in the format of the language."""
    return number(int(text.replace(",", "")), language) if _ENGLISH_NUMBER.fullmatch(text) else text
