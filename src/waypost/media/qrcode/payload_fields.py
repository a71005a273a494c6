"""The parts that payloads are made of, each checked and escaped as its own standard says. Pure.

Everything raises INVALID on `data`, naming the part.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from waypost.core import phone_numbers
from waypost.core.errors import Problem, invalid
from waypost.core.phone_numbers import PhoneNumber
from waypost.core.uris import with_query
from waypost.media.qrcode import coin_addresses

_LONGEST = 8192
_LONGEST_NAME = 40
_SHORTEST_CHAT_NUMBER = 7
_SMS_FIELDS = re.compile(r"[?&;]")
_MOST_DECIMALS = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_ONE_LINE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_WIFI_SPECIAL = re.compile(r'([\\;,:"])')
_WIFI_PIECE = re.compile(r"[^\\;]+|\\.|;")
_PASSPHRASE = re.compile(r"[\x20-\x7e]{8,63}\Z|[0-9A-Fa-f]{64}\Z")
_WEP_KEY = re.compile(
    r"(?:[\x20-\x7e]{5}|[\x20-\x7e]{13}|[\x20-\x7e]{16}|[\x20-\x7e]{29})\Z|[0-9A-Fa-f]{10}\Z|"
    r"[0-9A-Fa-f]{26}\Z|[0-9A-Fa-f]{32}\Z|[0-9A-Fa-f]{58}\Z"
)
_ESCAPED = re.compile(r"\\(.)")
_GEO = re.compile(r"geo:([^,;?]*),([^,;?]*)(?:,[^,;?]*)?(?:;[^?]*)?(?:\?|\Z)", re.IGNORECASE)
_GEO_QUERY = re.compile(r"\s*(-?[0-9.]+)\s*,\s*(-?[0-9.]+)\s*(?:\((.*)\)\s*)?\Z", re.DOTALL)
_NO_PLACE = re.compile(r"[-0.,\s]*\Z")
_ENTERPRISE = ("E", "PH2", "I", "A")  # EAP method, phase 2, identity, anonymous identity
_COIN_DECIMALS = 8
_COINS = ("bitcoin", "bitcoincash", "litecoin", "dogecoin", "dash")
_COIN_ADDRESS = re.compile(r"[A-Za-z0-9]{14,100}\Z")
_COIN_URI = re.compile(r"([A-Za-z]+):([A-Za-z0-9]{14,100})(?:\?([A-Za-z0-9._~%&=+-]*))?\Z")


class Fields:
    """The object that a client sent as `data`: `null` is the same as absent.

    `used` has the parts that were sent, under their own names.
    """

    def __init__(self, type: str, data: Mapping[str, Any]) -> None:
        self._type = type
        self._data = data
        self._known: list[str] = []
        self.used: dict[str, Any] = {}

    def text(self, name: str, *, lines: bool = False) -> str:
        """A string, "" when absent; a number will do. It is trimmed, or may have line ends with `lines`."""
        value = self._string(name)
        return value if lines else line(value, name=f"data.{name}")

    def exact(self, name: str, *, needed: bool = False) -> str:
        """The same in one line, with the spaces at its ends: they belong to it. Not empty if `needed`."""
        value = self._string(name)
        must_be_line(value, name=f"data.{name}")
        return self._not_empty(name, value) if needed else value

    def refuse_unknown(self) -> None:
        """Raise INVALID for a part that was not asked for: nothing is dropped silently (decision 59)."""
        for name, value in self._data.items():
            if name not in self._known and value not in (None, ""):
                shown = name[:_LONGEST_NAME].encode(errors="replace").decode()
                known = ", ".join(self._known)
                raise invalid("data", f"data.{shown} is not a part of the type {self._type}, which has {known}.")

    def _string(self, name: str) -> str:
        value = self._value(name)
        if value is None:
            return ""
        if (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and isfinite(value)):
            value = str(value)
        if not isinstance(value, str):
            raise invalid("data", f"data.{name} must be a string.")
        must_be_text(value, name=f"data.{name}")
        return value

    def alias(self, name: str, other: str) -> None:
        """Let clients send a part under another name. It is kept under its own; both at once must be equal."""
        rest = dict(self._data)
        value = rest.pop(other, None)
        if value in (None, ""):
            return
        if rest.get(name) not in (None, "", value):
            raise invalid("data", f"data.{other} is another name of data.{name}; send one of them.")
        self._data = {**rest, name: value}

    def needed(self, name: str, *, lines: bool = False) -> str:
        """The same, not empty."""
        value = self.text(name, lines=lines)
        self._not_empty(name, value.strip())
        return value

    def _not_empty(self, name: str, value: str) -> str:
        if not value:
            raise invalid("data", f"data.{name} is required for the type {self._type}.")
        return value

    def flag(self, name: str) -> bool:
        """True or false, also in words; absent is false."""
        value = self._value(name)
        is_hashable = value is None or isinstance(value, str | int)
        flag = _FLAGS.get(value.lower() if isinstance(value, str) else value) if is_hashable else None
        if flag is None:
            raise invalid("data", f"data.{name} must be true or false.")
        return flag

    def number(self, name: str) -> str:
        """A decimal number as it was written; "" when absent."""
        text = self.text(name).strip()
        if not text:
            return ""
        number = _decimal(text)
        # Without a bound, a few characters such as 1e-400000000 would be written out as that many digits.
        if not number.is_finite() or abs(number) > 10**15 or -int(number.as_tuple().exponent) > _MOST_DECIMALS:
            raise invalid("data", f"data.{name} must be a number, such as 12.5.")
        return f"{number:f}"

    def _value(self, name: str) -> Any:
        self._known.append(name)
        if name in self._data:
            self.used[name] = self._data[name]
        return self._data.get(name)


_FLAGS: dict[Any, bool] = {
    **dict.fromkeys((True, 1, "true", "1", "yes"), True),
    **dict.fromkeys((None, False, 0, "false", "0", "no", ""), False),
}


def _decimal(text: str) -> Decimal:
    """Parse a number; NaN if it is none, as with the underscores and other digits that Python would read."""
    try:
        return Decimal(text) if text.isascii() and "_" not in text else Decimal("nan")
    except InvalidOperation:
        return Decimal("nan")


def must_be_text(value: str, *, name: str = "data") -> None:
    """Without control characters but line ends and tabs, and of a length that might fit."""
    if len(value) > _LONGEST:
        raise invalid("data", f"{name} is too long for a QR code: {len(value)} characters; at most 2953 bytes fit.")
    if _CONTROL.search(value):
        raise invalid("data", f"{name} must not have control characters.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid("data", f"{name} must be valid Unicode.") from None


def line(value: str, *, name: str = "data") -> str:
    """One line, trimmed."""
    value = value.strip()
    must_be_line(value, name=name)
    return value


def must_be_line(value: str, *, name: str = "data") -> None:
    """Without line ends and control characters."""
    if _ONE_LINE.search(value):
        raise invalid("data", f"{name} must not have line ends or control characters.")


def crlf(text: str) -> str:
    """Every line end as CR LF."""
    return _LINE_END.sub("\r\n", text)


def phone(value: str, *, field: str = "data.phone") -> PhoneNumber:
    """A phone number to dial."""
    try:
        return phone_numbers.read(line(value, name=field), field=field)
    except Problem as problem:
        raise invalid("data", problem.message) from problem


def message_number(value: str, *, field: str = "data.phone") -> PhoneNumber:
    """A number that messages can be sent to."""
    number = phone(value, field=field)
    if not number.is_plain:
        raise invalid("data", f"{field} must have 3 to 15 digits and no extension: messages are sent to it.")
    return number


def chat_number(value: str, *, field: str = "data.phone") -> tuple[str, str]:
    """(digits, fault) of a number of WhatsApp, which begins with the country code."""
    number = message_number(value, field=field)
    digits = number.dialed.removeprefix("+").removeprefix("00")
    is_international = number.dialed != digits or (value.strip() == digits and not digits.startswith("0"))
    if number.fault or (is_international and len(digits) >= _SHORTEST_CHAT_NUMBER):
        return digits, number.fault
    return digits, f"{field} must begin with + and the country code, such as +49 170 1234567."


def sms_parts(data: str) -> tuple[str, str]:
    """(number, message) of a number alone, of `SMSTO:` or of `sms:`."""
    scheme, colon, rest = data.strip().partition(":")
    if colon and scheme.lower() == "smsto":
        number, _, message = rest.partition(":")
        return number, message
    if colon and scheme.lower() == "sms":
        number, *fields = _SMS_FIELDS.split(rest)
        bodies = [unquote(field[len("body=") :]) for field in fields if field.lower().startswith("body=")]
        return number, "".join(bodies[:1])
    return data, ""


def wifi_escaped(value: str) -> str:
    r"""With a backslash before `\ ; , : "`, so that nothing in a name or password can end it."""
    return _WIFI_SPECIAL.sub(r"\\\1", value)


def wifi_parts(data: str) -> tuple[str, str, str, str]:
    """(name, password, encryption, hidden) of a name alone or of a whole `WIFI:` text."""
    if data.lstrip()[:5].upper() != "WIFI:":
        must_be_line(data)
        return data, "", "", ""
    fields, rest = _wifi_fields(line(data)[5:])
    if not fields.get("S"):
        raise invalid("data", "data begins with WIFI: but has no S:name; in it.")
    if rest:
        raise invalid("data", "data begins with WIFI: but does not end with a semicolon.")
    hidden = "true" if _FLAGS.get(fields.get("H", "").lower()) else ""
    return fields["S"], fields.get("P", ""), fields.get("T", ""), hidden


def wifi_accounts_fault(data: str) -> str:
    """Return why no code of this type can hold a whole `WIFI:` text: the network has user names; or ""."""
    fields = _wifi_fields(line(data)[5:])[0] if data.lstrip()[:5].upper() == "WIFI:" else {}
    if not any(fields.get(name) for name in _ENTERPRISE):
        return ""
    return "data is a network with user names. Use the type text, which holds the whole WIFI: text as it is."


def wifi_fault(kind: str, password: str) -> str:
    """Return why no phone can join the network with this password; "" if one can (IEEE 802.11)."""
    if kind == "WPA" and not _PASSPHRASE.match(password):
        return (
            "data.pass must have 8 to 63 characters (letters, digits, signs and spaces of ASCII), or 64 digits 0-9 A-F."
        )
    if kind == "WEP" and not _WEP_KEY.match(password):
        return "data.pass must have 5, 13, 16 or 29 characters, or 10, 26, 32 or 58 digits 0-9 A-F, for WEP."
    return ""


def _wifi_fields(text: str) -> tuple[dict[str, str], str]:
    """Split `name:value;` at semicolons without a backslash, in one pass: the text can be hostile.

    Return what follows the last semicolon, too.
    """
    fields = {}
    part = ""
    for piece in _WIFI_PIECE.findall(text):
        if piece != ";":
            part += piece
            continue
        name, _, value = part.partition(":")
        if len(value) > 1 and value[0] == value[-1] == '"' and value[-2] != "\\":
            value = value[1:-1]  # quotes say that a text which looks like hexadecimal digits is none
        fields[name] = _ESCAPED.sub(r"\1", value)
        part = ""
    return fields, part


def geo_parts(data: str) -> tuple[str, str, str, str]:
    """(latitude, longitude, name, fault) of `52.52,13.4`, or of a geo: URI (RFC 5870, and `q` of Android)."""
    text = data.strip()
    uri = _GEO.match(text)
    if uri is None:
        latitude, _, longitude = text.removeprefix("geo:").partition("?")[0].partition(",")
        return latitude, longitude, "", ""
    latitude, longitude = uri[1], uri[2]
    query = " ".join(parse_qs(text[uri.end() :]).get("q", [])).strip()
    if place := _GEO_QUERY.match(query):
        return place[1], place[2], place[3] or "", ""
    is_search = query and _NO_PLACE.match(f"{latitude},{longitude}")
    fault = (
        "data has a text to search for instead of a latitude and a longitude, such as 52.52,13.4." if is_search else ""
    )
    return latitude, longitude, query, fault


def degrees(value: str, most: int, name: str) -> str:
    """A coordinate without exponent and trailing zeros."""
    number = _decimal(value.strip())
    if not number.is_finite() or abs(number) > most:
        raise invalid("data", f"data needs a {name} from -{most} to {most}, such as 52.52.")
    text = f"{round(number, 7):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def coin(currency: str, address: str, parameters: Mapping[str, str]) -> str:
    """A payment (BIP 21)."""
    currency = currency.strip().lower()
    if currency not in _COINS:
        raise invalid("data", f"data.currency must be one of {', '.join(_COINS)}.")
    address = address.strip().removeprefix(f"{currency}:")
    if not _COIN_ADDRESS.match(address):
        raise invalid("data", "data.address must be an address: 14 to 100 letters and digits.")
    if parameters["amount"] and Decimal(parameters["amount"]) <= 0:
        raise invalid("data", "data.amount must be more than 0.")
    return with_query(f"{currency}:{address}", **parameters)


def coin_fault(uri: str, *, field: str) -> str:
    """Return why no wallet takes the URI of a payment; "" if one does."""
    currency, _, rest = uri.partition(":")
    if not coin_addresses.is_valid(currency, rest.partition("?")[0]):
        return f"{field} must be an address of {currency}: check its characters and the currency."
    amounts = parse_qs(urlsplit(uri).query).get("amount", [])
    for amount in map(_decimal, amounts):
        if not amount.is_finite() or amount <= 0:
            return "data.amount must be more than 0."
        if -int(amount.as_tuple().exponent) > _COIN_DECIMALS:
            return f"data.amount must have at most {_COIN_DECIMALS} digits after the point."
    return ""


def coin_uri(data: str) -> str:
    """A whole URI of a payment, or an address of Bitcoin alone."""
    text = line(data)
    if _COIN_ADDRESS.match(text):
        return f"bitcoin:{text}"
    match = _COIN_URI.match(text)
    if match is None or match[1].lower() not in _COINS:
        raise invalid("data", f"data must be an address, or a URI that begins with one of {', '.join(_COINS)}.")
    return (
        f"{match[1].lower()}{text[match.end(1) :]}"  # upper case makes codes smaller, and is not known to all wallets
    )
