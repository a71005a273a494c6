"""What a file may be called, and how its name travels in a header (decision 18; RFC 6266, RFC 8187). Pure."""

import re
import unicodedata
from urllib.parse import quote

from waypost.errors import Problem, invalid

_MAX_BYTES = 255
_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
# Marks that turn the direction of text: with one, `gpj.exe` can be made to look like `exe.jpg`.
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNFIT = re.compile(r'[<>:"/\\|?*%\x00-\x1f\x7f]')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)", re.IGNORECASE)
_ATTR_CHAR = "!#$&+-.^_`|~"


def from_path(raw: bytes) -> str:
    """The name in the last part of a path as it came over the wire. Raises INVALID on `filename`."""
    if _PERCENT.search(raw):
        raise _wrong("has a % that is not followed by two hexadecimal digits")
    try:
        name = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), raw).decode()
    except UnicodeDecodeError:
        raise _wrong("must be percent-encoded UTF-8") from None
    return checked(name)


def checked(name: str) -> str:
    """The name, if it may be one. Raises INVALID on `filename`."""
    if not name.strip():
        raise _wrong("must not be empty")
    if "/" in name or "\\" in name:
        raise _wrong("must not have / or \\: it is a name, not a path")
    if name in (".", ".."):
        raise _wrong("must not be . or ..")
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in name):
        raise _wrong("must not have control characters")
    if _TURNING.search(name):
        raise _wrong("must not have marks that turn the direction of text")
    if len(name.encode()) > _MAX_BYTES:
        raise _wrong(f"must be at most {_MAX_BYTES} bytes")
    return name


def disposition(name: str) -> str:
    """A Content-Disposition under which any browser on any system saves the file."""
    safe = _safe(name)
    plain = unicodedata.normalize("NFKD", safe).encode("ascii", "ignore").decode()
    plain = _UNFIT.sub("_", plain) or "file"
    if plain.startswith("."):  # all the rest was not ASCII: `.pdf`
        plain = f"file{plain}" if not safe.startswith(".") else plain
    told = f'attachment; filename="{plain}"'
    return told if plain == safe else f"{told}; filename*=UTF-8''{quote(safe, safe=_ATTR_CHAR)}"


def _safe(name: str) -> str:
    """The name without what some system cannot save: reserved signs, device names, a dot or space at its end."""
    safe = _UNFIT.sub("_", _TURNING.sub("", name)).rstrip(". ") or "file"
    return f"_{safe}" if _DEVICE.match(safe) else safe


def _wrong(why: str) -> Problem:
    return invalid("filename", f"filename {why}.")
