"""Contact cards of bio pages: the addresses and phone numbers of other services."""

from typing import Any

from waypost.core.errors import Problem
from waypost.media.qrcode import vcard
from waypost.transfer.imports.source_row import Record

_FIELDS = {"mailto": "email", "tel": "phone"}


def is_contact(url: str) -> bool:
    """Return whether a URL is an e-mail address or a phone number."""
    return url.startswith(tuple(f"{scheme}:" for scheme in _FIELDS))


def of_url(record: Record, title: str, url: str, scheme: str = "") -> dict[str, Any]:
    """Return the contact card of an e-mail address or a phone number; `scheme` is that of a value without one."""
    prefix, separator, value = url.partition(":")
    if not separator or prefix not in _FIELDS:
        prefix, value = scheme, url
    return usable(record, {"type": "vcard", "fname": title, _FIELDS[scheme or prefix]: value.partition("?")[0]})


def usable(record: Record, card: dict[str, Any]) -> dict[str, Any]:
    """Leave out the parts of a card that no phone can use."""
    for name in vcard.CHECKED_FIELDS:
        try:
            fault = vcard.checked(name, card[name])[1] if card.get(name) else ""
        except Problem as problem:
            fault = problem.message
        if fault:
            record.losses.append(f"{name} of a contact card is left out: {card.pop(name)}")
    return card
