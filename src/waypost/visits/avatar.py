"""Generated avatars: the first letter or digit of a name on a color derived from a seed."""

import zlib
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from waypost.urls.alias_namespace import OWN
from waypost.visits.request import request_host
from waypost.visits.visitor_services import Services

_HEADERS = {"Cache-Control": "public, max-age=86400", "Content-Security-Policy": "sandbox; default-src 'none'"}


async def account_avatar(request: Request, services: Services) -> Response:
    """`/u/<username>/avatar.svg`. The same for unknown usernames, so it does not reveal which accounts exist."""
    if request_host(request) != OWN:
        return services.pages.refuse(request, "missing")
    username = request.path_params["username"]
    image = services.pages.render("avatar.svg", **avatar(username, username))
    return Response(image, media_type="image/svg+xml", headers=_HEADERS)


def avatar(name: str, seed: str) -> dict[str, Any]:
    """Return the template values of an avatar."""
    letter = next((letter for letter in name if letter.isalnum()), name[:1])
    return {"letter": letter.upper()[:1], "hue": hue(seed)}


def hue(seed: str) -> int:
    """Return a hue in degrees for a text, ignoring case."""
    return zlib.crc32(seed.casefold().encode(errors="replace")) % 360
