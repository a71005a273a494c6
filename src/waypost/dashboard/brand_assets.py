"""Style sheet and logo of the installation's brand. Their names contain a hash, so browsers keep them forever."""

import hashlib
from functools import lru_cache

from starlette.responses import Response

from waypost.core.errors import Kind, Problem
from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.media.branding.brand import NO_BRAND, Brand, dashboard_style, logo_bytes

pages = Router()
_FOLDER = "/dashboard/brand/"
_IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}


@pages.get(_FOLDER + "{name}", public=True)
def show_asset(context: PageContext, name: str) -> Response:
    """Return the style sheet or the logo of the current brand."""
    brand, path = context.brand, _FOLDER + name
    if path == style_path(brand):
        return Response(dashboard_style(brand.color), headers=_IMMUTABLE, media_type="text/css")
    if path == logo_path(brand):
        return Response(logo_bytes(brand.logo), headers=_IMMUTABLE, media_type="image/png")
    raise Problem(Kind.NOT_FOUND, "There is no page at this address.")


def style_path(brand: Brand) -> str:
    """Return the path of the style sheet; "" for a brand without a color."""
    return f"{_FOLDER}{_hash(dashboard_style(brand.color))}.css" if brand.color else ""


def logo_path(brand: Brand) -> str:
    """Return the path of the logo; "" for a brand without one."""
    return f"{_FOLDER}{_hash(brand.logo)}.png" if brand.logo else ""


def version(brand: Brand) -> str:
    """Return a query for files that depend on the brand, so that browsers load them again after a change."""
    return "" if brand == NO_BRAND else f"?v={_hash(f'{brand.name} {brand.color} {brand.logo}')}"


@lru_cache(maxsize=16)
def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
