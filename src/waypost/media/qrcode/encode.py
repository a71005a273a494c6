"""Encode a text as a QR code symbol (ISO/IEC 18004, by zxing-cpp)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import zxingcpp

from waypost.core.errors import Problem, invalid
from waypost.media.qrcode.styles import Level

EYE = 7
"""Side of a finder pattern, in modules."""
LEVELS = ("L", "M", "Q", "H")
_RECOVERS = {"L": 0.07, "M": 0.15, "Q": 0.25, "H": 0.30}
_LOGO_SHARE = 0.26  # maximum share of the symbol's side that a logo covers
_SAFETY = 2.0  # a logo hides at most one in this many of the modules that the level recovers
_LARGEST = 40
_DARK = bytes.maketrans(b"\x00\xff", b"10")
_OVERFLOW = re.compile(r"requires (\d+) codewords \(maximum (\d+)\)")


@dataclass(frozen=True)
class Hole:
    """The rectangle of modules that is cleared for a logo."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Symbol:
    """The dark modules without the finder patterns: bit x of `rows[y]`. `side` is in modules."""

    rows: tuple[int, ...]
    side: int
    level: str
    hole: Hole | None = None

    @property
    def eyes(self) -> tuple[tuple[int, int], ...]:
        """Return the upper left modules of the three finder patterns."""
        far = self.side - EYE
        return (0, 0), (far, 0), (0, far)


def encode(text: str, level: Level = "auto", *, aspect: float | None = None) -> Symbol:
    """The symbol for a text. `aspect` is width by height of a logo, which clears the modules in the middle.

    `auto` is M, more where the logo needs it, and more where the same size has room. Raises INVALID on `data` when
    the text does not fit.
    """
    if level != "auto":
        return _built(_matrix(text, level), level, aspect)
    rows, least = _least(text, aspect)
    for better in LEVELS[:least:-1]:
        more = _fitting(text, better, _version(len(rows)))
        if more is not None:
            return _built(more, better, aspect)
    return _built(rows, LEVELS[least], aspect)


def _least(text: str, aspect: float | None) -> tuple[tuple[int, ...], int]:
    """Return the rows at the lowest level that is readable with the logo, and the index of that level."""
    for place, level in enumerate(LEVELS[:-1]):
        # L is only for what fits no other level, and a logo wants more than M.
        if (level in "LM" and aspect is not None) or (level == "L" and _fitting(text, "M") is not None):
            continue
        rows = _matrix(text, level)
        hole = _hole(len(rows), aspect)
        if hole is None or _reads_with(hole, len(rows), level):
            return rows, place
    rows = _matrix(text, LEVELS[-1])
    for version in range(_version(len(rows)) + 1, _LARGEST + 1):  # a short text is on a symbol too small for a logo
        hole = _hole(len(rows), aspect)
        if hole is None or _reads_with(hole, len(rows), LEVELS[-1]):
            break
        rows = _matrix(text, LEVELS[-1], version)
    return rows, len(LEVELS) - 1


def _reads_with(hole: Hole, side: int, level: str) -> bool:
    """Return whether error correction recovers the cleared modules, with a reserve for damaged prints."""
    return hole.width * hole.height * _SAFETY <= _RECOVERS[level] * _data_modules(_version(side))


def _version(side: int) -> int:
    return (side - 17) // 4


def _data_modules(version: int) -> int:
    """Return the number of modules that hold codewords rather than function patterns."""
    count = (16 * version + 128) * version + 64
    if version > 1:
        patterns = version // 7 + 2
        count -= (25 * patterns - 10) * patterns - 55
    return count - 36 if version > 6 else count


def _fitting(text: str, level: str, version: int = 0) -> tuple[int, ...] | None:
    try:
        return _matrix(text, level, version)
    except Problem:
        return None


@lru_cache(maxsize=64)
def _matrix(text: str, level: str, version: int = 0) -> tuple[int, ...]:
    # Declare UTF-8 for text that is not ASCII. Without it, scanners guess the encoding.
    options: dict[str, object] = {} if text.isascii() else {"eci": "UTF-8"}
    if version:
        options["version"] = version
    try:
        made = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode, ec_level=level, **options)
    except ValueError as error:
        raise _too_long(str(error), level, text) from error
    buffer: Any = zxingcpp.write_barcode_to_image(made, scale=1, add_quiet_zones=False)
    image = memoryview(buffer)
    side = len(image)  # of the first of two dimensions
    dark = image.tobytes().translate(_DARK)
    return tuple(int(dark[start : start + side][::-1], 2) for start in range(0, side * side, side))


def _too_long(why: str, level: str, text: str) -> Problem:
    match = _OVERFLOW.search(why)
    if match is None:
        return invalid("data", "data cannot be written as a QR code.")
    size, over = len(text.encode()), int(match[1]) - int(match[2])
    if level == "L":
        message = f"data is too long for a QR code at level {level}: {size} bytes, {over} too many. Shorten it."
    else:
        message = (
            f"data is too long for a QR code at level {level}: {size} bytes, {over} too many. Shorten it, lower the"
            " error correction, or remove the logo."
        )
    return invalid("data", message)


def _built(rows: tuple[int, ...], level: str, aspect: float | None) -> Symbol:
    side = len(rows)
    eye = (1 << EYE) - 1
    left, both = ~eye, ~(eye | eye << (side - EYE))
    bare = [row & (both if y < EYE else left if y >= side - EYE else -1) for y, row in enumerate(rows)]
    hole = _hole(side, aspect)
    if hole is not None:
        kept = ~(((1 << hole.width) - 1) << hole.x)
        for y in range(hole.y, hole.y + hole.height):
            bare[y] &= kept
    return Symbol(tuple(bare), side, level, hole)


def _hole(side: int, aspect: float | None) -> Hole | None:
    """Return the centered hole. Its sides are odd, like the symbol's, so that its edges are module edges."""
    if aspect is None:
        return None
    most = side * _LOGO_SHARE
    width, height = (_odd(most * min(1.0, aspect)), _odd(most * min(1.0, 1 / aspect)))
    return Hole((side - width) // 2, (side - height) // 2, width, height)


def _odd(length: float) -> int:
    return max(3, int((length - 1) / 2 + 0.5) * 2 + 1)


def columns(rows: Iterable[int], side: int) -> list[int]:
    """Return the same modules by column: bit y of `columns[x]`."""
    result = [0] * side
    for y, row in enumerate(rows):
        bit, left = 1 << y, row
        while left:
            low = left & -left
            result[low.bit_length() - 1] |= bit
            left ^= low
    return result
