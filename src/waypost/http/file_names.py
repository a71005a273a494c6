"""Validate file names, and encode them for Content-Disposition (decision 18; RFC 6266, RFC 8187)."""

import re
import unicodedata
from urllib.parse import quote

from waypost.core.errors import Problem, invalid

_MAX_BYTES = 255
_MAX_PORTABLE = 150
_MAX_NAMED_BYTES = 200
_INVALID_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
# They change the text direction of others, so that `gpj.exe` can look like `exe.jpg`.
_BIDI_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f]+")
# Replaced in downloads. Uploads with these characters are rejected, but other names are not validated.
_UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|" + _BIDI_CONTROL.pattern)
_RESERVED_CHARACTERS = re.compile(r'[<>:"/\\|?*%\x00-\x1f\x7f]')
_RESERVED_IN_NAMES = re.compile(r'[<>:"|?*]')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE)
_ATTR_CHAR = "!#$&+-.^_`|~"


def from_path(raw: bytes) -> str:
    """Decode the file name in the last segment of a raw URL path. Raises INVALID on `filename`."""
    if _INVALID_PERCENT.search(raw):
        raise _invalid("has a % that is not followed by two hexadecimal digits")
    try:
        name = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw).decode()
    except UnicodeDecodeError:
        raise _invalid("must be percent-encoded UTF-8") from None
    return validate(name)


def without_direction_marks(text: str) -> str:
    """Return a text without marks of the text direction, which are harmless and cannot be seen.

    Systems in Arabic and Hebrew, and WhatsApp, put them into names of files.
    """
    return _DIRECTION_MARKS.sub("", text)


def direction_fault(text: str) -> str:
    """Return why a text must not be shown, if it changes the text direction; "" if it does not."""
    match = _BIDI_CONTROL.search(text)
    return (
        f"must not contain U+{ord(match[0]):04X}, which cannot be seen and changes the text direction" if match else ""
    )


def validate(name: str) -> str:
    """Return the name without marks of the text direction. Raises INVALID on `filename` if it is not valid."""
    name = without_direction_marks(name)
    if not name.strip():
        raise _invalid("must not be empty")
    if "/" in name or "\\" in name:
        raise _invalid("must not contain / or \\: it is a name, not a path")
    if name in (".", ".."):
        raise _invalid("must not be . or ..")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in name):
        raise _invalid("must not contain control characters")
    if fault := direction_fault(name):
        raise _invalid(fault)
    if len(name.encode()) > _MAX_BYTES:
        raise _invalid(f"must be at most {_MAX_BYTES} bytes")
    return name


def disposition(name: str) -> str:
    """Return a Content-Disposition with the exact name, and a fallback that every system can save (decision 60)."""
    exact = _UNSAFE.sub("_", without_direction_marks(name))
    fallback = _fallback(exact)
    header = f'attachment; filename="{fallback}"'
    return header if fallback == exact else f"{header}; filename*=UTF-8''{quote(exact, safe=_ATTR_CHAR)}"


def named(text: str, extension: str, *, addition: str = "") -> str:
    """Return the name of a file that is called by a text of its user, such as `Poster Autumn.svg`.

    Other scripts are kept; characters and names that a system reserves are replaced. A long text is cut, and the
    addition follows it.
    """
    added = _safe(addition, _MAX_NAMED_BYTES // 2)
    safe = _safe(text, _MAX_NAMED_BYTES - len(added.encode())).strip(" .") or "file"
    return f"{'_' if _DEVICE.match(safe) else ''}{safe}{added}.{extension}"


def _safe(text: str, most: int) -> str:
    """Return the text without characters that a system reserves, in at most so many bytes."""
    safe = _UNSAFE.sub("_", _RESERVED_IN_NAMES.sub("_", without_direction_marks(text)))
    return safe.encode()[:most].decode(errors="ignore")


def attachment(text: str, extension: str) -> str:
    """Return the Content-Disposition of a download that is called by a text of its user."""
    return disposition(named(text, extension))


def portable(name: str) -> str:
    """Return the name in ASCII, as every system can save it."""
    return _fallback(name)[-_MAX_PORTABLE:]


def _fallback(name: str) -> str:
    """Return the name in ASCII, without reserved characters, device names, and a final dot or space."""
    safe = _RESERVED_CHARACTERS.sub("_", name).rstrip(". ") or "file"
    plain = unicodedata.normalize("NFKD", safe).encode("ascii", "ignore").decode()
    plain = _RESERVED_CHARACTERS.sub("_", plain).rstrip(". ") or "file"
    if plain.startswith(".") and not safe.startswith("."):  # all but the extension was not ASCII: `.pdf`
        plain = f"file{plain}"
    return f"_{plain}" if _DEVICE.match(plain) else plain


def _invalid(reason: str) -> Problem:
    return invalid("filename", f"filename {reason}.")
