"""The ASGI app for visitors: everything outside the API and the dashboard.

Paths are forgiving: without what mail and chat programs append to an address (decision 49).
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from waypost.core.errors import Kind, Problem
from waypost.core.uris import MAX_QUERY, encoded
from waypost.http import bare_pages
from waypost.http.body_headers import refuse_partial_or_encoded
from waypost.http.middleware import REQUEST_ID, header_of
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.storage.store import StorageUnavailable
from waypost.urls import alias_namespace, alias_rules
from waypost.urls.alias_namespace import OWN, ROTATORS
from waypost.urls.hostnames import host_of, is_own
from waypost.visits.record_queries import DomainView
from waypost.visits.request import HOST_KEY
from waypost.visits.responses import BRAND_KEY, DOMAIN_KEY, Failure, PageRenderer, wants_json
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Handler, Services

_SLASHES_OF_DELETION = 4  # /files/delete/ID/SIGNATURE
_ALIAS_PREFIXES = ("/r/", "/qr/")


@dataclass(frozen=True)
class PublicRoute:
    """A path of visitors, its handler and methods."""

    path: str
    handler: Handler
    methods: Sequence[str] = ("GET", "HEAD")
    max_query: int = MAX_QUERY
    """Bytes of the query as in a URI. A longer one is 414: behind proxies, no redirect could pass it on."""


class PublicApp:
    """Sends requests for a branded domain to its own routes, where almost every path is an alias."""

    def __init__(self, routes: Iterable[PublicRoute], domain_routes: Iterable[PublicRoute], services: Services) -> None:
        self._app = _create_app(routes, services)
        self._domain_app = _create_app(domain_routes, services)
        self._errors = _ErrorPages(services.pages)
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = self._requested_host(scope)
        try:
            domain = await self._services.visits.find_domain(host)
        except Problem as problem:
            if host != OWN:  # without its domain, neither routes nor aliases are known
                await (await self._errors.problem(Request(scope), problem))(scope, receive, send)
                return
            domain = None  # the routes respond with the problem
        scope[DOMAIN_KEY] = domain
        scope[HOST_KEY] = host if domain is None else domain.host
        if domain is None:
            scope[BRAND_KEY] = await self._brand_of_installation()
        elif alias_rules.without_appended(scope["path"]) != scope["path"]:
            scope = await self._forgiving(scope, domain)
        app = self._domain_app if domain is not None and domain.id else self._app
        await app(scope, receive, send)

    async def has_alias(self, scope: Scope) -> bool:
        """Return whether the branded domain of a request has an alias with this path."""
        visits, host = self._services.visits, host_of(header_of(scope, b"host"))
        with suppress(Problem):  # the service's own paths are answered without the database
            if (domain := await visits.find_domain(host)) is None:
                return False
            path = await meant_path(visits, domain.host, scope["path"])
            path = path.removeprefix("/").removesuffix("+")
            alias = await visits.canonical_alias(domain.host, path)
            return any([await visits.resolve(domain.host, name) for name in {alias, alias.removesuffix("/qr")}])
        return False

    async def _forgiving(self, scope: Scope, domain: DomainView) -> Scope:
        """Return the request for the path that is meant."""
        with suppress(Problem):  # the routes respond with the problem
            path = await meant_path(self._services.visits, domain.host, scope["path"])
            return {**scope, "path": path, "raw_path": quote(path).encode()}
        return scope

    async def _brand_of_installation(self) -> Brand:
        with suppress(Problem):  # the page is shown without a brand
            own_host = await self._services.visits.find_domain(OWN)
            return own_host.brand if own_host is not None else NO_BRAND
        return NO_BRAND

    def _requested_host(self, scope: Scope) -> str:
        header = header_of(scope, b"host")
        return OWN if is_own(header, self._services.settings) else host_of(header)


def _create_app(routes: Iterable[PublicRoute], services: Services) -> Starlette:
    """Return an app. The first route that matches a path handles it."""
    errors = _ErrorPages(services.pages)
    return Starlette(
        routes=[
            Route(
                path=route.path,
                endpoint=partial(_respond, route=route, services=services),
                methods=list(route.methods),
            )
            for route in routes
        ],
        exception_handlers={Problem: errors.problem, 405: errors.method_not_allowed, Exception: errors.internal},
    )


async def _respond(request: Request, route: PublicRoute, services: Services) -> Response:
    if len(encoded(request.scope["query_string"])) > route.max_query:
        return services.pages.refuse(request, "too_long")
    if request.method == "POST":
        try:
            refuse_partial_or_encoded(request.headers.items())
        except Problem as problem:
            return services.pages.refuse(request, "unclear", field=problem.field or "", detail=problem.message)
    return await route.handler(request, services)


class _ErrorPages:
    """Exception handlers. Details are logged and never shown to visitors."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    async def problem(self, request: Request, error: Exception) -> Response:
        """Handle an unavailable database or storage, a full disk, and an item that was deleted during the request."""
        assert isinstance(error, Problem)
        if error.kind in (Kind.NOT_FOUND, Kind.INVALID):
            return self._pages.refuse(request, "missing")
        return self._pages.fail(request, _failure(error), code=error.kind.code, retry_after=error.retry_after)

    async def method_not_allowed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = self._pages.fail(request, "method", code=Kind.METHOD_NOT_ALLOWED.code)
        response.headers.update(error.headers or {})
        return response

    async def internal(self, request: Request, error: Exception) -> Response:
        """Handle an unexpected exception. A template can be what failed, so the page has none."""
        if wants_json(request):
            return self._pages.fail(request, "internal", code=Kind.INTERNAL.code)
        language = self._pages.language(request.headers.get("accept-language", ""))
        return bare_pages.internal_error(request, request.scope[REQUEST_ID], language=language)


def _failure(problem: Problem) -> Failure:
    if isinstance(problem, StorageUnavailable):
        return "unreadable"
    return "storage_full" if problem.kind is Kind.STORAGE_FULL else "unavailable"


async def meant_path(visits: VisitService, host: str, path: str) -> str:
    """Return the path that a request means. An exact name always wins, so that names may end with punctuation.

    A name costs at most two more reads than without this, and unknown names are cached.
    """
    if not alias_rules.without_appended(path):
        return path
    if host == OWN and path.startswith("/files/"):
        # The signature of a deletion URL can end with "-", but not with other punctuation, and never misses.
        trimmed = alias_rules.without_appended(path, host=host)
        return trimmed if trimmed.count("/") >= _SLASHES_OF_DELETION else path
    for candidate in dict.fromkeys((path, alias_rules.without_appended(path, host=host))):
        if alias_rules.without_appended(candidate) == candidate:
            return candidate  # nothing is left to cut off
        if await _is_name(visits, host, candidate):
            return candidate
    return alias_rules.without_appended(path)


async def _is_name(visits: VisitService, host: str, path: str) -> bool:
    """Return whether a path is exactly that of an alias, a rotator or the image of a QR code."""
    prefix = next((prefix for prefix in _ALIAS_PREFIXES if path.startswith(prefix)), "/") if host == OWN else "/"
    name = alias_rules.normalize(path.removeprefix(prefix), host)
    if not alias_rules.is_valid(name, host=host):
        return False
    if prefix == "/r/":
        return await visits.read(lambda tx: alias_namespace.find(tx, ROTATORS, name)) is not None
    return await visits.resolve(host, await visits.canonical_alias(host, name)) is not None
