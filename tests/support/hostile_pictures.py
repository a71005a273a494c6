"""Pictures that take much memory or time, for their few bytes."""

import struct
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO

from PIL import Image

SIDE = 4096


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, *, depth: int, color: int, rows: bytes, before: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    packed = _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + before + packed


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """Return an image as a file."""
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _with_scans(jpeg: bytes, count: int) -> bytes:
    """Return a progressive JPEG whose last scan is repeated."""
    start = jpeg.rindex(b"\xff\xda")
    return jpeg[:start] + jpeg[start:-2] * (count - jpeg.count(b"\xff\xda") + 1) + b"\xff\xd9"


def _square(mode: str = "RGB") -> Image.Image:
    return Image.new("RGB", (SIDE, SIDE), (90, 0, 0)).convert(mode)


@cache
def _progressive() -> bytes:
    return encoded(_square(), "JPEG", progressive=True)


def _animation() -> bytes:
    return encoded(_square(), "WEBP", save_all=True, append_images=[_square().rotate(angle) for angle in (1, 2)])


def _text_of_a_bomb() -> bytes:
    text = _chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(200 << 20)))
    return _png(10, 10, depth=8, color=2, rows=bytes(310), before=text)


_CREATE: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "noise": ("png", lambda: encoded(Image.effect_noise((SIDE, SIDE), 90).convert("1"), "PNG")),
    "RGBA": ("png", lambda: encoded(_square("RGBA"), "PNG")),
    "palette": ("png", lambda: encoded(_square("P"), "PNG")),
    "16 bits": ("png", lambda: _png(SIDE, SIDE, depth=16, color=6, rows=bytes(1 + SIDE * 8) * SIDE)),
    "header of a bomb": ("png", lambda: _png(60_000, 60_000, depth=8, color=2, rows=bytes(1000))),
    "more rows than the header": ("png", lambda: _png(10, 10, depth=8, color=2, rows=bytes(200 << 20))),
    "text of a bomb": ("png", _text_of_a_bomb),
    "progressive": ("jpeg", _progressive),
    "100 scans": ("jpeg", lambda: _with_scans(_progressive(), 100)),
    "1,000 scans": ("jpeg", lambda: _with_scans(_progressive(), 1000)),
    "WebP": ("webp", lambda: encoded(_square(), "WEBP")),
    "transparent WebP": (
        "webp",
        lambda: encoded(Image.new("RGBA", (SIDE, SIDE), (3, 1, 4, 9)), "WEBP", lossless=True),
    ),
    "animation": ("webp", _animation),
}
HOSTILE_PICTURES = tuple(_CREATE)
"""The names of the pictures."""


@cache
def hostile_picture(name: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a picture."""
    kind, create = _CREATE[name]
    return kind, create()


def small_picture_with_large_copy() -> bytes:
    """Return a PNG of 30 KB whose copy has more than 1 MB: noise that repeats is small as PNG only."""
    strip = Image.effect_noise((1600, 16), 90)
    image = Image.new("L", (1600, 1600))
    for top in range(0, image.height, strip.height):
        image.paste(strip, (0, top))
    return encoded(image, "PNG")
