"""The recipients and fields of an e-mail that a code opens (RFC 6068). Pure. Raises INVALID on `data`."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from email_validator import EmailNotValidError, validate_email

from waypost.core.errors import invalid
from waypost.core.uris import component, with_query
from waypost.media.qrcode.payload_fields import crlf, line, must_be_text

_SCHEME = re.compile(r"mailto:", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;]")
_FIELDS = ("to", "cc", "bcc", "subject", "body")
_RECIPIENTS = ("to", "cc", "bcc")


def email(value: str, *, field: str = "data.email") -> str:
    """Return one e-mail address, its host in ASCII (decision 64)."""
    address = _SCHEME.sub("", line(value), count=1)
    try:
        parts = validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
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
        addresses = [email(part) for part in _SEPARATOR.split(fields.get(name, "")) if part.strip()]
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
