"""Colors as people write them, and those of a brand.

Colors are written as `#0a5cff`, `0A5CFF`, `#05f`, `rgb(10, 92, 255)`, or a name of CSS such as `navy`. Buttons have the
color of the brand, with readable text; links and shapes a readable shade of it, by mode.
"""

import colorsys
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from PIL import ImageColor

_HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})", re.IGNORECASE)
_RGB = re.compile(r"rgb\(\s*([0-9]{1,3})[\s,]+([0-9]{1,3})[\s,]+([0-9]{1,3})\s*\)", re.IGNORECASE)
_TEXT_CONTRAST, _SHAPE_CONTRAST = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11
_STEPS = 100
_TINT_SHARE = {"light": 0.1, "dark": 0.16}
_HOVER_SHARE = 0.2
_TEXTS = ("#ffffff", "#0b1511", "#000000")
"""Texts on a button, the preferred first. Black or white is readable on every color."""
Rgb = tuple[float, float, float]


def parse_color(text: str) -> str | None:
    """Return a color of three numbers as `#rrggbb`; None if it is none."""
    text = text.strip().lower()
    if match := _HEX.fullmatch(text):
        digits = match[1]
        return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    match = _RGB.fullmatch(text)
    if match is None or max(parts := [int(value) for value in match.groups()]) > 255:
        return None
    return "#" + "".join(f"{part:02x}" for part in parts)


def parse_color_name(text: str) -> str | None:
    """Return the color with a name of CSS as `#rrggbb`; None for another name."""
    name = text.strip().lower()
    if name not in ImageColor.colormap:
        return None
    red, green, blue = ImageColor.getrgb(name)[:3]  # not the value: Pillow replaces it by numbers at its first use
    return f"#{red:02x}{green:02x}{blue:02x}"


@dataclass(frozen=True)
class Surfaces:
    """The colors of web/src/tokens.css that an accent color must contrast with."""

    background: str
    card: str
    inset: str
    muted: str
    on_accent: str


LIGHT = Surfaces("#f6f6f3", "#ffffff", "#f1f1ed", "#5c6661", "#ffffff")
DARK = Surfaces("#101412", "#181d1b", "#202623", "#9ba69f", "#0b1511")


@dataclass(frozen=True)
class Accent:
    """The colors of one mode, as `#rrggbb`.

    `accent` is that of links and shapes, `fill` that of buttons: the brand's own. `light` is that of the second series
    of charts.
    """

    accent: str
    hover: str
    on_accent: str
    tint: str
    light: str
    fill: str
    fill_hover: str
    on_fill: str


@lru_cache(maxsize=256)
def accents(color: str) -> tuple[Accent, Accent]:
    """Return the colors for light and for dark mode.

    Buttons have the color itself. As an accent, a color that is too light on a light page gets darker, and the other
    way round; its hue stays.
    """
    return _accent(color, LIGHT, "light"), _accent(color, DARK, "dark")


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colors, 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _accent(color: str, surfaces: Surfaces, mode: str) -> Accent:
    end = "#000000" if mode == "light" else "#ffffff"
    accent = next(shade for shade in shades(color, end) if _is_readable(shade, surfaces, mode))
    on_fill = next(text for text in _TEXTS if contrast(text, color) >= _TEXT_CONTRAST)
    return Accent(
        fill=color,
        fill_hover=_mix(color, "#000000" if on_fill == _TEXTS[0] else "#ffffff", _HOVER_SHARE),
        on_fill=on_fill,
        accent=accent,
        hover=_mix(accent, end, _HOVER_SHARE),
        on_accent=surfaces.on_accent,
        tint=_tint(accent, surfaces, mode),
        light=_second(accent, surfaces),
    )


def _is_readable(accent: str, surfaces: Surfaces, mode: str) -> bool:
    """Return whether the accent is readable on all surfaces and on its tint, and text on the accent."""
    tint = _tint(accent, surfaces, mode)
    others = (surfaces.background, surfaces.card, surfaces.inset, surfaces.on_accent, tint)
    return min(contrast(accent, other) for other in others) >= _TEXT_CONTRAST


def _tint(accent: str, surfaces: Surfaces, mode: str) -> str:
    """Return the card with as much of the accent as muted text allows."""
    tints = (_mix(surfaces.card, accent, _TINT_SHARE[mode] * (1 - step / _STEPS)) for step in range(_STEPS + 1))
    return next(tint for tint in tints if contrast(surfaces.muted, tint) >= _TEXT_CONTRAST)


def _second(accent: str, surfaces: Surfaces) -> str:
    """Return the color that is nearest to the card and still visible on it."""
    mixed = (_mix(surfaces.card, accent, step / _STEPS) for step in range(_STEPS + 1))
    return next(color for color in mixed if contrast(color, surfaces.card) >= _SHAPE_CONTRAST)


def shades(color: str, end: str) -> Iterator[str]:
    """Yield the color, then ever darker or lighter ones of its hue, up to black or white."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(color))
    target = 0.0 if end == "#000000" else 1.0
    yield color
    for step in range(1, _STEPS + 1):
        nearer = lightness + (target - lightness) * step / _STEPS
        yield _hex(colorsys.hls_to_rgb(hue, nearer, saturation))


def _mix(first: str, second: str, share: float) -> str:
    """Return the first color with a share of the second, 0 to 1."""
    pairs = zip(_rgb(first), _rgb(second), strict=True)
    red, green, blue = (one + (other - one) * share for one, other in pairs)
    return _hex((red, green, blue))


def _luminance(color: str) -> float:
    """Return the relative luminance, 0 to 1 (WCAG 2.2)."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in _rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(color: str) -> Rgb:
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _hex(rgb: Rgb) -> str:
    return "#" + "".join(f"{round(value * 255):02x}" for value in rgb)
