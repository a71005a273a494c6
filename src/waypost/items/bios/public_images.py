"""The images of a bio page: its pictures, and the card that social networks show."""

import hashlib
import json

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from waypost.core import clock
from waypost.http.client_ip import client_ip, network_of
from waypost.items.bios import design, pictures, themes, view
from waypost.items.bios.social_card_image import CardContent, draw
from waypost.items.bios.themes import Palette
from waypost.visits.avatar import avatar
from waypost.visits.record_queries import BioView
from waypost.visits.visitor_services import Services

CARD = "card.png"
_HEADERS = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
_PICTURE_HEADERS = {
    **_HEADERS,
    "Content-Type": "image/webp",
    "Cache-Control": "public, max-age=31536000, immutable",
}
_CARD_HEADERS = {**_HEADERS, "Content-Type": "image/png", "Cache-Control": "public, max-age=86400"}


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
