"""Style options of QR codes and their validation. Pure."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from waypost.core.errors import Problem, invalid
from waypost.media.branding import colors

Level = Literal["auto", "L", "M", "Q", "H"]
Modules = Literal["square", "rounded", "dots", "bars", "lines", "tiles"]
Eyes = Literal["square", "rounded", "dot", "circle", "soft", "leaf"]
Shading = Literal["linear", "radial"]
LEAST_CONTRAST = 3.0
LEAST_SIZE, MOST_SIZE = 64, 4096
LEAST_MARGIN, MOST_MARGIN = 2, 20
LONGEST_CAPTION = 40
Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Gradient:
    """A gradient from the foreground to `color`: linear at `angle` degrees clockwise from the x axis, or radial."""

    color: str
    type: Shading = "linear"
    angle: int = 45


@dataclass(frozen=True)
class Style:
    """The appearance of a QR code except its logo. Colors are `#rrggbb`, `margin` is in modules.

    `transparent`: the background is not drawn. Inside of a frame it is.
    """

    foreground: str = "#000000"
    background: str = "#ffffff"
    gradient: Gradient | None = None
    modules: Modules = "square"
    eyes: Eyes = "square"
    level: Level = "auto"
    margin: int = 4
    caption: str = ""
    transparent: bool = False

    @cached_property
    def ink(self) -> Rgb:
        """The foreground as RGB."""
        return rgb(self.foreground)

    @cached_property
    def paper(self) -> Rgb:
        """The background as RGB."""
        return rgb(self.background)


PLAIN = Style()


def color(value: str, *, field: str) -> str:
    """Normalize a color to `#rrggbb` (decision 33). Raises INVALID on `field`."""
    parsed = colors.parse_color(value) or colors.parse_color_name(value)
    if parsed is None and value.strip().lower() == "transparent":
        raise _unreadable(field, f"{field} is transparent, so the surface behind the code would decide; use white")
    if parsed is None:
        message = f"{field} must be a color: #RRGGBB, #RGB, rgb(r,g,b) from 0 to 255, or a name such as navy."
        raise invalid(field, message)
    return parsed


def rgb(value: str) -> Rgb:
    """Parse `#rrggbb`."""
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colors, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(value: str) -> float:
    """Return the relative luminance, 0 to 1 (WCAG 2.2)."""
    parts = [part / 255 for part in rgb(value)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def must_be_readable(style: Style) -> None:
    """Raise INVALID with the fix if the contrast is too low for scanners (decision 33)."""
    inks = [("foreground", style.foreground)]
    if style.gradient is not None:
        inks.append(("gradient", style.gradient.color))
    for field, ink in inks:
        ratio = contrast(ink, style.background)
        if ratio >= LEAST_CONTRAST and luminance(ink) > luminance(style.background):
            raise _unreadable(field, f"{field} {ink} is lighter than background {style.background}; swap them")
        if ratio < LEAST_CONTRAST:
            fault = f"{field} {ink} on background {style.background} has a contrast of {ratio:.1f}:1"
            raise _unreadable(field, f"{fault}, and scanners need 3:1; make {field} darker or background lighter")


def _unreadable(field: str, why: str) -> Problem:
    return invalid(field, f"This code could not be scanned: {why}.")
