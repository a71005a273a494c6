"""The fields of the designer for the content of a code: one form field for each part of its type."""

from collections.abc import Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from waypost.dashboard.forms import to_local_input
from waypost.qrcode import vcard
from waypost.qrcode.payload_fields import sms_parts, wifi_parts
from waypost.qrcode.payloads import Data, Type

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


# Types whose text is not split, and the field of a type's text if it is not called like the type.
_RAW_TYPES = frozenset({"vcard", "event", "geo", "crypto"})
_SINGLE_FIELDS = {"whatsapp": "phone", "app": "url"}


def _local_input(value: str, zone: ZoneInfo) -> str:
    """Return a UTC time of an event as the value of a datetime-local input; dates are returned unchanged."""
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)
        return value if len(value) <= DATE_LENGTH else to_local_input(int(moment.timestamp()), zone)
    except (ValueError, OverflowError):
        return value
