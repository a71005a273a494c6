"""What a file is, by its first bytes: never by its name or by what the sender says. Pure."""

from collections.abc import Callable

LOOKED_AT = 64
"""Bytes from the beginning of a file that are enough to tell."""
UNKNOWN = "application/octet-stream"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""What a browser may show as a picture. Not SVG: it is a document that can hold scripts."""


def _at(offset: int, *signs: bytes) -> Callable[[bytes], bool]:
    return lambda start: any(start.startswith(sign, offset) for sign in signs)


_KINDS: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("image/png", _at(0, b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", _at(0, b"\xff\xd8\xff")),
    ("image/gif", _at(0, b"GIF87a", b"GIF89a")),
    ("image/webp", lambda start: start[:4] == b"RIFF" and start[8:12] == b"WEBP"),
    ("image/avif", _at(4, b"ftypavif", b"ftypavis")),
    ("image/heic", _at(4, b"ftypheic", b"ftypheix", b"ftypmif1")),
    ("image/tiff", _at(0, b"II*\x00", b"MM\x00*")),
    ("application/pdf", _at(0, b"%PDF-")),
    ("application/zip", _at(0, b"PK\x03\x04", b"PK\x05\x06")),
    ("application/gzip", _at(0, b"\x1f\x8b")),
    ("application/x-7z-compressed", _at(0, b"7z\xbc\xaf\x27\x1c")),
    ("application/x-xz", _at(0, b"\xfd7zXZ\x00")),
    ("application/zstd", _at(0, b"\x28\xb5\x2f\xfd")),
    ("application/vnd.rar", _at(0, b"Rar!\x1a\x07")),
    ("video/quicktime", _at(4, b"ftypqt")),
    ("video/mp4", _at(4, b"ftyp")),
    ("video/webm", _at(0, b"\x1a\x45\xdf\xa3")),
    ("video/x-msvideo", lambda start: start[:4] == b"RIFF" and start[8:12] == b"AVI "),
    ("audio/wav", lambda start: start[:4] == b"RIFF" and start[8:12] == b"WAVE"),
    ("audio/flac", _at(0, b"fLaC")),
    ("audio/ogg", _at(0, b"OggS")),
    ("audio/mpeg", _at(0, b"ID3", b"\xff\xfb", b"\xff\xf3")),
)
NOUNS = {"image": "%(format)s picture", "video": "%(format)s video", "audio": "%(format)s audio"}
WORDS = {
    "application/pdf": "PDF document",
    "application/zip": "ZIP archive",
    "application/gzip": "compressed file",
    "application/x-xz": "compressed file",
    "application/zstd": "compressed file",
    "application/x-7z-compressed": "7-Zip archive",
    "application/vnd.rar": "RAR archive",
}


def of(start: bytes) -> str:
    """The media type of a file that begins so; UNKNOWN for everything that could be text, HTML or SVG."""
    return next((kind for kind, fits in _KINDS if fits(start)), UNKNOWN)


def words(kind: str) -> tuple[str, str]:
    """What a person calls it, and the format that stands in there; "" when there is nothing to say."""
    if kind in WORDS:
        return WORDS[kind], ""
    family, _, name = kind.partition("/")
    return NOUNS.get(family, ""), name.removeprefix("x-").upper()


def size(count: int) -> str:
    """`1.4 MB`, in steps of a thousand, as systems show the size of files."""
    if count < 1000:
        return f"{count} byte" + "s" * (count != 1)
    amount, units = float(count), iter(("kB", "MB", "GB", "TB"))
    unit = ""
    while amount >= 999.5 and (following := next(units, None)):
        amount, unit = amount / 1000, following
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
