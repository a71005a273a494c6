"""Own colors and background of a bio page: text can be read on them, or they are refused. Pure functions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import floor
from typing import Any, NamedTuple

from waypost.core.errors import invalid
from waypost.items.bios import themes
from waypost.items.bios.themes import Palette
from waypost.media.qrcode.styles import contrast, rgb

Design = Mapping[str, Any]
"""Colors as `#rrggbb`: `background`, `gradient` (its color at the bottom), `text`, `button` and `buttontext`, and the
name of a `picture`. "" means no gradient, no picture, or black or white text, whichever can be read better."""
DEFAULTS: Design = {
    "background": "#ffffff",
    "gradient": "",
    "picture": "",
    "text": "",
    "button": "#16202c",
    "buttontext": "",
}
MIN_CONTRAST = 4.5
"""Contrast of text to its background (WCAG 2.2, 1.4.3)."""
_COLORS = ("background", "gradient", "text", "button", "buttontext")
_DARK, _LIGHT = "#000000", "#ffffff"
_STEPS = 16  # a gradient can be darker in the middle than at both ends
_SOFT_SHARE, _LINE_SHARE = 0.75, 0.25  # of the text color in secondary text and in borders


class Fault(NamedTuple):
    """A part of a design that is refused; the message begins with its name."""

    part: str
    message: str


def complete(design: Design | None) -> dict[str, Any] | None:
    """Return the design with all parts, and with colors in lower case."""
    if design is None:
        return None
    parts = {name: design.get(name) or default for name, default in DEFAULTS.items()}
    return {name: value.lower() if name in _COLORS else value for name, value in parts.items()}


def faults(design: Design, names: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the parts of a complete design whose text could not be read. `names` are those of parts in messages."""
    if (ratio := _least_contrast(_text(design), design)) < MIN_CONTRAST:
        if design["text"]:
            name, shown = names["text"], _shown(ratio)
            message = f"{name} must have a contrast of at least {MIN_CONTRAST}:1 to the background; it has {shown}:1."
            yield Fault("text", message)
        else:
            name = names["gradient"]
            yield Fault("gradient", f"{name} must be more like the other color: no text can be read on both.")
    if (ratio := contrast(_button_text(design), design["button"])) < MIN_CONTRAST:
        name, shown = names["buttontext"], _shown(ratio)
        message = f"{name} must have a contrast of at least {MIN_CONTRAST}:1 to the buttons; it has {shown}:1."
        yield Fault("buttontext", message)


def refuse_faults(design: Design) -> None:
    """Raise INVALID on `design` for the first fault."""
    for fault in faults(design, {part: f"design {part}" for part in design}):
        raise invalid("design", fault.message)


def palette(design: Design) -> Palette:
    """Return the colors of a page without a background picture."""
    text, button_text = _text(design), _button_text(design)
    background, ground = design["background"], design["gradient"] or design["background"]
    return Palette(
        sky=background,
        ground=ground,
        card=design["button"],
        line=_mix(button_text, design["button"], _LINE_SHARE),
        ink=text,
        soft=_soft(text, _backgrounds(design)),
        mark=button_text,
        label=design["button"],
    )


def css(theme: str, design: Design, picture_url: str) -> str:
    """Return the style sheet of a page with an own design: its colors, and font and corners of the theme.

    A color lies over a background picture, just as opaque as the text needs it to be on any picture.
    """
    text, button_text = _text(design), _button_text(design)
    background, ground = design["background"], design["gradient"] or design["background"]
    colors = palette(design)
    if picture_url:
        colors = replace(colors, soft=text)
    scheme = "light" if contrast(background, "#000000") > contrast(background, "#ffffff") else "dark"
    own = f"--on-card: {button_text}; --soft-on-card: {_soft(button_text, [design['button']])}; --focus: {text};"
    style = f":root {{ color-scheme: {scheme}; {themes.shape(theme)} {themes.variables(colors)} {own} }}"
    if not picture_url:
        return style
    alpha = _alpha(text, design)
    layers = ", ".join(f"rgb({' '.join(map(str, rgb(color)))} / {alpha})" for color in (background, ground))
    return f'{style}\nbody::before {{ background-image: linear-gradient({layers}), url("{picture_url}"); }}'


def _text(design: Design) -> str:
    return str(design["text"] or max((_DARK, _LIGHT), key=lambda color: _least_contrast(color, design)))


def _button_text(design: Design) -> str:
    return str(design["buttontext"] or max((_DARK, _LIGHT), key=lambda color: contrast(color, design["button"])))


def _least_contrast(text: str, design: Design) -> float:
    return min(contrast(text, color) for color in _backgrounds(design))


def _backgrounds(design: Design) -> list[str]:
    """Return the colors of the background, from top to bottom."""
    first, last = design["background"], design["gradient"]
    return [_mix(last, first, step / _STEPS) for step in range(_STEPS + 1)] if last else [first]


def _alpha(text: str, design: Design) -> float:
    """Return how opaque the background must be, so that the text can be read on a black and on a white picture."""
    for percent in range(50, 100):
        over = [_mix(color, under, percent / 100) for color in _backgrounds(design) for under in ("#000000", "#ffffff")]
        if min(contrast(text, color) for color in over) >= MIN_CONTRAST:
            return percent / 100
    return 1


def _soft(text: str, backgrounds: list[str]) -> str:
    """Return a color for secondary text, which is nearer to the background if it can still be read."""
    soft = _mix(text, backgrounds[0], _SOFT_SHARE)
    return soft if min(contrast(soft, color) for color in backgrounds) >= MIN_CONTRAST else text


def _mix(color: str, other: str, share: float) -> str:
    pairs = zip(rgb(color), rgb(other), strict=True)
    return "#" + "".join(f"{round(one * share + two * (1 - share)):02x}" for one, two in pairs)


def _shown(ratio: float) -> str:
    """Return a contrast that is too low, never rounded up to the minimum."""
    return f"{floor(ratio * 10) / 10:.1f}"
