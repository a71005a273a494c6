"""URLs in codes, cards and events, and the phone numbers and mailboxes in them (decision 73). Pure.

Each function raises INVALID on `data`, and returns the URI and its fault: why no phone can use it, and the repair. Only
codes that were stored before the rule can have one.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from waypost.core import phone_numbers
from waypost.core.errors import Problem
from waypost.core.uris import to_uri
from waypost.media.qrcode import mail_fields
from waypost.media.qrcode.payload_fields import chat_number, line, message_number
from waypost.urls import validation

if TYPE_CHECKING:  # the child of imports loads this module, and starts faster without settings
    from waypost.core.settings import Settings

_CHAT_PAGES = {"api.whatsapp.com": "/send", "web.whatsapp.com": "/send"}
_PARAMETERS = re.compile(r";[a-z][a-z-]*=.*", re.IGNORECASE | re.DOTALL)
_CONTEXT = re.compile(r";phone-context=", re.IGNORECASE)
_VISUAL_SEPARATORS = re.compile(r"[-.()]")  # of RFC 3966: phones skip them
_RECIPIENTS_END = re.compile(r"[?&;]")
_CHAT_NUMBER = re.compile(r"[+(]?[0-9(]")


def url(value: str, settings: "Settings") -> tuple[str, str]:
    """A web address, or one with an app scheme that the administrator allows (decision 44)."""
    address = validation.stored(line(value), field="data", schemes=settings.schemes)
    return to_uri(address), validation.fault(address, field="data") or _fault(address)


def web(value: str) -> tuple[str, str]:
    """A web address for a card or an event; `example.com` alone is meant so too."""
    address = line(value)
    is_host = "://" not in address and not any(map(str.isspace, address))
    address = validation.stored(f"https://{address}" if is_host else address, field="data")
    return to_uri(address), validation.fault(address, field="data")


def _fault(address: str) -> str:
    try:
        parts = urlsplit(address, allow_fragments=address[:4].lower() != "tel:")  # `#` is a key of phones
        find = _FAULTS.get(parts.scheme)
        return find(parts) if find else ""
    except Problem as problem:
        return problem.message
    except ValueError:  # an app's URL that is not read as one of the web
        return ""


def _call_fault(parts: SplitResult) -> str:
    typed = f"{parts.netloc}{parts.path}"
    if _CONTEXT.search(typed):  # a number of a private network
        return ""
    has_fragment = "#" in typed  # which phones do not dial
    typed = _PARAMETERS.sub("", unquote(typed))
    number = phone_numbers.read(typed, field="data")
    return number.fault or _difference("" if has_fragment else typed, number.text, number.uri)


def _message_fault(parts: SplitResult) -> str:
    """One number or several; none to choose a recipient."""
    if parts.path.startswith("/"):  # iOS: sms:/open?addresses=…
        return ""
    for typed in filter(None, _RECIPIENTS_END.split(unquote(parts.path))[0].split(",")):
        number = message_number(typed, field="data")
        if fault := number.fault or _difference(typed, number.dialed, number.dialed):
            return fault
    return ""


def _mail_fault(parts: SplitResult) -> str:
    for recipient in filter(None, parts.path.split(",")):
        mail_fields.email(unquote(recipient), field="data")
    return ""


def _chat_fault(parts: SplitResult) -> str:
    """Fault of a chat with a number. Other pages of WhatsApp have none."""
    if parts.scheme == "whatsapp" or parts.path == _CHAT_PAGES.get(parts.hostname or ""):
        typed = parse_qs(parts.query.replace("+", "%2B")).get("phone", [""])[0]
    elif parts.hostname == "wa.me":
        typed = unquote(parts.path.removeprefix("/").partition("/")[0])
    else:
        return ""
    if not _CHAT_NUMBER.match(typed):
        return ""
    has_country = typed[:1] not in ("+", "(", "0")
    digits, fault = chat_number(f"+{typed}" if has_country else typed, field="data")
    return fault or _difference(typed.removeprefix("+"), digits, digits)


def _difference(typed: str, number: str, repaired: str) -> str:
    """Return the fault of a number from which digits must be removed, such as (0)."""
    if _VISUAL_SEPARATORS.sub("", typed) == number:
        return ""
    return f"data has a phone number that cannot be dialed as it is. Write it as {repaired}."


_FAULTS: Mapping[str, Callable[[SplitResult], str]] = {
    "tel": _call_fault,
    **dict.fromkeys(("sms", "smsto"), _message_fault),
    "mailto": _mail_fault,
    **dict.fromkeys(("http", "https", "whatsapp"), _chat_fault),
}
