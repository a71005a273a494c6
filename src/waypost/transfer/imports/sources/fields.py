"""Values in the records of other services, which can be missing or of any type."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from waypost.clicks.classify import classifier
from waypost.clicks.geo import countries
from waypost.clicks.ingest.aggregate import VisitAttributes
from waypost.core import bounded_json, clock
from waypost.core.errors import invalid
from waypost.transfer.imports.source_row import Clicks

_MAX = 100_000  # about 15 MB, however many links a server sends


class RecentNames:
    """The newest names of a source, as hashes of 64 bits."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()
        self._order: deque[int] = deque()

    def add(self, name: str) -> bool:
        """Add a name. Return whether it is new."""
        value = hash(name)
        if value in self._hashes:
            return False
        if len(self._order) >= _MAX:
            self._hashes.remove(self._order.popleft())
        self._hashes.add(value)
        self._order.append(value)
        return True


MAX_VALUES = 500_000
"""Values that the JSON of a file can have."""
MAX_SECOND = 253_402_300_799  # the end of the year 9999
MAX_NUMBER = 10**15
_SURROGATE = re.compile("[\ud800-\udfff]")
NO_ATTRIBUTES = VisitAttributes(*[""] * len(VisitAttributes._fields))
"""The labels of clicks of which only the time is known."""
"""The loss of a link whose source does not do that: every link here does."""


class Fields:
    """An object of a JSON response. A value of an unexpected type counts as missing."""

    def __init__(self, value: Any) -> None:
        self._object: Mapping[str, Any] = value if isinstance(value, Mapping) else {}

    def text(self, name: str) -> str:
        """Return a text or number as text, without lone surrogates; "" if it is missing."""
        value = self._object.get(name)
        text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        return _SURROGATE.sub("\ufffd", text)

    def number(self, name: str) -> int:
        """Return a whole number below 10^15, also as text; 0 if it is missing or larger."""
        return number(self._object.get(name))

    def is_true(self, name: str) -> bool:
        """Return whether a value is true, 1 or "true"."""
        return self._object.get(name) in (True, 1, "1", "true")

    def is_false(self, name: str) -> bool:
        """Return whether a value is there and is false, 0 or "false"."""
        return self._object.get(name) in (False, 0, "0", "false")

    def second(self, name: str, zone: ZoneInfo | None = None) -> int | None:
        """Return a time as Unix seconds; None if it is missing or invalid."""
        return second(self._object.get(name), zone)

    def fields(self, name: str) -> "Fields":
        """Return an object; an empty one if it is missing."""
        return Fields(self._object.get(name))

    def items(self, name: str) -> Iterator["Fields"]:
        """Yield the items of a list. One that is no object has no values, so that it is a row without a destination."""
        yield from map(Fields, self.values(name))

    def objects(self) -> Iterator["Fields"]:
        """Yield the objects in this one."""
        yield from (Fields(item) for item in self._object.values())

    def values(self, name: str) -> list[Any]:
        """Return a list; an empty one if it is missing."""
        value = self._object.get(name)
        return value if isinstance(value, list) else []

    def texts(self, name: str) -> list[str]:
        """Return the texts of a list."""
        return [item for item in self.values(name) if isinstance(item, str)]

    def pairs(self, name: str) -> dict[str, str]:
        """Return the texts of an object by name."""
        value = self._object.get(name)
        return {key: item for key, item in value.items() if isinstance(item, str)} if isinstance(value, Mapping) else {}

    def __contains__(self, name: str) -> bool:
        """Return whether a value is there and not null."""
        return self._object.get(name) is not None


def parse_json(content: bytes | str, *, field: str, max_values: int) -> Any:
    """Return the value of a JSON text. Raises INVALID on `field`."""
    try:
        return bounded_json.loads(content, max_values)
    except bounded_json.TooManyValues:
        raise invalid(field, f"{field}: the JSON has more than {max_values:,} values.") from None
    except (ValueError, RecursionError) as error:
        place = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise invalid(field, f"{field}: this is not valid JSON{place}. It can be incomplete.") from None


def number(value: Any) -> int:
    """Return a whole number below 10^15, also as text; 0 for anything else."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_NUMBER else 0


def second(value: Any, zone: ZoneInfo | None = None) -> int | None:
    """Return a time as Unix seconds: ISO 8601, seconds or milliseconds; None if it is missing or invalid.

    A time without an offset is in `zone`, by default UTC.
    """
    if isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(r"[0-9]{9,14}", value)):
        at = _whole(value)
        at = at if abs(at) < 10**11 else at // 1000
    elif isinstance(value, str):
        try:
            at = _local(value, zone) if zone else clock.last_second(value)
        except (ValueError, OverflowError):
            return None
    else:
        return None
    return at if 0 < at <= MAX_SECOND else None


def _whole(value: float | str) -> int:
    """Return a number without its fraction; -1 if it is too large for a time."""
    try:
        return int(float(value)) if -(10**17) < float(value) < 10**17 else -1
    except OverflowError:  # a whole number of more than 308 digits
        return -1


def _local(text: str, zone: ZoneInfo) -> int:
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC).timestamp())


def address(short_url: str) -> tuple[str, str]:
    """Return the host and the alias of a short URL."""
    try:
        parts = urlsplit(short_url if "://" in short_url else f"//{short_url}")
        return parts.hostname or "", unquote(parts.path).strip("/")
    except ValueError:
        return "", short_url


def visit(second: int, *, user_agent: str, referrer: str, country: str) -> Clicks:
    """Return a single visit, classified by the rules of visits here. Bots and previews are no clicks."""
    client = classifier.agent(user_agent)
    origin = classifier.referrer("" if referrer.lower() in ("", "direct", "unknown") else referrer)
    name = countries.name_of(country)
    labels = VisitAttributes(
        name, origin.label, origin.network, client.browser, client.os, client.device, classifier.UNKNOWN, "link"
    )
    return Clicks(second, 0 if client.kind in ("bot", "preview") else 1, 1, labels)
