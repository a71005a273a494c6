"""URLs in codes, cards and events, and the phone numbers and mailboxes in them (decision 73). Pure.

Each function raises INVALID on `data`. Those of URLs return the URI and its fault: why no phone can use it, and the
repair. Only codes that were stored before the rule can have one. E-mail has recipients and fields (RFC 6068).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from email_validator import EmailNotValidError, validate_email

from waypost.core import phone_numbers
from waypost.core.errors import Problem, invalid
from waypost.core.uris import component, to_uri, with_query
from waypost.media.qrcode.payload_fields import chat_number, crlf, line, message_number, must_be_text
from waypost.urls import validation

if TYPE_CHECKING:  # the child of imports loads this module, and starts faster without settings
    from waypost.core.settings import Settings


_SCHEME = re.compile(r"mailto:", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;]")
_FIELDS = ("to", "cc", "bcc", "subject", "body")
_RECIPIENTS = ("to", "cc", "bcc")
_CHAT_PAGES = {"api.whatsapp.com": "/send", "web.whatsapp.com": "/send"}
_PARAMETERS = re.compile(r";[a-z][a-z-]*=.*", re.IGNORECASE | re.DOTALL)
_CONTEXT = re.compile(r";phone-context=", re.IGNORECASE)
_VISUAL_SEPARATORS = re.compile(r"[-.()]")  # of RFC 3966: phones skip them
_RECIPIENTS_END = re.compile(r"[?&;]")
_CHAT_NUMBER = re.compile(r"[+(]?[0-9(]")


def email(value: str, *, field: str = "data.email", is_only: bool = True) -> str:
    """Return one e-mail address, its host in ASCII (decision 64). `is_only`: the field cannot have several."""
    address = _SCHEME.sub("", line(value), count=1)
    try:
        parts = validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        if is_only:
            raise invalid("data", f"{field} must be an e-mail address, such as ana@example.com.") from error
        message = f"{field} must be a valid e-mail address, such as ana@example.com. Separate several with commas."
        raise invalid("data", message) from error
    return f"{parts.local_part}@{parts.ascii_domain}"


def mailto(typed: str, subject: str, body: str) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the fields of an e-mail, and its recipients. `typed`: addresses, or a whole `mailto:` URI."""
    fields = _uri_fields(line(typed))
    for name, value in (("subject", subject), ("body", body)):
        if value and fields.get(name, value) != value:
            raise invalid("data", f"data.{name} differs from the one in data.email; send one of them.")
        fields[name] = value or fields.get(name, "")
    for name in _RECIPIENTS:
        addresses = [email(part, is_only=False) for part in _SEPARATOR.split(fields.get(name, "")) if part.strip()]
        fields[name] = ",".join(addresses)
    if not fields["to"]:
        raise invalid("data", "data.email must have a recipient, such as ana@example.com.")
    return fields, fields["to"].split(",")


def mailto_uri(fields: Mapping[str, str]) -> str:
    """Return the `mailto:` URI."""
    others = {"cc": fields["cc"], "bcc": fields["bcc"], "subject": fields["subject"], "body": crlf(fields["body"])}
    return with_query(f"mailto:{component(fields['to'], safe='@,')}", **others)


def _uri_fields(text: str) -> dict[str, str]:
    """Return the fields of a `mailto:` URI; text without the scheme are the recipients. A plus is no space."""
    scheme = _SCHEME.match(text)
    if scheme is None:
        return {"to": text}
    recipients, _, query = text[scheme.end() :].partition("?")
    fields = {"to": _decoded(recipients, "to")}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        name = unquote(name).lower()
        if name not in _FIELDS or (name in fields and name != "to"):
            raise invalid("data", f"data.email must be a mailto: URI with each of {', '.join(_FIELDS)} once at most.")
        value = _decoded(value, name)
        fields[name] = f"{fields['to']},{value}" if name == "to" else value
    return fields


def _decoded(value: str, name: str) -> str:
    text = unquote(value)
    must_be_text(text, name=f"data.{name}")
    return text if name == "body" else line(text, name=f"data.{name}")


def url(value: str, settings: "Settings", *, field: str = "data") -> tuple[str, str]:
    """A web address, or one with an app scheme that the administrator allows (decision 44). Errors name `field`."""
    address = _stored(line(value, name=field), field, settings.schemes)
    return to_uri(address), validation.fault(address, field=field) or _fault(address)


def web(value: str, *, field: str) -> tuple[str, str]:
    """A web address for a card or an event; `example.com` alone is meant so too. Errors name `field`."""
    typed = line(value, name=field)
    is_host = "://" not in typed and not any(map(str.isspace, typed))
    address = _stored(f"https://{typed}" if is_host else typed, field)
    is_other = is_host and validation.complete_url(typed) == typed  # such as an e-mail address, or mailto:
    other = f"{field} must begin with http:// or https://." if is_other else ""
    return to_uri(address), other or validation.fault(address, field=field)


def _stored(address: str, field: str, schemes: frozenset[str] = frozenset()) -> str:
    try:
        return validation.stored(address, field=field, schemes=schemes)
    except Problem as problem:
        raise invalid("data", problem.message) from problem


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
        email(unquote(recipient), field="data", is_only=False)
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
