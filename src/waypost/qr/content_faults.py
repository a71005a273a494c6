"""All errors of the content of a code, each with the part that has it. The API reports the first one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from waypost.errors import Problem
from waypost.qrcode import payloads
from waypost.qrcode.payloads import Type
from waypost.settings import Settings

_URL = "https://example.com/"
_NAMED_PART = re.compile(r"data\.(\w+) ")
_MOST_FAULTS = 20  # more than a type has parts
_DATE_LENGTH = len("YYYY-MM-DD")
# Valid content by type. Its parts replace faulty ones; other faulty parts are left out.
_VALID: Mapping[Type, Mapping[str, str]] = {
    "text": {"text": "x"},
    "link": {"link": _URL},
    "vcard": {"fname": "x"},
    "wifi": {"ssid": "x", "pass": "12345678"},
    "email": {"email": "ana@example.com"},
    "phone": {"phone": "12345"},
    "sms": {"phone": "12345"},
    "whatsapp": {"phone": "1234567"},
    "event": {"title": "x", "start": "1000-01-01"},
    "geo": {"lat": "0", "lng": "0"},
    "app": {"url": _URL},
    "crypto": {"address": "1" * 26},
}
# Messages that name the part in words: their beginnings, and the part.
_PARTS_IN_WORDS = (
    ("data needs a latitude ", "lat"),
    ("data needs a longitude ", "lng"),
    ("data must have apple, ", "url"),
)


@dataclass
class Reading:
    """The faults of a content, as part (empty if unknown) and message, and the content without them."""

    repaired: dict[str, str]
    faults: list[tuple[str, str]] = field(default_factory=list)


def collect(type: Type, data: Mapping[str, str], settings: Settings) -> Reading:
    """Return all faults of the content. After each, the rest is read with a valid part instead."""
    reading = Reading(dict(data))
    for _ in range(_MOST_FAULTS):
        message = _fault(type, reading.repaired, settings)
        if not message:
            return reading
        part = _part_of(message, type, reading.repaired, settings)
        reading.faults.append((part, message))
        reading.repaired = _without(part, type, reading.repaired)
    return reading


def _fault(type: Type, data: Mapping[str, str], settings: Settings) -> str:
    try:
        payloads.read_new(type, data, settings)
    except Problem as problem:
        return problem.message
    return ""


def _part_of(message: str, type: Type, data: Mapping[str, str], settings: Settings) -> str:
    """Return the part that has the fault, "" if it is unknown.

    Messages about URLs name no part. So each part is read alone.
    """
    match = _NAMED_PART.match(message)
    named = match[1] if match else next((part for text, part in _PARTS_IN_WORDS if message.startswith(text)), "")
    for part in sorted(data, key=lambda part: part != named):
        if _fault(type, {**_VALID[type], part: data[part]}, settings) == message:
            return part
    return named


def _without(part: str, type: Type, data: Mapping[str, str]) -> dict[str, str]:
    """Return the content with a valid part instead of a faulty one."""
    valid = dict(_VALID[type])
    if part == "start" and len(data.get("end", "")) > _DATE_LENGTH:
        valid[part] += " 00:00:00"  # both must be dates, or both times
    if not part:
        return {**data, **valid}
    rest = {name: value for name, value in data.items() if name != part}
    return {**rest, part: valid[part]} if part in valid else rest
