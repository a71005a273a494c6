"""Detect the media type of a file from its first bytes, never from its name or from headers of the upload.

Texts and office documents have no such bytes of their own. Their name decides how they are described, never how they
are sent.
"""

import re
from collections.abc import Callable
from decimal import Decimal

from waypost.core import formats

_UNIT = r"(?:([kmgt])(i?)[bo]?|b(?:ytes?)?|o(?:ctets?)?)?"
_SIZE = re.compile(rf"([0-9]{{1,15}}(?:[.,][0-9]{{1,6}})?) *{_UNIT}", re.ASCII | re.IGNORECASE)
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
_BINARY_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20))
SNIFF_BYTES = 64
"""Number of bytes that are enough to detect the type."""
UNKNOWN = "application/octet-stream"
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
"""Types that browsers may show as an image. Not SVG, which can contain scripts."""


def _at(offset: int, *signatures: bytes) -> Callable[[bytes], bool]:
    return lambda start: any(start.startswith(signature, offset) for signature in signatures)


_SIGNATURES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("image/png", _at(0, b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", _at(0, b"\xff\xd8\xff")),
    ("image/gif", _at(0, b"GIF87a", b"GIF89a")),
    ("image/webp", lambda start: start[:4] == b"RIFF" and start[8:12] == b"WEBP"),
    ("image/avif", _at(4, b"ftypavif", b"ftypavis")),
    ("image/heic", _at(4, b"ftypheic", b"ftypheix", b"ftyphevc", b"ftypmif1", b"ftypmsf1")),
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
FAMILY_DESCRIPTIONS = {"image": "%(format)s picture", "video": "%(format)s video", "audio": "%(format)s audio"}
_FAMILY_ICONS = {"image": "photo", "video": "film", "audio": "musical-note"}
DESCRIPTIONS = {
    "application/pdf": "PDF document",
    "application/zip": "ZIP archive",
    "application/gzip": "compressed file",
    "application/x-xz": "compressed file",
    "application/zstd": "compressed file",
    "application/x-7z-compressed": "7-Zip archive",
    "application/vnd.rar": "RAR archive",
}
_DOCUMENT, _TABLE, _SLIDES = "%(format)s document", "%(format)s table", "%(format)s presentation"
_OTHER, _PICTURE = "%(format)s file", FAMILY_DESCRIPTIONS["image"]
ALL_DESCRIPTIONS = (*DESCRIPTIONS.values(), *FAMILY_DESCRIPTIONS.values(), _DOCUMENT, _TABLE, _SLIDES, _OTHER)
"""The texts to translate."""
_OFFICE = {
    **dict.fromkeys(("docx", "odt", "pages", "epub"), _DOCUMENT),
    **dict.fromkeys(("xlsx", "ods", "numbers"), _TABLE),
    **dict.fromkeys(("pptx", "odp", "key"), _SLIDES),
}
"""Descriptions of files that are ZIP archives, by the end of their name."""
_TEXTS = {
    **dict.fromkeys(("doc", "rtf", "md", "tex"), _DOCUMENT),
    **dict.fromkeys(("csv", "tsv", "xls"), _TABLE),
    **dict.fromkeys(("svg", "ico", "bmp", "ai", "eps"), _PICTURE),
    **dict.fromkeys(
        ("txt", "log", "ics", "vcf", "json", "jsonl", "xml", "yaml", "html", "css", "js", "sql", "gpx"), _OTHER
    ),
    "ppt": _SLIDES,
}
"""Descriptions of files of an unknown type, by the end of their name."""


def detect(start: bytes) -> str:
    """Return the media type of a file with this beginning; UNKNOWN for all text, HTML and SVG."""
    return next((media_type for media_type, matches in _SIGNATURES if matches(start)), UNKNOWN)


def describe(kind: str, name: str = "") -> tuple[str, str]:
    """Return a description of a file with this name, and the format to insert into it; "" if the type is unknown."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    by_name = {"application/zip": _OFFICE, UNKNOWN: _TEXTS}.get(kind, {})
    if ending in by_name:
        return by_name[ending], ending.upper()
    if kind in DESCRIPTIONS:
        return DESCRIPTIONS[kind], ""
    family, _, name_of_format = kind.partition("/")
    return FAMILY_DESCRIPTIONS.get(family, ""), name_of_format.removeprefix("x-").upper()


def icon(kind: str, name: str = "") -> str:
    """Return the name of an icon for files of this type and name."""
    description, _ = describe(kind, name)
    if kind == "application/pdf" or description in (_DOCUMENT, _TABLE, _SLIDES, _OTHER):
        return "document-text"
    if description == _PICTURE:
        return "photo"
    if kind in DESCRIPTIONS:
        return "archive-box"
    return _FAMILY_ICONS.get(kind.partition("/")[0], "document")


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `500 MB`, `1.5 GB` or `2 GiB`; a number alone is bytes.

    Accepts the French and Arabic units too, such as `500 Mo`. Raises ValueError.
    """
    match = _SIZE.fullmatch(formats.english_size(text).strip())
    if match is None:
        raise ValueError("must be a size, such as 500 MB or 2 GB")
    amount, prefix, binary = match.groups()
    factor = (1024 if binary else 1000) ** (" kmgt".index(prefix.lower()) if prefix else 0)
    return int(Decimal(amount.replace(",", ".")) * factor)


def format_limit(count: int) -> str:
    """Format a limit in bytes: exactly if two decimals of `MB` or `MiB` are enough, or else as `format_size`."""
    for units in (_UNITS, _BINARY_UNITS):
        unit, factor = next(((unit, factor) for unit, factor in units if count >= factor), ("", 1))
        amount = Decimal(count) / factor
        if unit and amount == round(amount, 2):
            return f"{amount.normalize():f} {unit}"
    return format_size(count)


def format_size(count: int) -> str:
    """Format a number of bytes with decimal units, such as `1.4 MB`."""
    if count < 1000:
        return f"{count} byte" + "s" * (count != 1)
    amount, units = float(count), iter(("kB", "MB", "GB", "TB"))
    unit = ""
    while amount >= 999.5 and (following := next(units, None)):
        amount, unit = amount / 1000, following
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
