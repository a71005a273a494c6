"""Icons of sites for the dashboard, from this service: browsers ask no other server."""

import base64

from starlette.responses import Response

from waypost.core.errors import not_found
from waypost.dashboard.context import PageContext
from waypost.dashboard.routing import Router
from waypost.media.favicons import origin_of

pages = Router()
PATH = "/dashboard/favicon"
# The character behind it is shown through it. An error instead would be in the console of the browser.
_TRANSPARENT = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
_MAX_ORIGIN = 300
_SECONDS, _SECONDS_OF_NONE = 86_400, 3600


@pages.get(PATH, snapshot=False)
def show_icon(context: PageContext) -> Response:
    """Return the icon of a site; a transparent picture if it has none, or if it is not fetched yet."""
    origin = context.query("origin", max_length=_MAX_ORIGIN)
    if context.settings.favicons == "off" or not origin or origin_of(origin) != origin:
        raise not_found()
    icon = context.services.favicons.find(origin)
    seconds = 0 if icon is None else _SECONDS if icon else _SECONDS_OF_NONE
    headers = {"Cache-Control": f"private, max-age={seconds}" if seconds else "no-store"}
    return Response(icon or _TRANSPARENT, headers=headers, media_type="image/png")
