"""The width and height of a picture, read from the first bytes of its file without decoding it."""

import re
from collections.abc import Iterator

Size = tuple[int, int]
"""Width and height, in pixels, as browsers show the picture: upright."""
HEADER_BYTES = 256 * 1024
"""The bytes at the beginning of a file that nearly always contain its size: cameras write large notes before it."""
WEBP_BYTES = 30
"""The same for a WebP file."""
_SIDEWAYS = (5, 6, 7, 8)  # values of the Exif tag for pictures that are turned by 90 degrees
_ORIENTATION = 0x0112
_NO_FRAME = (0xC4, 0xC8, 0xCC)  # segments of a JPEG whose numbers are among those of frames


def size_of(header: bytes) -> Size | None:
    """Return the size of a PNG, GIF, WebP, JPEG or AVIF from its first bytes; None if they do not contain it."""
    if header.startswith(b"\x89PNG\r\n\x1a\n") and len(header) >= 24:
        size = _number(header[16:20]), _number(header[20:24])
    elif header.startswith((b"GIF87a", b"GIF89a")) and len(header) >= 10:
        size = _little(header[6:8]), _little(header[8:10])
    elif header.startswith(b"\xff\xd8\xff"):
        size = _of_jpeg(header)
    elif header[4:8] == b"ftyp":
        size = _of_avif(header)
    else:
        size = _of_webp(header)
    return size if all(size) else None


def _of_webp(header: bytes) -> Size:
    """Return the size of a WebP picture (RFC 9649, sections 2.5 to 2.7)."""
    if len(header) < WEBP_BYTES or header[:4] != b"RIFF" or header[8:12] != b"WEBP":
        return 0, 0
    match header[12:16]:
        case b"VP8 ":
            return _little(header[26:28]) & 0x3FFF, _little(header[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(header[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(header[24:27]) + 1, _little(header[27:30]) + 1
    return 0, 0


def _of_jpeg(header: bytes) -> Size:
    """Return the size in the frame header, with its sides exchanged if Exif says that the picture is turned."""
    is_sideways = False
    for marker, segment in _segments(header):
        if marker == 0xE1 and segment.startswith(b"Exif\0\0"):
            is_sideways = _orientation(segment[6:]) in _SIDEWAYS
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME and len(segment) >= 5:
            height, width = _number(segment[1:3]), _number(segment[3:5])
            return (height, width) if is_sideways else (width, height)
    return 0, 0


def _segments(header: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each segment of a JPEG until its first scan."""
    at = 2
    while at + 4 <= len(header) and header[at] == 0xFF and header[at + 1] != 0xDA:
        if header[at + 1] == 0xFF:  # a fill byte
            at += 1
            continue
        length = _number(header[at + 2 : at + 4])
        yield header[at + 1], header[at + 4 : at + 2 + length]
        at += 2 + length


def _orientation(tiff: bytes) -> int:
    """Return the orientation in the first directory of Exif data; 0 if there is none."""
    read = _little if tiff.startswith(b"II") else _number

    def number(start: int, size: int) -> int:
        return read(tiff[start : start + size])

    first = number(4, 4)
    entries = range(first + 2, min(first + 2 + 12 * number(first, 2), len(tiff) - 11), 12)
    return next((number(entry + 8, 2) for entry in entries if number(entry, 2) == _ORIENTATION), 0)


def _of_avif(header: bytes) -> Size:
    """Return the largest size of the images in the file, which include tiles, transparency and thumbnails."""
    sizes = [(_number(box[1]), _number(box[2])) for box in re.finditer(rb"ispe\0{4}(.{4})(.{4})", header, re.DOTALL)]
    if not sizes:
        return 0, 0
    width, height = max(sizes, key=lambda size: size[0] * size[1])
    turned = re.search(rb"irot(.)", header, re.DOTALL)
    return (height, width) if turned is not None and turned[1][0] & 1 else (width, height)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
