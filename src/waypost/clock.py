"""The only reader of the clock. Everything inside waypost is whole seconds since 1970, UTC; text is for the outside."""

import re
import time
from datetime import UTC, datetime

NEVER = "9999-12-31 23:59:59"
"""What an account without an end answers as its `expires` (decision 14)."""

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"[ T]([01]\d|2[0-3]):\d\d(:\d\d)?Z?"
_FORM = re.compile(f"{_DATE}({_TIME})?", re.ASCII)


def now() -> int:
    """The present second, UTC."""
    return int(time.time())


def now_ms() -> int:
    """The present millisecond, UTC: for windows of time that must not be a second short."""
    return time.time_ns() // 1_000_000


def text(second: int) -> str:
    """`YYYY-MM-DD HH:MM:SS` in UTC (decision 5)."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def day(second: int) -> str:
    """`YYYY-MM-DD` in UTC."""
    return text(second)[:10]


def last_second(value: str) -> int:
    """The last second that a date or timestamp allows: a date alone lasts to its end, UTC (decisions 21, 43).

    Raises ValueError when the value is neither `YYYY-MM-DD` nor `YYYY-MM-DD HH:MM:SS`; a `T` between, a `Z` behind
    and a missing `:SS` are forgiven.
    """
    if not _FORM.fullmatch(value):
        raise ValueError("not a date")
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise ValueError("not a date") from None
    if len(value) == len("2026-01-31"):
        moment = moment.replace(hour=23, minute=59, second=59)
    return int(moment.timestamp())
