"""The form of the designer: a field for each part of the content, and errors at the input that has them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.dashboard.forms import Form, to_local_input
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.media.qrcode import payloads, vcard
from waypost.media.qrcode.payload_fields import sms_parts, wifi_parts
from waypost.media.qrcode.payloads import Data, Type
from waypost.urls.validation import is_no_address

DATE_LENGTH = len("YYYY-MM-DD")
PARTS: Mapping[str, tuple[str, ...]] = {
    "link": ("link",),
    "text": ("text",),
    "vcard": (*vcard.CARD_FIELDS, "raw"),
    "wifi": ("ssid", "pass", "encryption", "hidden"),
    "email": ("email", "subject", "body"),
    "phone": ("phone",),
    "sms": ("phone", "message"),
    "whatsapp": ("phone", "message"),
    "event": ("title", "start", "end", "location", "description", "url", "raw"),
    "geo": ("lat", "lng", "name", "raw"),
    "app": ("apple", "google", "url"),
    "crypto": ("currency", "address", "amount", "label", "message", "raw"),
}
"""Parts of the content by type of code. The form's fields are called `<type>.<part>`."""


def content_fields(code_type: Type, data: Data, zone: ZoneInfo) -> dict[str, str]:
    """Return the content by the fields of its type; `raw` if it was stored as one text that cannot be split."""
    if not isinstance(data, str):
        fields = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in data.items()}
        if code_type == "event":
            fields |= {name: _local_input(fields[name], zone) for name in ("start", "end") if name in fields}
        return fields
    if code_type == "sms":
        return dict(zip(PARTS["sms"], sms_parts(data), strict=True))
    if code_type == "wifi":
        return dict(zip(PARTS["wifi"], wifi_parts(data), strict=False))
    if code_type in _RAW_TYPES:
        return {"raw": data}
    return {_SINGLE_FIELDS.get(code_type, code_type): data}


def keep_times(form: Form, stored: Data, zone: ZoneInfo) -> None:
    """Keep the times of an event that are as before: inputs have no seconds, and an hour can come twice in a day."""
    typed: Any = form["event"] or [{}]
    data: Any = form.values["data"]
    if isinstance(stored, str) or form.text("type") != "event":
        return
    shown = content_fields("event", stored, zone)
    for name in ("start", "end"):
        if name in data[0] and typed[0].get(name) == shown.get(name):
            data[0][name] = str(stored[name])


# Types whose text is not split, and the field of a type's text if it is not called like the type.
_RAW_TYPES = frozenset({"vcard", "event", "geo", "crypto"})
_SINGLE_FIELDS = {"whatsapp": "phone", "app": "url"}


def _local_input(value: str, zone: ZoneInfo) -> str:
    """Return a time of an event as the value of a datetime-local input; dates are returned unchanged."""
    try:
        return value if len(value) <= DATE_LENGTH else to_local_input(clock.last_second(value), zone)
    except ValueError:
        return value


_URL = "https://example.com/"
_NAMED_PART = re.compile(r"data\.(\w+) ")
_MOST_FAULTS = 20  # more than a type has parts
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
    "crypto": {"address": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"},
}
_CONTEXT = ("currency",)  # it decides which addresses are valid, and is checked before them
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


def collect_faults(type: Type, data: Mapping[str, str], settings: Settings) -> Reading:
    """Return all faults of the content. After each, the rest is read with a valid part instead."""
    reading = Reading(dict(data))
    for _ in range(_MOST_FAULTS):
        message = _fault_of(type, reading.repaired, settings)
        if not message:
            return reading
        part = _part_of(message, type, reading.repaired, settings)
        reading.faults.append((part, message))
        reading.repaired = _without(part, type, reading.repaired)
    return reading


def _fault_of(type: Type, data: Mapping[str, str], settings: Settings) -> str:
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
    valid = {**_VALID[type], **{part: data[part] for part in _CONTEXT if part in data}}
    for part in sorted(data, key=lambda part: part != named):
        if _fault_of(type, {**valid, part: data[part]}, settings) == message:
            return part
    return named


def _without(part: str, type: Type, data: Mapping[str, str]) -> dict[str, str]:
    """Return the content with a valid part instead of a faulty one."""
    valid = dict(_VALID[type])
    if part == "start" and len(data.get("end", "")) > DATE_LENGTH:
        valid[part] += " 00:00:00"  # both must be dates, or both times
    if not part:
        return {**data, **valid}
    rest = {name: value for name, value in data.items() if name != part and (name, part) != ("currency", "address")}
    return {**rest, part: valid[part]} if part in valid else rest


_REQUIRED = re.compile(r" is required for the type \w+\.\Z")
# By the beginning of a message with names of the API: the input, and the message for the designer.
_OTHER_MESSAGES = (
    ("data needs a latitude ", "geo.lat", gettext_noop("Enter a latitude from -90 to 90, such as 52.52.")),
    ("data needs a longitude ", "geo.lng", gettext_noop("Enter a longitude from -180 to 180, such as 13.405.")),
    ("data must have apple, ", "app.apple", gettext_noop("Enter the page of the app in at least one store.")),
    (
        "data.pass is required for ",
        "wifi.pass",
        gettext_noop("Enter the password of the network. An open network has no encryption."),
    ),
    (
        "dynamic must be true for an app",
        "dynamic",
        gettext_noop("An app needs tracking, because the store is selected at the scan."),
    ),
)


def assign_content_errors(form: Form, parts: Mapping[str, Sequence[str]], settings: Settings) -> None:
    """Add the errors of all parts of the content, and replace these parts by valid ones in `data`.

    So the other fields are checked with valid content.
    """
    code_type, content = form.text("type"), form["data"]
    data = content[0] if content else ""
    if code_type not in payloads.TYPES or not isinstance(data, dict):
        return
    reading = collect_faults(code_type, data, settings)
    for part, message in sorted(reading.faults, key=lambda fault: not fault[0]):  # without a part: stays at the content
        form.errors["data"] = message
        assign_error_to_part(form, parts, part)
    form.values["data"] = [reading.repaired]


def assign_error_to_part(form: Form, parts: Mapping[str, Sequence[str]], known_part: str = "") -> None:
    """Replace the error of the content by one of the input that has it, if it is known."""
    code_type = form.text("type")
    _replace_other_messages(form, code_type)
    message, inputs = _REQUIRED.sub(" is required.", form.errors.get("data", "")), parts.get(code_type, ())
    match = re.match(r"data(?:\.(\w+))? ", message)
    part = known_part or (match[1] or (inputs[0] if len(inputs) == 1 else "") if match else "")
    if match and part in inputs:
        del form.errors["data"]
        translated = (
            message if is_no_address(message) else gettext(message)
        )  # here, because the catalog has the message with its API name
        rest = translated.removeprefix(match[0]) if translated.startswith(match[0]) else message[match.end() :]
        form.errors[f"{code_type}.{part}"] = f"{code_type}.{part} {rest}"


def _replace_other_messages(form: Form, code_type: str) -> None:
    for beginning, name, text in _OTHER_MESSAGES:
        field = "dynamic" if name == "dynamic" else "data"
        if form.errors.get(field, "").startswith(beginning):
            del form.errors[field]
            form.errors.setdefault(_raw_input(form, code_type) or name, text)


def _raw_input(form: Form, code_type: str) -> str:
    """Return the name of the input of a whole text, if the code has one instead of parts."""
    rows = form[code_type]
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    return f"{code_type}.raw" if row.get("raw") else ""
