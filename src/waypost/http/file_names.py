"""Validate file names, and encode them for Content-Disposition (decision 18; RFC 6266, RFC 8187)."""

import re
import unicodedata
from urllib.parse import quote

from waypost.errors import Problem, invalid

_MAX_BYTES = 255
_INVALID_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
# Characters that change the text direction: they can make `gpj.exe` look like `exe.jpg`.
_BIDI_CONTROL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RESERVED_CHARACTERS = re.compile(r'[<>:"/\\|?*%\x00-\x1f\x7f]')
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


def validate(name: str) -> str:
    """Return the name if it is valid. Raises INVALID on `filename`."""
    if not name.strip():
        raise _invalid("must not be empty")
    if "/" in name or "\\" in name:
        raise _invalid("must not contain / or \\: it is a name, not a path")
    if name in (".", ".."):
        raise _invalid("must not be . or ..")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in name):
        raise _invalid("must not contain control characters")
    if _BIDI_CONTROL.search(name):
        raise _invalid("must not contain characters that change the text direction")
    if len(name.encode()) > _MAX_BYTES:
        raise _invalid(f"must be at most {_MAX_BYTES} bytes")
    return name


def disposition(name: str) -> str:
    """Return a Content-Disposition with which every browser and system can save the file."""
    safe = _safe(name)
    plain = unicodedata.normalize("NFKD", safe).encode("ascii", "ignore").decode()
    plain = _RESERVED_CHARACTERS.sub("_", plain) or "file"
    if plain.startswith("."):  # all but the extension was not ASCII: `.pdf`
        plain = f"file{plain}" if not safe.startswith(".") else plain
    header = f'attachment; filename="{plain}"'
    return header if plain == safe else f"{header}; filename*=UTF-8''{quote(safe, safe=_ATTR_CHAR)}"


def _safe(name: str) -> str:
    """Remove what some systems cannot save: reserved characters, device names, a final dot or space."""
    safe = _RESERVED_CHARACTERS.sub("_", _BIDI_CONTROL.sub("", name)).rstrip(". ") or "file"
    return f"_{safe}" if _DEVICE.match(safe) else safe


def _invalid(reason: str) -> Problem:
    return invalid("filename", f"filename {reason}.")
