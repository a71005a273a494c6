"""The images of a bio page: its pictures, and the card that social networks show.

The card has the picture or initial of the page, its title and its address.
"""

import colorsys
import hashlib
import json
from dataclasses import dataclass
from io import BytesIO

import anyio.to_thread
from PIL import Image, ImageDraw, ImageFont
from starlette.requests import Request
from starlette.responses import Response

from waypost.core import clock
from waypost.http.client_ip import client_ip, network_of
from waypost.items.bios import design, pictures, themes, view
from waypost.items.bios.themes import Palette
from waypost.media.qrcode.layout import FONT, cannot_write
from waypost.visits.avatar import avatar
from waypost.visits.record_queries import BioView
from waypost.visits.visitor_services import Services

WIDTH, HEIGHT = 1200, 630
_CIRCLE = 240
_CIRCLE_TOP = 84
_FINE = 3  # times finer than the image, for a smooth edge
_TITLE_SIZE, _ADDRESS_SIZE, _LETTER_SIZE = 64, 34, 120
_MAX_LINES = 2
_MAX_TEXT_WIDTH = 1040
CARD = "card.png"
_HEADERS = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
_PICTURE_HEADERS = {
    **_HEADERS,
    "Content-Type": "image/webp",
    "Cache-Control": "public, max-age=31536000, immutable",
}
_CARD_HEADERS = {**_HEADERS, "Content-Type": "image/png", "Cache-Control": "public, max-age=86400"}


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


async def picture(request: Request, services: Services, bio: BioView, name: str) -> Response:
    """Return a picture that visitors of the page see. Its content never changes."""
    data = None
    if name in view.picture_names(view.shown_at(bio, clock.now())):
        data = await services.read(lambda tx: pictures.find(tx, bio.account, bio.id, name))
    if data is None:
        return services.pages.refuse(request, "missing")
    return Response(data, headers=_PICTURE_HEADERS)


async def card(request: Request, services: Services, bio: BioView) -> Response:
    """Draw the card of the page. A page with a warning has none."""
    if bio.sensitive:
        return services.pages.refuse(request, "missing")
    data = await services.read(lambda tx: pictures.find(tx, bio.account, bio.id, bio.avatar)) if bio.avatar else None
    title = bio.heading
    address = f"{services.settings.base.partition('://')[2]}/{bio.alias}"
    content = CardContent(title, address, **avatar(title, bio.alias), picture=data, palette=_palette(bio))
    async with services.image_queue.slot(network_of(client_ip(request.scope, services.settings.proxies))):
        image = await anyio.to_thread.run_sync(draw, content)
    return Response(image, headers=_CARD_HEADERS)


def card_url(bio: BioView, url: str) -> str:
    """Return the URL of the card, which changes with its contents."""
    parts = (bio.heading, bio.alias, bio.avatar, bio.theme, bio.design)
    version = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    return f"{url}/{CARD}?v={version}"


def _palette(bio: BioView) -> Palette:
    return design.palette(bio.design) if bio.design else themes.light_palette(bio.theme)
