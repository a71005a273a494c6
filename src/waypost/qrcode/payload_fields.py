"""The parts that payloads are made of, each checked and escaped as its own standard says. Pure.

Everything raises INVALID on `data`, naming the part.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any
from urllib.parse import parse_qs, quote

from email_validator import EmailNotValidError, validate_email

from waypost.errors import invalid
from waypost.settings import Settings
from waypost.urls import validation

_LONGEST = 8192
_MOST_DECIMALS = 30
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_ONE_LINE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_DECORATION = re.compile(r"[\s().\-/\u00a0\u2010-\u2015]")
_NUMBER = re.compile(r"\+?[0-9]{3,15}\Z")
_WIFI_SPECIAL = re.compile(r'([\\;,:"])')
_WIFI_PIECE = re.compile(r"[^\\;]+|\\.|;")
_ESCAPED = re.compile(r"\\(.)")
_COINS = ("bitcoin", "bitcoincash", "litecoin", "dogecoin", "dash")
_COIN_ADDRESS = re.compile(r"[A-Za-z0-9]{14,100}\Z")
_COIN_URI = re.compile(r"([a-z]+):([A-Za-z0-9]{14,100})(?:\?([A-Za-z0-9._~%&=+-]*))?\Z")


class Fields:
    """The object that a client sent as `data`: unknown names are ignored, `null` is the same as absent.

    `used` has those that were asked for, and so were checked: nothing else is worth keeping.
    """

    def __init__(self, type: str, data: Mapping[str, Any]) -> None:
        self._type = type
        self._data = data
        self.used: dict[str, Any] = {}

    def text(self, name: str, *, lines: bool = False) -> str:
        """A string, "" when absent; a number will do. With `lines` it may have line ends."""
        value = self._value(name)
        if value is None:
            return ""
        if (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and isfinite(value)):
            value = str(value)
        if not isinstance(value, str):
            raise invalid("data", f"data.{name} must be a string.")
        must_be_text(value, name=f"data.{name}")
        return value if lines else line(value, name=f"data.{name}")

    def alias(self, name: str, other: str) -> None:
        """Let clients send a part under another name. It is kept under its own; both at once must be equal."""
        value = self._data.get(other)
        if value in (None, ""):
            return
        if self._data.get(name) not in (None, "", value):
            raise invalid("data", f"data.{other} is another name of data.{name}; send one of them.")
        self._data = {**self._data, name: value}

    def needed(self, name: str, *, lines: bool = False) -> str:
        """The same, not empty."""
        value = self.text(name, lines=lines)
        if not value.strip():
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
        if name in self._data:
            self.used[name] = self._data[name]
        return self._data.get(name)


_FLAGS: dict[Any, bool] = {
    **dict.fromkeys((True, 1, "true", "1", "yes"), True),
    **dict.fromkeys((None, False, 0, "false", "0", "no", ""), False),
}


def _decimal(text: str) -> Decimal:
    """Parse a number; NaN if it is none."""
    try:
        return Decimal(text)
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
    if _ONE_LINE.search(value):
        raise invalid("data", f"{name} must not have line ends or control characters.")
    return value


def crlf(text: str) -> str:
    """Every line end as CR LF."""
    return _LINE_END.sub("\r\n", text)


def url(value: str, settings: Settings) -> str:
    """A web address, or one with an app scheme that the administrator allows (decision 44)."""
    return validation.destination(line(value), field="data", settings=settings)


def web(value: str) -> str:
    """A web address for a card or an event; `example.com` alone is meant so too."""
    address = line(value)
    return validation.web_url(address if "://" in address else f"https://{address}", field="data")


def email(value: str) -> str:
    """An e-mail address."""
    address = line(value).removeprefix("mailto:")
    try:
        return validate_email(address, check_deliverability=False, test_environment=True).normalized
    except EmailNotValidError as error:
        raise invalid("data", "data.email must be a valid e-mail address, such as ana@example.com.") from error


def phone(value: str) -> str:
    """A phone number to dial: digits, optionally after a plus (RFC 3966), without separators."""
    number = _DECORATION.sub("", line(value).removeprefix("tel:"))
    if not _NUMBER.match(number):
        raise invalid("data", "data.phone must be a phone number: 3 to 15 digits, such as +49 30 1234567.")
    return number


def with_query(uri: str, **values: str) -> str:
    """The URI with those values that are not empty."""
    query = "&".join(f"{name}={quote(value, safe=',')}" for name, value in values.items() if value)
    return f"{uri}?{query}" if query else uri


def sms_parts(data: str) -> tuple[str, str]:
    """(number, message) of a number alone, of `SMSTO:` or of `sms:`."""
    scheme, colon, rest = data.strip().partition(":")
    if colon and scheme.lower() == "smsto":
        number, _, message = rest.partition(":")
        return number, message
    if colon and scheme.lower() == "sms":
        number, _, query = rest.partition("?")
        return number, parse_qs(query).get("body", [""])[0]
    return data, ""


def wifi_escaped(value: str) -> str:
    r"""With a backslash before `\ ; , : "`, so that nothing in a name or password can end it."""
    return _WIFI_SPECIAL.sub(r"\\\1", value)


def wifi_parts(data: str) -> tuple[str, str, str, str]:
    """(name, password, encryption, hidden) of a name alone or of a whole `WIFI:` text."""
    if not data.startswith("WIFI:"):
        return line(data), "", "", ""
    fields = _wifi_fields(line(data)[5:])
    if not fields.get("S"):
        raise invalid("data", "data begins with WIFI: but has no S:name; in it.")
    hidden = "true" if _FLAGS.get(fields.get("H", "").lower()) else ""
    return fields["S"], fields.get("P", ""), fields.get("T", ""), hidden


def _wifi_fields(text: str) -> dict[str, str]:
    """Split `name:value;` at semicolons without a backslash, in one pass: the text can be hostile."""
    fields = {}
    part = ""
    for piece in _WIFI_PIECE.findall(text):
        if piece != ";":
            part += piece
            continue
        name, _, value = part.partition(":")
        fields[name] = _ESCAPED.sub(r"\1", value)
        part = ""
    return fields


def degrees(value: str, most: int, name: str) -> str:
    """A coordinate without exponent and trailing zeros."""
    number = _decimal(value.strip())
    if not number.is_finite() or abs(number) > most:
        raise invalid("data", f"data needs a {name} from -{most} to {most}, such as 52.52.")
    text = f"{round(number, 7):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def coin_uri(data: str) -> str:
    """A whole URI of a payment, or an address of Bitcoin alone."""
    text = line(data)
    if _COIN_ADDRESS.match(text):
        return f"bitcoin:{text}"
    match = _COIN_URI.match(text)
    if match is None or match[1] not in _COINS:
        raise invalid("data", f"data must be an address, or a URI that begins with one of {', '.join(_COINS)}.")
    return text
