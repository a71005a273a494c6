"""The image that social networks show for a bio page: its picture or initial, its title and its address."""

import colorsys
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from waypost.items.bios.themes import Palette
from waypost.media.qrcode.layout import FONT, cannot_write

WIDTH, HEIGHT = 1200, 630
_CIRCLE = 240
_CIRCLE_TOP = 84
_FINE = 3  # times finer than the image, for a smooth edge
_TITLE_SIZE, _ADDRESS_SIZE, _LETTER_SIZE = 64, 34, 120
_MAX_LINES = 2
_MAX_TEXT_WIDTH = 1040


@dataclass(frozen=True)
class CardContent:
    """The contents of a card. `picture` is the avatar as a file; without one, `letter` on the color `hue` replaces it.

    Texts with characters that the font does not have are left out.
    """

    title: str
    address: str
    letter: str
    hue: int
    picture: bytes | None
    palette: Palette


def draw(content: CardContent) -> bytes:
    """Return the card as a PNG."""
    image = _background(content.palette)
    pen = ImageDraw.Draw(image)
    circle = _circle(content)
    image.paste(circle, ((WIDTH - _CIRCLE) // 2, _CIRCLE_TOP), circle)
    top = _CIRCLE_TOP + _CIRCLE + 44
    font = ImageFont.truetype(FONT, _TITLE_SIZE)
    for line in _lines(content.title, font):
        pen.text((WIDTH // 2, top), line, fill=content.palette.ink, font=font, anchor="ma")
        top += _TITLE_SIZE + 12
    if not cannot_write(content.address):
        font = ImageFont.truetype(FONT, _ADDRESS_SIZE)
        address = _shortened(content.address, font)
        pen.text((WIDTH // 2, top + 16), address, fill=content.palette.soft, font=font, anchor="ma")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _background(palette: Palette) -> Image.Image:
    share = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    return Image.composite(
        Image.new("RGB", share.size, palette.ground), Image.new("RGB", share.size, palette.sky), share
    )


def _circle(content: CardContent) -> Image.Image:
    size = _CIRCLE * _FINE
    mask = Image.new("L", (size, size))
    ImageDraw.Draw(mask).ellipse((0, 0, size - 1, size - 1), fill=255)
    mask = mask.resize((_CIRCLE, _CIRCLE), Image.Resampling.LANCZOS)
    circle = Image.new("RGBA", mask.size, content.palette.card)
    if content.picture is not None:
        with Image.open(BytesIO(content.picture), formats=("WEBP",)) as opened:
            picture = opened.convert("RGBA").resize(mask.size, Image.Resampling.LANCZOS)
        circle.alpha_composite(picture)
    else:
        red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(content.hue / 360, 0.38, 0.45))
        circle.paste((red, green, blue, 255), (0, 0, *mask.size))
        if content.letter and not cannot_write(content.letter):
            font = ImageFont.truetype(FONT, _LETTER_SIZE)
            ImageDraw.Draw(circle).text((_CIRCLE // 2,) * 2, content.letter, fill="#ffffff", font=font, anchor="mm")
    circle.putalpha(mask)
    return circle


def _lines(title: str, font: ImageFont.FreeTypeFont) -> list[str]:
    """Return the title in at most two lines that fit."""
    if cannot_write(title.replace("\n", " ")):
        return []
    lines: list[str] = []
    for word in title.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= _MAX_TEXT_WIDTH:
            lines[-1] = longer
        else:
            lines.append(word)
    rest = " ".join(lines[_MAX_LINES - 1 :])
    shown = [*lines[: _MAX_LINES - 1], *([rest] if rest else [])]
    return [_shortened(line, font) for line in shown]


def _shortened(text: str, font: ImageFont.FreeTypeFont) -> str:
    if font.getlength(text) <= _MAX_TEXT_WIDTH:
        return text
    while text and font.getlength(f"{text}…") > _MAX_TEXT_WIDTH:
        text = text[:-1]
    return f"{text.rstrip()}…"
