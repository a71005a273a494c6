"""A code as SVG: one path for all that touches, nothing from outside. Pure."""

import base64
from collections.abc import Iterable
from html import escape

from waypost.media.qrcode.encode import EYE, Symbol
from waypost.media.qrcode.layout import STROKES, Box, Card, Layout, eye_corners, letters, linear_ends
from waypost.media.qrcode.outlines import Corner, Stroke, loops, outlines, strokes
from waypost.media.qrcode.styles import Eyes, Gradient, Style


def draw(symbol: Symbol, style: Style, layout: Layout, logo: bytes | None, size: int) -> bytes:
    """The picture, `size` wide. `logo` is a PNG."""
    height = _n(size * layout.height / layout.width)
    crisp = ' shape-rendering="crispEdges"' if style.modules == style.eyes == "square" and not style.caption else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" width="{size}"'
        f' height="{height}"{crisp}>'
    ]
    ink = style.foreground
    if style.gradient is not None:
        ink = "url(#g)"
        parts.append(_gradient(style, style.gradient, symbol.side))
    paper = f'<path fill="{style.background}" d="M0 0h{layout.width}v{layout.height}h-{layout.width}z"/>'
    parts += ["" if style.transparent else paper, _card(layout.card, style) if layout.card else ""]
    parts.append(f'<g transform="translate({layout.x} {layout.y})">{_symbol(symbol, style, ink)}</g>')
    if logo is not None and layout.logo is not None:
        parts.append(_logo(layout.logo, logo))
    return "".join((*parts, "</svg>")).encode()


def _symbol(symbol: Symbol, style: Style, ink: str) -> str:
    eyes = "".join(_eye(x, y, style.eyes) for x, y in symbol.eyes)
    if style.modules == "square":
        return f'<path fill="{ink}" fill-rule="evenodd" d="{eyes}{_sharp(loops(symbol.rows))}"/>'
    if style.modules == "rounded":
        return f'<path fill="{ink}" fill-rule="evenodd" d="{eyes}{_rounded(outlines(symbol.rows, symbol.side))}"/>'
    lines, width = strokes(style.modules, symbol.rows, symbol.side), _n(STROKES[style.modules])
    cap = "square" if style.modules == "tiles" else "round"
    look = f'stroke="{ink}" stroke-width="{width}" stroke-linecap="{cap}" fill="none"'
    return f'<path fill="{ink}" fill-rule="evenodd" d="{eyes}"/><path {look} d="{_strokes(lines)}"/>'


def _eye(left: int, top: int, eyes: Eyes) -> str:
    """Three squares, one in the other, with round corners; every other one is filled."""
    parts = []
    for inset in range(3):
        side, corners = EYE - 2 * inset, eye_corners(eyes, inset)
        parts.append(f"M{_n(left + inset + corners[0])} {top + inset}")
        if not any(corners):
            parts.append(f"h{side}v{side}h-{side}z")
            continue
        for place, (line, x, y) in enumerate((("h", 1, 1), ("v", -1, 1), ("h-", -1, -1), ("v-", 1, -1))):
            r = corners[(place + 1) % 4]
            straight = _n(side - corners[place] - r)
            parts.append(f"{line}{straight}" if straight != "0" else "")
            parts.append(f"a{_n(r)} {_n(r)} 0 0 1 {_n(x * r)} {_n(y * r)}" if r else "")
        parts.append("z")
    return "".join(parts)


def _sharp(shapes: Iterable[list[Corner]]) -> str:
    """Edges are across and down by turns; the last one is closed by z."""
    parts = []
    for corners in shapes:
        x, y = corners[0]
        parts.append(f"M{x} {y}h{corners[1][0] - x}")
        turns = zip(corners[1::2], corners[2::2], corners[3::2], strict=False)
        parts += [f"v{to_y - y}h{to_x - x}" for (_, y), (x, to_y), (to_x, _) in turns]
        parts.append("z")
    return "".join(parts)


def _rounded(shapes: Iterable[list[Corner]]) -> str:
    """Outer corners are quarters of a circle as wide as a module; inner ones stay as they are."""
    parts = []
    for corners in shapes:
        count = len(corners)
        ways = []
        for place, (x, y) in enumerate(corners):
            to_x, to_y = corners[(place + 1) % count]
            ways.append(((to_x > x) - (to_x < x), (to_y > y) - (to_y < y), abs(to_x - x) + abs(to_y - y)))
        # On screens y grows downwards: a turn to the right is one from (1, 0) to (0, 1).
        outer = [ways[p - 1][0] * ways[p][1] - ways[p - 1][1] * ways[p][0] > 0 for p in range(count)]
        (x, y), (across, down, _) = corners[0], ways[0]
        cut = 0.5 if outer[0] else 0
        parts.append(f"M{_n(x + across * cut)} {_n(y + down * cut)}")
        for place, (across, down, length) in enumerate(ways):
            after = (place + 1) % count
            straight = length - 0.5 * (outer[place] + outer[after])
            if straight:
                parts.append(f"h{_n(across * straight)}" if across else f"v{_n(down * straight)}")
            if outer[after]:
                next_across, next_down, _ = ways[after]
                parts.append(f"a.5.5 0 0 1 {_n((across + next_across) / 2)} {_n((down + next_down) / 2)}")
        parts.append("z")
    return "".join(parts)


def _strokes(lines: Iterable[Stroke]) -> str:
    return "".join(f"M{_n(x)} {_n(y)}" + (f"h{across}" if across else f"v{down}") for x, y, across, down in lines)


def _gradient(style: Style, gradient: Gradient, side: int) -> str:
    stops = f'<stop stop-color="{style.foreground}"/><stop offset="1" stop-color="{gradient.color}"/>'
    if gradient.type == "radial":
        half, reach = _n(side / 2), _n(side * 0.5**0.5)
        place = f'cx="{half}" cy="{half}" r="{reach}"'
        return f'<radialGradient id="g" gradientUnits="userSpaceOnUse" {place}>{stops}</radialGradient>'
    x1, y1, x2, y2 = (_n(part) for part in linear_ends(gradient.angle, side))
    place = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<linearGradient id="g" gradientUnits="userSpaceOnUse" {place}>{stops}</linearGradient>'


def _card(card: Card, style: Style) -> str:
    text = "".join(step + " ".join(_n(part) for part in numbers) for step, numbers in letters(card))
    return (
        f"<title>{escape(card.caption)}</title>"
        f'<rect {_box(card.outer)} fill="{style.foreground}"/><rect {_box(card.inner)} fill="{style.background}"/>'
        f'<path fill="{style.background}" d="{text}"/>'
    )


def _box(box: Box) -> str:
    radius = f' rx="{_n(box.radius)}"' if box.radius else ""
    return f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"{radius}'


def _logo(box: Box, logo: bytes) -> str:
    return f'<image {_box(box)} href="data:image/png;base64,{base64.b64encode(logo).decode()}"/>'


def _n(value: float) -> str:
    """A number as short as it can be written."""
    text = f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
