"""The current time and its text formats. waypost uses Unix seconds (UTC) internally and text in its interfaces."""

import re
import time
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

NEVER = "9999-12-31 23:59:59"
"""`expires` of an account that never expires (decision 14)."""

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"[ Tt]([01]\d|2[0-3]):\d\d(:\d\d([.,]\d{1,9})?)?"
_OFFSET = (
    r"[Zz]|[+-]\d\d(:?\d\d)?| [+-]\d{4}( [A-Z]{3,5})?"  # RFC 3339, and as PostgreSQL and Go print times
    r"| (UTC|GMT)"  # as Ruby does
)
_UNESCAPED_OFFSET = r" {1,2}\d\d:?\d\d( [A-Z]{3,5})?"  # in a query, a `+` that is not escaped becomes a blank
_TIMESTAMP = re.compile(f"(?P<moment>{_DATE}(?P<time>{_TIME})?)(?P<offset>{_OFFSET}|{_UNESCAPED_OFFSET})?", re.ASCII)
_EARLIEST, _LATEST = date(2000, 1, 1), date(2200, 1, 1)  # of the days in requests


def parse_day(text: str) -> date | None:
    """Return the day of a text YYYY-MM-DD from 2000 to 2200, None for any other text."""
    try:
        day = date.fromisoformat(text) if len(text) == len("2026-01-31") else None
    except ValueError:
        return None
    return day if day is not None and _EARLIEST <= day <= _LATEST else None


def now() -> int:
    """Return the current Unix time in seconds."""
    return int(time.time())


def now_ms() -> int:
    """Return the current Unix time in milliseconds, for exact windows of rate limits."""
    return time.time_ns() // 1_000_000


def text(second: int) -> str:
    """Format a time as `YYYY-MM-DD HH:MM:SS` in UTC (decision 5)."""
    return datetime.fromtimestamp(second, UTC).isoformat(" ")[:19]  # a fifth of the time of strftime


def local(second: int, zone: tzinfo) -> datetime:
    """Return a Unix time in a time zone; in UTC where the zone's date is outside the calendar."""
    try:
        return datetime.fromtimestamp(second, zone)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(second, UTC)


def zone(name: str) -> ZoneInfo | None:
    """Return the time zone of a name such as `Europe/Berlin`; None for an unknown name.

    Names begin with a capital. Other files of zones, such as `localtime` and `right/UTC`, are those of the machine.
    """
    if not name[:1].isupper() or name == "Factory":
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):  # zoneinfo raises them for names that are paths, folders or too long
        return None


def day(second: int) -> str:
    """Format a time as `YYYY-MM-DD` in UTC."""
    return text(second)[:10]


def is_day(value: str) -> bool:
    """Return whether a text that `last_second` accepts is a date alone."""
    return len(value) == len("2026-01-31")


def last_second(value: str, zone: tzinfo = UTC) -> int:
    """Return the last second that an expiry date includes; a date alone includes the whole day (decisions 21, 43).

    The format is `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, or a time as in RFC 3339, or as PostgreSQL (`… 09:30:00+02`),
    Ruby (`… 09:30:00 UTC`) or Go (`2026-01-31 09:30:00.5 +0200 CEST`) print it; the `+` of the offset can be a blank.
    Without an offset it is in `zone`. Raises ValueError for other values.
    """
    match = _TIMESTAMP.fullmatch(value)
    if match is None or (match["offset"] and not match["time"]):
        raise ValueError("not a date")
    offset = (match["offset"] or "").strip().partition(" ")[0].upper()
    if offset in ("UTC", "GMT"):
        offset = "Z"
    if offset[:1].isdigit():
        offset = f"+{offset}"
    try:
        moment = datetime.fromisoformat(match["moment"].upper().replace(",", ".") + offset)
        if not match["time"]:
            moment = moment.replace(hour=23, minute=59, second=59, fold=1)  # the last one, where midnight comes twice
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        return int(moment.astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        raise ValueError("not a date") from None
