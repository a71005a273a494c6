"""The dashboard as an installable app: manifest, icons, share target, and a page for the time without a network."""

import json
import re
from functools import lru_cache
from io import BytesIO
from urllib.parse import urlencode

from PIL import Image, ImageDraw
from starlette.responses import RedirectResponse, Response

from waypost.core.errors import Kind, Problem
from waypost.dashboard.assets import brand_version, content
from waypost.dashboard.context import PageContext
from waypost.dashboard.list_position import HOME
from waypost.dashboard.routing import Router
from waypost.dashboard.templating import static_name
from waypost.media.branding.brand import Brand, logo_bytes

pages = Router()
_SIZES = (180, 192, 512)
_RESAMPLING = Image.Resampling.LANCZOS
_OVERSIZE = 4  # drawn larger and reduced, so that edges are smooth
_SAFE_ZONE = 0.62  # systems cut icons to a circle or another shape
_GREEN, _WHITE, _LIGHT = "#0d6b4f", "#ffffff", "#a9d3c1"
_POST = ((14.5, 3), (17.5, 30))
_ARMS = (((4.5, 6), (24, 6), (29, 10.5), (24, 15), (4.5, 15)), ((27.5, 17), (11, 17), (7, 20.5), (11, 24), (27.5, 24)))
_URL = re.compile(r"https?://\S+")
_PUBLIC = {"Cache-Control": "public, max-age=86400"}
_SHORTCUTS = (
    ("New link", "/dashboard/links/new"),
    ("Upload a file", "/dashboard/files/new"),
    ("New QR code", "/dashboard/qr/new"),
)


@pages.get("/dashboard/app.webmanifest", public=True)
def show_manifest(context: PageContext) -> Response:
    """Return the web app manifest. `share_target` lets phones share a page to this app."""
    brand = context.brand
    icons = [
        {
            "src": f"/dashboard/icon-{size}.png{brand_version(brand)}",
            "sizes": f"{size}x{size}",
            "type": "image/png",
            "purpose": purpose,
        }
        for size in _SIZES[1:]
        for purpose in ("any", "maskable")
    ]
    manifest = {
        "id": "/dashboard",
        "name": f"{context.service_name} ({context.settings.own_host})",
        "short_name": context.service_name,
        "description": "Short links, files and QR codes.",
        "start_url": "/dashboard",
        "scope": "/dashboard",
        "display": "standalone",
        "background_color": "#f6f6f3",
        "theme_color": _color(brand),
        "icons": icons,
        "shortcuts": [{"name": name, "url": url} for name, url in _SHORTCUTS],
        "share_target": {
            "action": "/dashboard/share",
            "method": "GET",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }
    return Response(json.dumps(manifest), headers=_PUBLIC, media_type="application/manifest+json")


@pages.get("/dashboard/icon-{size:int}.png", public=True)
def show_icon(context: PageContext, size: int) -> Response:
    if size not in _SIZES:
        raise Problem(Kind.NOT_FOUND, "This icon does not exist.")
    return Response(_icon(size, _color(context.brand), context.brand.logo), headers=_PUBLIC, media_type="image/png")


@pages.get("/dashboard/service-worker.js", public=True)
def show_service_worker(context: PageContext) -> Response:  # noqa: ARG001  # the signature of a handler
    """Return the service worker. Its URL has no hash, so browsers ask for a new version each time."""
    script = content(static_name("service-worker.js"))
    headers = {"Cache-Control": "no-cache", "Service-Worker-Allowed": HOME}  # the default scope ends with a slash
    return Response(script, headers=headers, media_type="text/javascript")


@pages.get("/dashboard/offline", public=True)
def show_offline(context: PageContext) -> Response:
    """Return the page that the service worker keeps for the time without a network. It is the same for everybody."""
    return context.render("connections/offline.html")


@pages.get("/dashboard/share")
def share(context: PageContext) -> Response:
    """Open the form for a new link filled in with a shared page. Some apps put the URL into the text."""
    texts = [context.query(name, max_length=8192) for name in ("url", "text", "title")]
    url = next((match[0] for text in texts if (match := _URL.search(text))), texts[0])
    title = texts[2] if not _URL.search(texts[2]) else ""
    return RedirectResponse(f"/dashboard/links/new?{urlencode({'url': url, 'title': title})}", status_code=303)


def _color(brand: Brand) -> str:
    return brand.accents[0].accent if brand.accents else _GREEN


@lru_cache(maxsize=8)
def _icon(size: int, color: str, logo: str) -> bytes:
    """Draw the logo on a square that fills the icon. Return a PNG."""
    image = _picture(size, logo) if logo else _sign(size, color)
    buffer = BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _picture(size: int, logo: str) -> Image.Image:
    """Place the logo of a brand on white, or on the color of its corner if it is opaque."""
    with Image.open(BytesIO(logo_bytes(logo))) as opened:
        picture = opened.convert("RGBA")
    corner = picture.getpixel((0, 0))
    is_opaque = picture.getchannel("A").getextrema()[0] == 255
    image = Image.new("RGBA", (size, size), corner if is_opaque else _WHITE)
    scale = size * _SAFE_ZONE / max(picture.size)
    picture = picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))), _RESAMPLING)
    image.alpha_composite(picture, ((size - picture.width) // 2, (size - picture.height) // 2))
    return image.convert("RGB")


def _sign(size: int, color: str) -> Image.Image:
    side = size * _OVERSIZE
    image = Image.new("RGB", (side, side), color)
    draw = ImageDraw.Draw(image)
    scale = side * _SAFE_ZONE / 32

    def place(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
        margin = side * (1 - _SAFE_ZONE) / 2
        return [(margin + x * scale, margin + y * scale) for x, y in points]

    draw.rectangle(place(_POST), fill=_LIGHT if color == _GREEN else _WHITE)
    for arm in _ARMS:
        draw.polygon(place(arm), fill=_WHITE)
    return image.resize((size, size), _RESAMPLING)
