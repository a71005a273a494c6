"""Layout in modules from the upper left of the image, and the geometry of gradients. The same for PNG, SVG and PDF."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import cos, hypot, radians, sin, sqrt
from pathlib import Path
from threading import Lock
from typing import Any

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

from waypost.media.qrcode.encode import Symbol
from waypost.media.qrcode.styles import Eyes, Modules, Style

FONT = str(Path(__file__).with_name("font") / "roboto-bold.ttf")
"""Roboto Bold. The build copies it (scripts/build_font.py)."""
STROKES: Mapping[Modules, float] = {"dots": 0.9, "bars": 0.8, "lines": 0.8, "tiles": 0.84}
"""The shapes of modules that are lines and dots, with their width. Those of `tiles` are square."""
EYE_CORNERS: Mapping[Eyes, tuple[float, float, float]] = {
    "square": (0.0, 0.0, 0.0),
    "rounded": (0.5, 0.5, 0.9),
    "dot": (0.5, 0.5, 1.5),
    "circle": (3.5, 2.5, 1.5),
    "soft": (1.5, 0.9, 0.9),
    "leaf": (1.5, 1.0, 0.8),
}
"""The radiuses of an eye: of its ring outside and inside, and of what it encloses.

The first three are square enough for the plainest decoders, which look for the corners of the rings.
"""
Corners = tuple[float, float, float, float]


def eye_corners(eyes: Eyes, inset: int) -> Corners:
    """Return the radiuses of one of the three shapes of an eye, clockwise from the upper left."""
    radius = EYE_CORNERS[eyes][inset]
    sharp = 0.0 if eyes == "leaf" else radius  # it has two round corners
    return radius, sharp, radius, sharp


_BORDER, _BAND, _ROUND = 0.03, 0.19, 0.07  # of the width of the code with its margin
_LETTERS, _LINE = 0.52, 0.86  # of the band's height and width, at most


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0


@dataclass(frozen=True)
class Card:
    """The frame: ink in `outer` but for `inner`, and the caption in the background color below."""

    outer: Box
    inner: Box
    caption: str
    middle: float
    baseline: float
    letters: float
    """Size of the font."""


@dataclass(frozen=True)
class Layout:
    """A picture of `width` by `height` modules with the symbol at (x, y), all of them whole numbers."""

    width: int
    height: int
    x: int
    y: int
    logo: Box | None
    card: Card | None


def arrange(symbol: Symbol, style: Style, aspect: float | None) -> Layout:
    """Place a symbol. The logo keeps half a module of quiet on every side of its hole."""
    whole = symbol.side + 2 * style.margin
    border = max(1, round(whole * _BORDER)) if style.caption else 0
    x = y = border + style.margin
    card = _card(whole, border, style.caption) if style.caption else None
    height = whole if card is None else int(card.outer.height)
    return Layout(whole + 2 * border, height, x, y, _logo(symbol, x, y, aspect), card)


def _logo(symbol: Symbol, x: int, y: int, aspect: float | None) -> Box | None:
    if aspect is None or symbol.hole is None:
        return None
    most_wide, most_high = symbol.hole.width - 1, symbol.hole.height - 1
    width, height = min(most_wide, most_high * aspect), min(most_high, most_wide / aspect)
    middle = symbol.side / 2
    return Box(x + middle - width / 2, y + middle - height / 2, width, height)


def _card(whole: int, border: int, caption: str) -> Card:
    band = round(whole * _BAND)
    width = whole + 2 * border
    letters = min(band * _LETTERS, whole * _LINE / text_width(caption))
    outer = Box(0, 0, width, border + whole + band, round(whole * _ROUND))
    inner = Box(border, border, whole, whole, max(1, round(whole * _ROUND) - border))
    middle_of_band = border + whole + band / 2 - border / 4
    return Card(outer, inner, caption, width / 2, middle_of_band + letters * _cap_height() / 2, letters)


# The font reads its tables and outlines when they are asked for, and two threads that ask at once spoil that for good.
_reading = Lock()


@cache
def _font() -> TTFont:
    """Call only while holding `_reading`."""
    return TTFont(FONT, lazy=True)


@cache
def _cap_height() -> float:
    with _reading:
        return float(_font()["OS/2"].sCapHeight / _font()["head"].unitsPerEm)


@cache
def _advances() -> dict[int, float]:
    """By code point, what the font can write and how wide it is."""
    with _reading:
        em, widths = _font()["head"].unitsPerEm, _font()["hmtx"]
        return {code: widths[name][0] / em for code, name in _font().getBestCmap().items()}


def cannot_write(caption: str) -> str:
    """The characters that the font does not have."""
    return "".join(dict.fromkeys(letter for letter in caption if ord(letter) not in _advances()))


def text_width(caption: str) -> float:
    """The width of a line, in font sizes."""
    return sum(_advances()[ord(letter)] for letter in caption) or 1.0


Move = tuple[float, ...]
"""The numbers of a step: a point to move to or draw a line to, three points of a cubic curve, or none."""


def letters(card: Card) -> Iterator[tuple[str, Move]]:
    """The outlines of the caption, in modules: `M`, `L`, `C` and `Z` with absolute coordinates."""
    left, scale = card.middle - text_width(card.caption) * card.letters / 2, card.letters
    for letter in card.caption:
        for step, numbers in _outline(letter):
            points = zip(numbers[::2], numbers[1::2], strict=True)
            yield step, tuple(part for x, y in points for part in (left + x * scale, card.baseline - y * scale))
        left += _advances()[ord(letter)] * scale


@lru_cache(maxsize=4096)
def _outline(letter: str) -> Sequence[tuple[str, Move]]:
    """Return the outline of a glyph at its position in the line, in font units, y upwards."""
    with _reading:
        glyphs, em = _font().getGlyphSet(), _font()["head"].unitsPerEm
        pen = _Pen(glyphs, em)
        glyphs[_font().getBestCmap()[ord(letter)]].draw(pen)
    return pen.moves


class _Pen(BasePen):  # type: ignore[misc]  # fontTools has no types
    """Takes down an outline; quadratic curves arrive as cubic ones."""

    def __init__(self, glyphs: Any, em: float) -> None:
        super().__init__(glyphs)
        self.moves: list[tuple[str, Move]] = []
        self._em = em

    def _moveTo(self, point: Move) -> None:
        self._take("M", point)

    def _lineTo(self, point: Move) -> None:
        self._take("L", point)

    def _curveToOne(self, *points: Move) -> None:
        self._take("C", *points)

    def _closePath(self) -> None:
        self._take("Z")

    def _take(self, step: str, *points: Move) -> None:
        self.moves.append((step, tuple(part / self._em for point in points for part in point)))


def linear_ends(angle: int, side: float) -> tuple[float, float, float, float]:
    """Return (x1, y1, x2, y2) of a line through the center of a square, `angle` degrees clockwise from the x axis.

    The line is long enough that opposite corners of the square have the two colors.
    """
    across, down = cos(radians(angle)), sin(radians(angle))
    reach = (abs(across) + abs(down)) * side / 2
    middle = side / 2
    return middle - across * reach, middle - down * reach, middle + across * reach, middle + down * reach


def gradient_share(kind: str, angle: int, x: float, y: float) -> float:
    """Return the position of a point of the unit square along a gradient, 0 to 1."""
    if kind == "radial":
        return min(1.0, hypot(x - 0.5, y - 0.5) / sqrt(0.5))
    x1, y1, x2, y2 = linear_ends(angle, 1.0)
    along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
    return float(min(1.0, max(0.0, along)))
