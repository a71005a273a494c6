"""A code as PDF 1.4: one page, lines and curves, nothing from outside. Pure."""

import zlib
from collections.abc import Iterable, Sequence
from io import BytesIO

from PIL import Image

from waypost.media.qrcode.encode import EYE, Symbol
from waypost.media.qrcode.layout import STROKES, Box, Card, Corners, Layout, eye_corners, letters, linear_ends
from waypost.media.qrcode.outlines import Corner, loops, outlines, strokes
from waypost.media.qrcode.styles import Gradient, Rgb, Style, rgb

_CURVE = 0.5522847498  # how far the handles of a quarter of a circle reach, in radiuses


def draw(symbol: Symbol, style: Style, layout: Layout, logo: bytes | None, size: int) -> bytes:
    """The page, `size` points (1/72 inch) wide. `logo` is a PNG."""
    scale = size / layout.width
    height = layout.height * scale
    flip = f"{_n(scale)} 0 0 {_n(-scale)} 0 {_n(height)} cm"
    parts = [flip]
    if not style.transparent:
        parts += [_rgb(style.paper, "rg"), f"0 0 {layout.width} {layout.height} re f"]
    if layout.card is not None:
        parts += _card(layout.card, style)
    parts += ["q", f"1 0 0 1 {layout.x} {layout.y} cm", *_symbol(symbol, style), "Q"]
    resources, extra = [], []
    if style.gradient is not None:
        at = (layout.x * scale, height - layout.y * scale)
        resources.append("/Pattern << /P 5 0 R >>")
        extra.append(_pattern(style, style.gradient, symbol.side, scale, at).encode())
    if logo is not None and layout.logo is not None:
        box = layout.logo
        first = 5 + len(extra)
        resources.append(f"/XObject << /L {first} 0 R >>")
        parts += ["q", f"{_n(box.width)} 0 0 {_n(-box.height)} {_n(box.x)} {_n(box.y + box.height)} cm", "/L Do", "Q"]
        extra += _image(logo, first + 1)
    page = (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_n(size)} {_n(height)}] /Contents 4 0 R"
        f" /Resources << {' '.join(resources)} >> >>"
    )
    content = _stream("", "\n".join(parts).encode())
    pages = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return _file([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page.encode(), content, *extra])


def _symbol(symbol: Symbol, style: Style) -> list[str]:
    steps = [_rgb(style.ink, "rg") if style.gradient is None else "/Pattern cs /P scn"]
    for left, top in symbol.eyes:
        for inset in range(3):
            side = EYE - 2 * inset
            steps += _rounded(Box(left + inset, top + inset, side, side), eye_corners(style.eyes, inset))
    if style.modules in ("square", "rounded"):
        is_round = style.modules == "rounded"
        for corners in outlines(symbol.rows, symbol.side) if is_round else loops(symbol.rows):
            steps += _outline(corners, round_corners=is_round)
        return [*steps, "f*"]
    width = STROKES[style.modules]
    radius = 0 if style.modules == "tiles" else width / 2
    for x, y, across, down in strokes(style.modules, symbol.rows, symbol.side):
        # As shapes: viewers disagree on strokes with a gradient.
        steps += _rectangle(Box(x - width / 2, y - width / 2, across + width, down + width, radius))
    return [*steps, "f*"]


def _outline(corners: Sequence[Corner], *, round_corners: bool) -> Iterable[str]:
    if not round_corners:
        steps = [f"{x} {y} {'l' if place else 'm'}" for place, (x, y) in enumerate(corners)]
        return [*steps, "h"]
    steps = []
    for place, (x, y) in enumerate(corners):
        before, after = corners[place - 1], corners[(place + 1) % len(corners)]
        in_x, in_y = _sign(x - before[0]), _sign(y - before[1])
        out_x, out_y = _sign(after[0] - x), _sign(after[1] - y)
        step = "l" if place else "m"
        if in_x * out_y - in_y * out_x < 0:  # an inner corner
            steps.append(f"{x} {y} {step}")
            continue
        steps.append(f"{_n(x - in_x / 2)} {_n(y - in_y / 2)} {step}")
        reach = (1 - _CURVE) / 2
        curve = (x - in_x * reach, y - in_y * reach, x + out_x * reach, y + out_y * reach, x + out_x / 2, y + out_y / 2)
        steps.append(" ".join(_n(part) for part in curve) + " c")
    return [*steps, "h"]


def _rectangle(box: Box) -> list[str]:
    r = box.radius
    return _rounded(box, (r, r, r, r))


def _rounded(box: Box, corners: Corners) -> list[str]:
    """A rectangle with a radius for each corner, clockwise from the upper left."""
    if not any(corners):
        return [f"{_n(box.x)} {_n(box.y)} {_n(box.width)} {_n(box.height)} re"]
    x, y, right, low = box.x, box.y, box.x + box.width, box.y + box.height
    a, b, c, d = corners
    ka, kb, kc, kd = (radius * (1 - _CURVE) for radius in corners)
    numbers = (
        (x + a, y, "m"),
        (right - b, y, "l"),
        (right - kb, y, right, y + kb, right, y + b, "c"),
        (right, low - c, "l"),
        (right, low - kc, right - kc, low, right - c, low, "c"),
        (x + d, low, "l"),
        (x + kd, low, x, low - kd, x, low - d, "c"),
        (x, y + a, "l"),
        (x, y + ka, x + ka, y, x + a, y, "c"),
    )
    return [" ".join(part if isinstance(part, str) else _n(part) for part in step) for step in numbers] + ["h"]


def _card(card: Card, style: Style) -> list[str]:
    text = [" ".join([*map(_n, numbers), _STEPS[step]]) for step, numbers in letters(card)]
    outer = [_rgb(style.ink, "rg"), *_rectangle(card.outer), "f"]
    return [*outer, _rgb(style.paper, "rg"), *_rectangle(card.inner), "f", *text, "f"]


_STEPS = {"M": "m", "L": "l", "C": "c", "Z": "h"}


def _pattern(style: Style, gradient: Gradient, side: int, scale: float, at: tuple[float, float]) -> str:
    """A shading over the symbol, whose upper left corner is `at` on the page."""
    first, last = (" ".join(_n(part / 255) for part in one) for one in (style.ink, rgb(gradient.color)))
    ramp = f"/Function << /FunctionType 2 /Domain [0 1] /C0 [{first}] /C1 [{last}] /N 1 >> /Extend [true true]"
    if gradient.type == "radial":
        middle = _n(side / 2)
        where = f"/ShadingType 3 /Coords [{middle} {middle} 0 {middle} {middle} {_n(side * 0.5**0.5)}]"
    else:
        where = f"/ShadingType 2 /Coords [{' '.join(_n(part) for part in linear_ends(gradient.angle, side))}]"
    matrix = f"[{_n(scale)} 0 0 {_n(-scale)} {_n(at[0])} {_n(at[1])}]"
    shading = f"<< /ColorSpace /DeviceRGB {where} {ramp} >>"
    return f"<< /Type /Pattern /PatternType 2 /Matrix {matrix} /Shading {shading} >>"


def _image(logo: bytes, mask: int) -> list[bytes]:
    """A picture and its mask, which becomes object number `mask`."""
    with Image.open(BytesIO(logo), formats=("PNG",)) as opened:
        image = opened.convert("RGBA")
    size = f"/Type /XObject /Subtype /Image /Width {image.width} /Height {image.height} /BitsPerComponent 8"
    color = _stream(f"{size} /ColorSpace /DeviceRGB /SMask {mask} 0 R", image.convert("RGB").tobytes())
    return [color, _stream(f"{size} /ColorSpace /DeviceGray", image.getchannel("A").tobytes())]


def _stream(words: str, data: bytes) -> bytes:
    packed = zlib.compress(data)
    return f"<< {words} /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream"


def _file(objects: Iterable[bytes]) -> bytes:
    """The objects, numbered from 1, and the table that says where each begins."""
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    return bytes(out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, table))


def _rgb(color: Rgb, operator: str) -> str:
    return " ".join(_n(part / 255) for part in color) + f" {operator}"


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _n(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
