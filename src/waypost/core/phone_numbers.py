"""Phone numbers that people type, and what a phone has to dial (RFC 3966, ITU-T E.123). Pure."""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote

from waypost.core.errors import invalid
from waypost.core.uris import component

_SCHEME = re.compile(r"tel:(//)?", re.IGNORECASE)
_EXTENSION = re.compile(r"(?:(?:extension|ext)[.:=]?|x)\s*([0-9]{1,11})\Z", re.IGNORECASE)
_PAUSE = re.compile(r"[,;pw]", re.IGNORECASE)
_AFTER = re.compile(r"(?:[,;]+[0-9*#]+){1,10}\Z")
_SEPARATORS = re.compile(r"[\s.\-/\u00b7\u2010-\u2015\u2212]")
_GROUP = re.compile(r"\(((?!8\))[^()0][^()]*)\)")  # neither (0) nor (8), which can be a trunk prefix
_NUMBER = re.compile(r"\+?[0-9]{3,15}\Z")
_SERVICE_CODE = re.compile(r"(?=.{0,9}[0-9])[0-9]{0,6}[*#][0-9*#]{1,40}\Z")
# No code is the beginning of another one.
_COUNTRY_CODE = re.compile(r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9][0-9][0-9]")
_MIN_INTERNATIONAL = 7
_LONGEST_AREA, _LONGEST_AREA_ABROAD = 6, 8  # digits, with trunk prefix and country code: 035602, +49 (0)35602
_TRUNK_PREFIXES = {"7": "8", "36": "06", "370": "8", "375": "8", "993": "8"}
"""The digits before a number that is dialed within the country, by country code; "0" elsewhere."""
_LENGTHS = {"7": 10, "370": 8, "375": 9, "993": 8}
"""The digits after the country code, where an 8 can be a trunk prefix or the first one of them."""
_ZERO_STAYS = frozenset("39 47 225 226 229 241 242 378 379 800 881 888 992".split())
"""Country codes with numbers that begin with 0, which is dialed from everywhere."""


@dataclass(frozen=True)
class PhoneNumber:
    """A number without separators. `after`: what the phone sends once it is connected; each comma is a pause.

    `fault` says why the number cannot be dialed, and the repair; "" if it can.
    """

    dialed: str
    after: str = ""
    fault: str = ""

    @property
    def text(self) -> str:
        """The number as it is typed on a phone."""
        return f"{self.dialed}{self.after}"

    @property
    def uri(self) -> str:
        """The `tel:` URI. `#` would begin its fragment, and `;` a parameter."""
        return f"tel:{component(self.text, safe='+*,')}"

    @property
    def is_plain(self) -> bool:
        """True if messages can be sent to it: digits only, without an extension."""
        return not self.after and _NUMBER.match(self.dialed) is not None


def read(typed: str, *, field: str) -> PhoneNumber:
    """Read a number with any separators, with an extension, pauses (`,` or `p`) or waits (`;` or `w`), or a tel: URI.

    Raises INVALID if it is none. The message and the `fault` begin with `field`.
    """
    text = _plain(typed)
    if scheme := _SCHEME.match(text):
        text = unquote(text[scheme.end() :])
    number, after = _split(text)
    second = _is_two(number)
    number = _GROUP.sub(r"\1", _SEPARATORS.sub("", number))
    dialed, fault = _dialed(number, field)
    is_number = _NUMBER.match(dialed) or _SERVICE_CODE.match(dialed)
    if not is_number or not (after == "" or _AFTER.match(after)):
        message = f"{field} must be a phone number: 3 to 15 digits, such as +49 30 1234567, or a code such as *100#."
        raise invalid(field, message)
    if not fault and dialed.startswith("+") and len(dialed) <= _MIN_INTERNATIONAL:
        fault = f"{field} is too short for a number with a country code. Check its digits."
    if not fault and second:
        fault = f"{field} has a slash after a whole number, as between two numbers. Enter one of them."
    return PhoneNumber(dialed, after, fault)


def _is_two(number: str) -> bool:
    """Return whether a slash can separate two numbers, because more digits are before it than an area code has."""
    before = number.rpartition("/")[0]
    longest = _LONGEST_AREA_ABROAD if before.lstrip(" (").startswith(("+", "00")) else _LONGEST_AREA
    return sum(map(str.isdigit, before)) > longest


def _plain(typed: str) -> str:
    """Return the text with digits of every script as 0 to 9, and without the invisible marks of copied numbers."""
    text = unicodedata.normalize("NFKC", typed).strip()
    visible = (letter for letter in text if unicodedata.category(letter) != "Cf")
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in visible).strip()


def _split(text: str) -> tuple[str, str]:
    """Split at the first pause. An extension follows a pause: phones dial it, and do not know RFC 3966's `;ext=`."""
    extension = _EXTENSION.search(text)
    if extension is not None:
        return text[: extension.start()].rstrip(" ,;"), f",{extension[1]}"
    pause = _PAUSE.search(text)
    if pause is None:
        return text, ""
    after = _SEPARATORS.sub("", text[pause.start() :].lower())
    return text[: pause.start()], after.replace("p", ",").replace("w", ";")


def _dialed(number: str, field: str) -> tuple[str, str]:
    """Return the number without the trunk prefix, "(0)", and brackets; and the fault of an unclear one."""
    prefix = next((prefix for prefix in ("+", "00") if number.startswith(prefix)), "")
    bare = _without_brackets(number)
    if not prefix:
        fault = f"{field} has (0) without a country code. Begin with + and the country code, and leave out (0)."
        return bare, fault if "(0)" in number[1:] else ""
    country = _COUNTRY_CODE.match(number, len(prefix))
    if country is None:
        return bare, f"{field} has no country code after {prefix}. Write it as +49 30 1234567."
    code, rest = country[0], number[country.end() :]
    trunk = _TRUNK_PREFIXES.get(code, "0")
    if code in _ZERO_STAYS:
        fault = f"{field} has (0) after +{code}. Write 0 without brackets if it is dialed from abroad, or leave it out."
        return bare, fault if "(0)" in rest else ""
    rest = rest.removeprefix(f"({trunk})")
    digits = _without_brackets(rest)
    is_too_long = digits.startswith(trunk) and len(digits) - len(trunk) >= _LENGTHS.get(code, len(digits))
    if digits.startswith("0") or is_too_long:
        repaired = f"+{code}{digits.removeprefix(trunk).lstrip('0')}"
        prefixed = trunk if digits.startswith(trunk) else "0"
        fault = f"{field} has {prefixed} after +{code}, which is not dialed from abroad. Write {repaired}."
        return f"{prefix}{code}{digits}", fault
    fault = f"{field} has (0) within the number. Leave it out, or write 0 without brackets."
    return f"{prefix}{code}{digits}", fault if "(0)" in rest else ""


def _without_brackets(number: str) -> str:
    return number.replace("(", "").replace(")", "")
