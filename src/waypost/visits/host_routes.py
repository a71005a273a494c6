"""What belongs to a host and not to a name under it: its certificate (decision 39), robots.txt, and its icon."""

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost.settings import Settings
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import host_of
from waypost.urls.validation import ascii_host
from waypost.visits.request import host
from waypost.visits.responses import NO_STORE, PageRenderer
from waypost.visits.visit import VisitService

# Crawlers may follow short links: previews need that, and what they do is counted apart. The API is for programs with
# a key, and pictures of codes are drawn anew for every crawler that asks.
_ROBOTS = "User-agent: *\nDisallow: /api/\nDisallow: /qr/\nDisallow: /*/qr\nDisallow: /tls/\n"
_NOBODY = "User-agent: *\nDisallow: /\n"
_DAY = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}


class Hosts:
    """Answers for whole hosts."""

    def __init__(self, *, settings: Settings, visitor: VisitService, pages: PageRenderer) -> None:
        self._settings = settings
        self._visitor = visitor
        self._pages = pages
        self._icon = files("waypost.visits").joinpath("templates", "favicon.ico").read_bytes()

    def routes(self) -> list[Route]:
        """The routes, which come before those of names."""
        return [
            Route("/tls/ask", self._ask, methods=["GET", "HEAD"]),
            Route("/robots.txt", self._robots, methods=["GET", "HEAD"]),
            Route("/favicon.ico", self._favicon, methods=["GET", "HEAD"]),
        ]

    async def _ask(self, request: Request) -> Response:
        """Whether a proxy in front may get a certificate for `?domain=`: for our own host, and branded domains.

        Memory bounds what unknown names cost: each is looked up once, and thousands of them are remembered.
        """
        if host(request, self._settings) != OWN:
            return self._pages.refuse(request, "missing")
        name = ascii_host(host_of(request.query_params.get("domain", "")[:300]))
        known = name == self._settings.own_host or (name and await self._visitor.domain(name) is not None)
        if not known:
            body = {"error": 1, "message": "This is no host of this service.", "code": "missing"}
            return JSONResponse(body, 404, headers=NO_STORE)
        return Response("ok", media_type="text/plain", headers=NO_STORE)

    async def _robots(self, request: Request) -> Response:
        known = await self._visitor.domain(host(request, self._settings)) is not None
        return Response(_ROBOTS if known else _NOBODY, media_type="text/plain", headers=_DAY)

    async def _favicon(self, request: Request) -> Response:
        return Response(self._icon, media_type="image/x-icon", headers=_DAY)
