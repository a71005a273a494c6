"""Files that pages of the dashboard load: the front end, the brand's style sheet and logo, and icons of sites.

Names of built files and of those of the brand contain a hash, so browsers keep them forever. Icons come from this
service: browsers ask no other server.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import as_file, files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from waypost.core.errors import Kind, Problem, not_found
from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.http.compression import content_coding
from waypost.media.branding.brand import NO_BRAND, Brand, dashboard_style, logo_bytes
from waypost.media.favicons import origin_of

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_IMMUTABLE = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_SUFFIXES = {"br": ".br", "gzip": ".gz"}
pages = Router()
FAVICON_PATH = "/dashboard/favicon"
# The character behind it is shown through it. An error instead would be in the console of the browser.
_TRANSPARENT = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
_MAX_ORIGIN = 300
_SECONDS, _SECONDS_OF_NONE = 86_400, 3600
_BRAND_FOLDER = "/dashboard/brand/"
_PRIVATE_IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}


@cache
def _files() -> dict[str, Path]:
    """Every file that can be requested, by name."""
    with as_file(files("waypost.dashboard").joinpath("static")) as folder:
        return {path.name: path for path in folder.iterdir() if path.suffix in (*_MEDIA_TYPES, ".br", ".gz")}


@cache
def content(name: str) -> bytes:
    """The bytes of a file. All together are less than 2 MB, so that no request waits for a disk or a thread."""
    return _files()[name].read_bytes()


async def asset(request: Request) -> Response:
    """Return a built file, in a compressed form if the browser accepts one."""
    name = request.path_params["name"]
    media_type = _MEDIA_TYPES.get(Path(name).suffix)
    if media_type is None or name not in _files():
        return Response("Not found.", 404, media_type="text/plain")
    coding = content_coding(request.headers.get("accept-encoding", ""))
    if coding and (packed := name + _SUFFIXES[coding]) in _files():
        return _response(packed, media_type, {**_IMMUTABLE, "Content-Encoding": coding})
    return _response(name, media_type, _IMMUTABLE)


def _response(name: str, media_type: str, headers: Mapping[str, str]) -> Response:
    return Response(content(name), headers=headers, media_type=media_type)


@pages.get(FAVICON_PATH, snapshot=False)
def show_icon(context: PageContext) -> Response:
    """Return the icon of a site; a transparent picture if it has none, or if it is not fetched yet."""
    origin = context.query("origin", max_length=_MAX_ORIGIN)
    if context.settings.favicons == "off" or not origin or origin_of(origin) != origin:
        raise not_found()
    icon = context.services.favicons.find(origin)
    seconds = 0 if icon is None else _SECONDS if icon else _SECONDS_OF_NONE
    headers = {"Cache-Control": f"private, max-age={seconds}" if seconds else "no-store"}
    return Response(icon or _TRANSPARENT, headers=headers, media_type="image/png")


@pages.get(_BRAND_FOLDER + "{name}", public=True)
def show_asset(context: PageContext, name: str) -> Response:
    """Return the style sheet or the logo of the current brand."""
    brand, path = context.brand, _BRAND_FOLDER + name
    if path == style_path(brand):
        return Response(dashboard_style(brand.color), headers=_PRIVATE_IMMUTABLE, media_type="text/css")
    if path == logo_path(brand):
        return Response(logo_bytes(brand.logo), headers=_PRIVATE_IMMUTABLE, media_type="image/png")
    raise Problem(Kind.NOT_FOUND, "There is no page at this address.")


def style_path(brand: Brand) -> str:
    """Return the path of the style sheet; "" for a brand without a color."""
    return f"{_BRAND_FOLDER}{_hash(dashboard_style(brand.color))}.css" if brand.color else ""


def logo_path(brand: Brand) -> str:
    """Return the path of the logo; "" for a brand without one."""
    return f"{_BRAND_FOLDER}{_hash(brand.logo)}.png" if brand.logo else ""


def brand_version(brand: Brand) -> str:
    """Return a query for files that depend on the brand, so that browsers load them again after a change."""
    return "" if brand == NO_BRAND else f"?v={_hash(f'{brand.name} {brand.color} {brand.logo}')}"


@lru_cache(maxsize=16)
def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
