"""Formats of numbers, dates, times and lists by language, as CLDR has them; English is that of Europe.

A few lines instead of a library: Babel would add its time of import and memory to every process. Tests compare both.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Literal

DateOrder = Literal["day-first", "month-first", "unambiguous"]
"""How `03/04/2026` is read; `unambiguous`: not at all, because it can be two dates."""
_REGIONS = {"de": "DE", "fr": "FR", "es": "ES", "pt": "BR", "pt-PT": "PT", "ar": "EG", "ar-XB": "EG"}
"""The region of a language whose reader tells none; that of English is unknown, and its week begins on Monday."""
_SUNDAY = frozenset(
    "AG AO AS BD BR BS BT BW BZ CA CO CV DM DO ET GT GU HK HN ID IL IN JM JP KE KH KR LA MH MM MO MT MX MZ NI NP PA PE"
    " PH PK PR PT PY SA SG ST SV TH TL TT TW UM US VE VI WS YE ZA ZW".split()
)
_SATURDAY = frozenset("AF BH DJ DZ EG IQ IR JO KW LY OM QA SD SY".split())
_MONTH_FIRST = frozenset("AS GU MH MP PA PH PR UM US VI".split())
_YEAR_FIRST = frozenset("BT CA CN HU IR JP KP KR LT MN SE TW ZA".split())
_THOUSANDS = {"de": ".", "fr": "\u202f", "es": ".", "pt": ".", "pt-PT": "\u00a0"}
_DECIMAL_COMMA = frozenset({"de", "es", "fr", "pt", "pt-PT"})
_MONTHS = {
    "de": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sept oct nov dic",
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "pt": "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
}
_DAYS = {"de": "{day}. {month} {year}", "pt": "{day} de {month} de {year}"}
_NUMERIC_DAYS = {"pt-PT": "%d/%m/%Y"}
_PERCENT = {"de": "\u00a0%", "es": "\u00a0%", "fr": "\u202f%"}
_HOURS = {"de": "{hour:02} Uhr", "fr": "{hour:02} h", "es": "{hour}"}
_LAST = {"de": " und ", "fr": " et ", "es": " y ", "pt": " e ", "pt-PT": " e ", "ar": " و"}
_BETWEEN = {"ar": " و"}
_ARABIC_UNITS = {
    "bytes": "بايت", "byte": "بايت", "kB": "كيلوبايت", "MB": "ميغابايت", "GB": "غيغابايت", "TB": "تيرابايت",
    "MiB": "ميبيبايت", "GiB": "غيبيبايت", "TiB": "تيبيبايت",
}  # fmt: skip
_ENGLISH_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")


def region(language: str, preferred: Sequence[Sequence[str]]) -> str:
    """Return the region of a reader of the language, such as `GB`; "" if it is unknown.

    `preferred` are the subtags of the browser's languages, in lower case, the first one first. The first region is that
    of readers of English, because some prefer a language that the page does not have.
    """
    for code, *subtags in preferred:
        name = next((subtag.upper() for subtag in subtags if len(subtag) == 2 or subtag.isdecimal()), "")
        if name and language in ("en", code, f"{code}-PT"):
            return name
    return _REGIONS.get(language, "")


def first_weekday(region: str) -> int:
    """Return the first day of the week in a region, 0 for Monday."""
    return 6 if region in _SUNDAY else 5 if region in _SATURDAY else 4 if region == "MV" else 0


def date_order(region: str) -> DateOrder:
    """Return the order of day and month in the dates of a region. Where the year is first, there is no usual one."""
    if region in _MONTH_FIRST:
        return "month-first"
    return "unambiguous" if not region or region in _YEAR_FIRST else "day-first"


def number(value: int, language: str) -> str:
    """Format with the separator of the language between thousands; in French a thin space."""
    return f"{value:,}".replace(",", _THOUSANDS.get(language, ","))


def day(value: date, language: str) -> str:
    """Format a day with the abbreviation of its month, in European Portuguese with its number."""
    if language in _NUMERIC_DAYS:
        return f"{value:{_NUMERIC_DAYS[language]}}"
    if language not in _MONTHS:
        return f"{value.day} {value:%b %Y}"
    month = _MONTHS[language].split()[value.month - 1]
    return _DAYS.get(language, "{day} {month} {year}").format(day=value.day, month=month, year=value.year)


def day_of_year(value: date, language: str) -> str:
    """Format a day without its year."""
    if language in _NUMERIC_DAYS:
        return f"{value:{_NUMERIC_DAYS[language].removesuffix('/%Y')}}"
    return day(value, language).removesuffix(f" {value.year}").removesuffix(" de")


def comma(language: str) -> str:
    """Return the comma and the space between the parts of a text."""
    return "، " if language == "ar" else ", "


def clock_time(value: time | datetime, language: str) -> str:
    """Format the hour and minute. All languages count 24 hours."""
    return f"{value.hour}:{value:%M}" if language == "es" else f"{value:%H:%M}"


def day_and_time(value: datetime, language: str) -> str:
    """Format a time with its day."""
    return f"{day(value, language)}{comma(language)}{clock_time(value, language)}"


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
    """Return a size such as `1.4 MB` with the decimal separator and the units of the language."""
    if language == "ar":
        amount, _, unit = text.partition(" ")
        return f"{amount} {_ARABIC_UNITS[unit]}"
    if language == "fr":
        text = text.replace("byte", "octet").replace("B", "o")
    if language == "de":
        text = text.replace("bytes", "Byte").replace("byte", "Byte")
    return text.replace(".", ",") if language in _DECIMAL_COMMA else text


def english_size(text: str) -> str:
    """Return a size with English units if it has Arabic ones, such as `1.4 ميغابايت`."""
    amount, _, unit = text.strip().partition(" ")
    return next((f"{amount} {name}" for name, arabic in _ARABIC_UNITS.items() if arabic == unit), text)


def listing(items: Sequence[str], language: str) -> str:
    """Join the items of a sentence: `A, B and C`."""
    *others, last = items
    return f"{_BETWEEN.get(language, ', ').join(others)}{_LAST.get(language, ' and ')}{last}" if others else last


def value_of_message(text: str, language: str) -> str:
    """Return a value of a formatted English message; a number such as `10,000` in the format of the language."""
    return number(int(text.replace(",", "")), language) if _ENGLISH_NUMBER.fullmatch(text) else text


def date_of_message(text: str, language: str) -> str:
    """Return a day such as `2026-12-31`, or a time such as `2026-12-31 18:00:00`, in the format of the language."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return text
    return day_and_time(value, language) if ":" in text else day(value, language)
