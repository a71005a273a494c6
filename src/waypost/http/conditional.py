"""Conditional requests: the status 304 or 412, and whether a range is still of the same content (RFC 9110, 13)."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate

from starlette.datastructures import Headers

from waypost.core import clock

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_RFC_850 = "%A, %d-%b-%y %H:%M:%S GMT"
_DATE_FORMATS = ("%a, %d %b %Y %H:%M:%S GMT", _RFC_850, "%a %b %d %H:%M:%S %Y")
_MAX_YEARS_AHEAD = 50


@dataclass(frozen=True)
class Validators:
    """The validators of a response: its entity tag with quotes, and its time of modification if known."""

    etag: str
    modified: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a response that has these validators."""
        date = {} if self.modified is None else {"Last-Modified": formatdate(self.modified, usegmt=True)}
        return {"ETag": self.etag, **date}

    def status(self, method: str, headers: Headers) -> int | None:
        """Return 304 or 412 if the preconditions of a request ask for it, in the order of section 13.2.2."""
        if "if-match" in headers:
            if not self._matches(headers.getlist("if-match"), is_weak=False):
                return 412
        elif self._is_newer_than(headers.get("if-unmodified-since")):
            return 412
        is_read = method in ("GET", "HEAD")
        if "if-none-match" in headers:
            if self._matches(headers.getlist("if-none-match"), is_weak=True):
                return 304 if is_read else 412
        elif is_read and self._is_newer_than(headers.get("if-modified-since")) is False:
            return 304
        return None

    def allows_range(self, headers: Headers) -> bool:
        """Return whether `If-Range` is absent or names exactly this version (section 13.1.5)."""
        condition = headers.get("if-range", "").strip()
        if "if-range" not in headers or condition == self.etag:
            return True
        return self.modified is not None and _parse_date(condition) == self.modified

    def _matches(self, values: Iterable[str], *, is_weak: bool) -> bool:
        """Return whether a list of tags names this version or is `*`. The weak comparison ignores `W/`."""
        text = ",".join(values)
        tags = _TAG.findall(text)
        return text.strip() == "*" or self.etag in ([tag.removeprefix("W/") for tag in tags] if is_weak else tags)

    def _is_newer_than(self, value: str | None) -> bool | None:
        """Return whether the content changed after a date; None if there is no valid date to compare."""
        date = _parse_date(value or "")
        return None if date is None or self.modified is None else self.modified > date


def _parse_date(text: str) -> int | None:
    """Return the time of a date in one of the three forms of HTTP; None if it has none of them (section 5.6.7)."""
    for form in _DATE_FORMATS:
        with suppress(ValueError, OverflowError):
            date = datetime.strptime(" ".join(text.split()), form).replace(tzinfo=UTC)
            if form == _RFC_850:
                date = date.replace(year=_full_year(date.year % 100))
            return int(date.timestamp())
    return None


def _full_year(two_digits: int) -> int:
    """Return the year of two digits: the latest one that is at most 50 years in the future."""
    latest = datetime.fromtimestamp(clock.now(), UTC).year + _MAX_YEARS_AHEAD
    return latest - (latest - two_digits) % 100
