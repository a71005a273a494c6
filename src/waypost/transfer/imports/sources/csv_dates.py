"""Dates of CSV files, as services, databases and spreadsheets write them."""

import re
from datetime import datetime, timedelta, tzinfo

from waypost.core import clock
from waypost.core.formats import DateOrder
from waypost.transfer.imports.source_row import Record

_TIME = r"(?:,?[ T]+(?P<hour>[0-2]?[0-9])(?P<minutes>:[0-5][0-9](?::[0-5][0-9])?) ?(?P<half>[AaPp]\.?[Mm]\.?)?)?"
_LOCAL = re.compile(
    rf"(?P<first>[0-9]{{1,2}})(?P<sign>[./-])(?P<second>[0-9]{{1,2}})(?P=sign)(?P<year>[0-9]{{4}}){_TIME}"
)
_YEAR_FIRST = re.compile(
    rf"(?P<year>[0-9]{{4}})(?P<sign>[./-])(?P<month>[0-9]{{1,2}})(?P=sign)(?P<day>[0-9]{{1,2}}){_TIME}"
)
_UNIX = re.compile(r"([0-9]{9,14})(?:\.0+)?")
_SERIAL = re.compile(r"[3-7][0-9]{4}(?:\.[0-9]{1,15})?")  # the years 1982 to 2119
_SERIAL_START = datetime(1899, 12, 30)  # noqa: DTZ001  # spreadsheets know no time zones
_ZONE_NAME = re.compile(r"(?<![+-][0-9]{2}:[0-9]{2})(?<=:[0-9]{2}) ?(?:UTC|GMT)\Z", re.IGNORECASE)
_NONE = frozenset(
    ("", "0", "-", "null", "none", "nan", "nat", "n/a", "never", r"\n", "0000-00-00", "0000-00-00 00:00:00")
)
_MONTHS = 12
_HALF_DAY = 12
_MAX_SECOND = 253_402_300_799  # the end of the year 9999


class CsvDates:
    """Reads dates. In those with slashes or hyphens the month can be first, so `order` is that of all."""

    def __init__(self, zone: tzinfo, order: DateOrder) -> None:
        self._zone, self._order = zone, order

    def created(self, record: Record, text: str) -> int | None:
        """Return the time of creation; None if there is none, and a loss if it cannot be read."""
        if text.casefold() in _NONE:
            return None
        try:
            return self._second(record, text, is_start=True)
        except ValueError:
            record.losses.append("the date of creation is not a date, and the link gets the date of the import")
            return None

    def expiry(self, record: Record, text: str) -> int | None:
        """Return the last second before the expiry; None if there is none, and a problem if it cannot be read."""
        if text.casefold() in _NONE:
            return None
        try:
            return self._second(record, text)
        except ValueError:
            record.problem = record.problem or self._problem(text[:100])
            return None

    def _problem(self, text: str) -> str:
        match = _LOCAL.fullmatch(text)
        if match is None or match["sign"] == "." or self._order == "unambiguous":
            return f"expiry must be a date such as 2026-12-31. {text} does not exist, or can be two dates."
        if self._order == "day-first":
            return f"expiry must be a date such as 2026-12-31. {text} does not exist if the day is first."
        return f"expiry must be a date such as 2026-12-31. {text} does not exist if the month is first."

    def _second(self, record: Record, text: str, *, is_start: bool = False) -> int:
        """Return a Unix time: seconds, milliseconds, or text without an offset in the zone. Raises ValueError.

        A date alone is its last second, or its first one.
        """
        if unix := _UNIX.fullmatch(text):
            number = int(unix[1])
            return number if number < 10**11 else number // 1000
        iso = _ZONE_NAME.sub("Z", self._iso(text))
        second = clock.last_second(f"{iso} 00:00:00" if is_start and clock.is_day(iso) else iso, self._zone)
        if not 0 <= second <= _MAX_SECOND:
            raise ValueError("not a date")
        self._note(record, text, iso[:10])
        return second

    def _iso(self, text: str) -> str:
        """Return a date of a spreadsheet, such as `31.12.2026` or `46387`, as `2026-12-31`; any other text as it is.

        A date that can be two dates stays if the order is not known, and is refused.
        """
        if _SERIAL.fullmatch(text):
            days, _, fraction = text.partition(".")
            moment = _SERIAL_START + timedelta(days=float(text), microseconds=500_000 * bool(fraction))
            return (
                moment.isoformat(" ", "seconds")
                if fraction
                else (_SERIAL_START + timedelta(int(days))).date().isoformat()
            )
        if match := _YEAR_FIRST.fullmatch(text):
            return f"{match['year']}-{int(match['month']):02}-{int(match['day']):02}{_clock_time(match)}"
        match = _LOCAL.fullmatch(text)
        if match is None:
            return text
        first, second = match["first"], match["second"]
        is_day_first = match["sign"] == "." or self._order == "day-first"
        if match["sign"] != "." and self._order == "unambiguous":
            if _can_be_two(first, second):
                return text
            is_day_first = int(first) > _MONTHS
        day, month = (first, second) if is_day_first else (second, first)
        return f"{match['year']}-{int(month):02}-{int(day):02}{_clock_time(match)}"

    def _note(self, record: Record, text: str, day: str) -> None:
        """Note how a date was read that can be two dates."""
        match = _LOCAL.fullmatch(text)
        if match is None or match["sign"] == "." or not _can_be_two(match["first"], match["second"]):
            return
        if self._order == "day-first":
            record.notes.append(f"The date {text} was read as {day}, because the day is first.")
        else:
            record.notes.append(f"The date {text} was read as {day}, because the month is first.")


def _clock_time(match: re.Match[str]) -> str:
    """Return the time of day with a blank before it, such as ` 18:05` for `6:05 PM`; "" if there is none."""
    if match["hour"] is None:
        return ""
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= _HALF_DAY:
            raise ValueError("not a time")
        hour = hour % _HALF_DAY + _HALF_DAY * (match["half"][0] in "Pp")
    return f" {hour:02}{match['minutes']}"


def _can_be_two(first: str, second: str) -> bool:
    return int(first) != int(second) and max(int(first), int(second)) <= _MONTHS
