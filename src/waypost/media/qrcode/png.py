"""A code as pixels. Where everything is, ink is a mask from 0 to 255; colors come last. Pure."""

from collections.abc import Iterator
from functools import cache, lru_cache
from io import BytesIO

from PIL import Image, ImageChops, ImageDraw, ImageFont

from waypost.media.qrcode.encode import EYE, Symbol
from waypost.media.qrcode.layout import EYE_CORNERS, FONT, STROKES, Box, Card, Layout, eye_corners, gradient_share
from waypost.media.qrcode.styles import Eyes, Gradient, Modules, Rgb, Style, rgb

_FINE = 4  # how many times finer than the picture round things are drawn
_LEAST_CRISP = 0.9  # of the picture's width, filled by modules of whole pixels; else it is drawn larger and shrunk
_SHADES = 16
_RUNS = 3  # Z_RLE of zlib
_FIRST, _SECOND, _THIRD, _FOURTH = 1, 2, 4, 8  # corners of a module, clockwise from the upper left
_ABOVE, _BELOW, _LEFT, _RIGHT = 1, 2, 4, 8


def draw(symbol: Symbol, style: Style, layout: Layout, logo: bytes | None, size: int) -> bytes:
    """A PNG, `size` pixels wide."""
    image = picture(symbol, style, layout, logo, size)
    out = BytesIO()
    if image.mode == "P":
        image.save(out, "PNG", bits=image.info["bits"])
    else:
        image.save(out, "PNG", compress_type=_RUNS)  # for areas of one color as small as the best, and fast
    return out.getvalue()


def picture(symbol: Symbol, style: Style, layout: Layout, logo: bytes | None, size: int) -> Image.Image:
    """The same as an image: with a palette while two colors are enough, else RGB; RGBA if it is transparent."""
    unit = size // layout.width
    if _is_crisp(layout, size):
        return _drawn(symbol, style, layout, logo, unit, size)
    fine = (size // layout.width + 1) * (1 if unit > _FINE else 2)
    large = _drawn(symbol, style, layout, logo, fine, fine * layout.width).convert(_mode(style))
    return large.resize((size, _height(layout, size)), Image.Resampling.BOX)


def is_enlargement(style: Style, layout: Layout, logo: bytes | None, size: int) -> bool:
    """Return whether this size only has larger squares than others: no round edges, colors or pixels in between."""
    return _is_crisp(layout, size) and logo is None and style.gradient is None and not _is_round(style)


def _is_crisp(layout: Layout, size: int) -> bool:
    unit = size // layout.width
    return unit > 0 and unit * layout.width >= _LEAST_CRISP * size


def _drawn(symbol: Symbol, style: Style, layout: Layout, logo: bytes | None, unit: int, size: int) -> Image.Image:
    """Render with modules of `unit` pixels; the rest of `size` becomes margin."""
    height = _height(layout, size)
    left, top = (size - unit * layout.width) // 2, (height - unit * layout.height) // 2
    ink = Image.new("L", (size, height))
    if layout.card is not None:
        _draw_card(ink, layout.card, unit, left, top)
    code, at = _symbol(symbol, style, unit), (left + layout.x * unit, top + layout.y * unit)
    ink.paste(code, at)
    is_cut_out = style.transparent and layout.card is None
    mask = Image.new("L", ink.size, 255) if is_cut_out else ink
    image = _flat(mask, style) if style.gradient is None else _shaded(mask, style, style.gradient, at, code.width)
    if style.transparent:
        image = image.convert("RGBA")
        image.putalpha(ink if layout.card is None else _outside(ink.size, layout.card, unit, left, top))
    if logo is not None and layout.logo is not None:
        image = image.convert(_mode(style))
        _paste_logo(image, logo, layout.logo, unit, left, top)
    return image


def _mode(style: Style) -> str:
    return "RGBA" if style.transparent else "RGB"


def _outside(size: tuple[int, int], card: Card, unit: int, left: int, top: int) -> Image.Image:
    """Return the mask of the frame with everything inside."""
    mask = Image.new("L", size)
    _fill(mask, card.outer, unit, (left, top), 255)
    return mask


def _height(layout: Layout, size: int) -> int:
    return round(size * layout.height / layout.width)


def _is_round(style: Style) -> bool:
    return style.modules != "square" or style.eyes != "square" or bool(style.caption)


def _flat(ink: Image.Image, style: Style) -> Image.Image:
    """Two colors, and between them as many as round edges need."""
    shades = _SHADES if _is_round(style) else 2
    image = ink.point(_steps(shades))
    image.putpalette(_ramp(style.paper, style.ink, shades))
    image.info["bits"] = shades.bit_length() - 1
    return image


def _shaded(ink: Image.Image, style: Style, gradient: Gradient, at: tuple[int, int], side: int) -> Image.Image:
    """The same with a run of colors on the symbol: a palette of each of its steps in each shade."""
    run = Image.new("L", ink.size)
    run.paste(_run(gradient.type, gradient.angle).resize((side, side), Image.Resampling.BILINEAR), at)
    steps = ImageChops.add(ink.point(_steps(_EDGES, _RUN)), run.point(_steps(_RUN)))
    image = Image.new("P", ink.size)
    image.paste(steps, mask=ink.point(_COVERED))
    colors = [_ramp(style.ink, rgb(gradient.color), _RUN)[place * 3 : place * 3 + 3] for place in range(_RUN)]
    ramps = [_ramp(style.paper, (color[0], color[1], color[2]), _EDGES) for color in colors]
    image.putpalette(b"".join(ramp[edge * 3 : edge * 3 + 3] for edge in range(_EDGES) for ramp in ramps))
    image.info["bits"] = 8
    return image


_EDGES, _RUN = 8, 32  # together what a palette holds
_COVERED = [255 * (value >= 128 / (_EDGES - 1)) for value in range(256)]


@cache
def _steps(count: int, width: int = 1) -> list[int]:
    """To the nearest of `count` steps, `width` apart."""
    return [round(value * (count - 1) / 255) * width for value in range(256)]


def _ramp(first: Rgb, last: Rgb, count: int) -> bytes:
    """`count` colors from one to the other, as a palette."""
    parts = list(zip(first, last, strict=True))
    return bytes(round(one + (other - one) * step / (count - 1)) for step in range(count) for one, other in parts)


@lru_cache(maxsize=64)
def _run(kind: str, angle: int) -> Image.Image:
    """How far along the gradient each part of a square is, 0 to 255."""
    fine = 64
    middles = [(place + 0.5) / fine for place in range(fine)]
    return Image.frombytes(
        "L", (fine, fine), bytes(round(255 * gradient_share(kind, angle, x, y)) for y in middles for x in middles)
    )


def _symbol(symbol: Symbol, style: Style, unit: int) -> Image.Image:
    side = symbol.side
    if style.modules == "square":
        # The sign keeps the leading zeros; the bits come highest first.
        bits = b"".join(format(row, f"0{side}b")[::-1].encode() for row in symbol.rows)
        small = Image.frombytes("L", (side, side), bits.translate(_INK))
        image = small.resize((side * unit, side * unit), Image.Resampling.NEAREST)
    else:
        image = Image.new("L", (side * unit, side * unit))
        for x, y, tile in _tiles(symbol, style, unit):
            image.paste(tile, (x * unit, y * unit))
    eye = _eye(style.eyes, unit)
    for x, y in symbol.eyes:
        image.paste(eye, (x * unit, y * unit))
    return image


_INK = bytes.maketrans(b"01", b"\x00\xff")


def _tiles(symbol: Symbol, style: Style, unit: int) -> Iterator[tuple[int, int, Image.Image]]:
    """Each dark module's place and picture, which depends on its neighbours."""
    rows = (0, *symbol.rows, 0)
    for y, (above, row, below) in enumerate(zip(rows, rows[1:], rows[2:], strict=False)):
        marks: tuple[tuple[int, int], ...] = ()
        if style.modules == "bars":
            marks = ((_ABOVE, above), (_BELOW, below))
        elif style.modules == "lines":
            marks = ((_LEFT, row << 1), (_RIGHT, row >> 1))
        elif style.modules == "rounded":
            # An outer corner is where neither of the two neighbours that meet there is dark.
            clear_left, clear_right = ~(row << 1), ~(row >> 1)
            marks = (
                (_FIRST, ~above & clear_left),
                (_SECOND, ~above & clear_right),
                (_THIRD, ~below & clear_right),
                (_FOURTH, ~below & clear_left),
            )
        left = row
        while left:
            low = left & -left
            left ^= low
            mark = sum(mark for mark, where in marks if where & low)
            yield low.bit_length() - 1, y, _tile(style.modules, unit, mark)


def _tile(modules: Modules, unit: int, mark: int) -> Image.Image:
    if modules == "rounded":
        return _rounded(unit, mark)
    return _square(unit, STROKES[modules]) if modules == "tiles" else _line(unit, STROKES[modules], mark)


@lru_cache(maxsize=512)
def _rounded(unit: int, corners: int) -> Image.Image:
    tile, pen, last = _fine(unit)
    pen.ellipse((0, 0, last, last), 255)
    half = (last + 1) // 2
    for mark, (x, y) in zip((_FIRST, _SECOND, _THIRD, _FOURTH), ((0, 0), (1, 0), (1, 1), (0, 1)), strict=True):
        if not corners & mark:
            pen.rectangle((x * half, y * half, (x + 1) * half - 1, (y + 1) * half - 1), 255)
    return tile.reduce(_FINE)


@lru_cache(maxsize=64)
def _square(unit: int, width: float) -> Image.Image:
    tile, pen, last = _fine(unit)
    inset = (1 - width) / 2 * last
    pen.rectangle((inset, inset, last - inset, last - inset), 255)
    return tile.reduce(_FINE)


@lru_cache(maxsize=512)
def _line(unit: int, width: float, dark: int) -> Image.Image:
    """A dot, and the parts of lines to the dark neighbors."""
    tile, pen, last = _fine(unit)
    inset, half = (1 - width) / 2 * last, last // 2
    pen.ellipse((inset, inset, last - inset, last - inset), 255)
    for mark, box in (
        (_ABOVE, (inset, 0, last - inset, half)),
        (_BELOW, (inset, half, last - inset, last)),
        (_LEFT, (0, inset, half, last - inset)),
        (_RIGHT, (half, inset, last, last - inset)),
    ):
        if dark & mark:
            pen.rectangle(box, 255)
    return tile.reduce(_FINE)


@lru_cache(maxsize=128)
def _eye(eyes: Eyes, unit: int) -> Image.Image:
    tile, pen, last = _fine(EYE * unit)
    one = unit * _FINE
    for inset, fill in ((0, 255), (1, 0), (2, 255)):
        box = (inset * one, inset * one, last - inset * one, last - inset * one)
        radius = EYE_CORNERS[eyes][inset]
        if radius * 2 == EYE - 2 * inset:
            pen.ellipse(box, fill)
        else:
            first, second, third, fourth = (corner > 0 for corner in eye_corners(eyes, inset))
            pen.rounded_rectangle(box, radius * one, fill, corners=(first, second, third, fourth))
    return tile.reduce(_FINE)


def _fine(side: int) -> tuple[Image.Image, ImageDraw.ImageDraw, int]:
    """An empty square, finer than it will be; what draws on it; and its last pixel."""
    tile = Image.new("L", (side * _FINE, side * _FINE))
    return tile, ImageDraw.Draw(tile), side * _FINE - 1


def _draw_card(ink: Image.Image, card: Card, unit: int, left: int, top: int) -> None:
    _fill(ink, card.outer, unit, (left, top), 255)
    _fill(ink, card.inner, unit, (left, top), 0)
    font = ImageFont.truetype(FONT, card.letters * unit)
    at = (left + card.middle * unit, top + card.baseline * unit)
    ImageDraw.Draw(ink).text(at, card.caption, 0, font, anchor="ms")


def _fill(ink: Image.Image, box: Box, unit: int, origin: tuple[int, int], value: int) -> None:
    """Draw a rectangle with round corners on a uniform background."""
    left, top = origin[0] + round(box.x * unit), origin[1] + round(box.y * unit)
    right, bottom = left + round(box.width * unit), top + round(box.height * unit)
    ink.paste(value, (left, top, right, bottom))
    radius = round(box.radius * unit)
    disc = _disc(radius) if value else _disc(radius).point(lambda covered: 255 - covered)
    for x, from_x in ((left, 0), (right - radius, radius)):
        for y, from_y in ((top, 0), (bottom - radius, radius)):
            ink.paste(disc.crop((from_x, from_y, from_x + radius, from_y + radius)), (x, y))


@lru_cache(maxsize=64)
def _disc(radius: int) -> Image.Image:
    tile, pen, last = _fine(2 * radius)
    pen.ellipse((0, 0, last, last), 255)
    return tile.reduce(_FINE)


def _paste_logo(image: Image.Image, logo: bytes, box: Box, unit: int, left: int, top: int) -> None:
    width, height = max(1, round(box.width * unit)), max(1, round(box.height * unit))
    small = _logo(logo, width, height)
    at = (left + round(box.x * unit), top + round(box.y * unit))
    if image.mode == "RGBA":
        image.alpha_composite(small, at)
    else:
        image.paste(small, at, small)


@lru_cache(maxsize=32)
def _logo(logo: bytes, width: int, height: int) -> Image.Image:
    """A logo at its size. Hot codes are remembered: a logo takes longer to read than its code to draw."""
    with Image.open(BytesIO(logo), formats=("PNG",)) as whole:
        return whole.convert("RGBA").resize((width, height), Image.Resampling.LANCZOS)
