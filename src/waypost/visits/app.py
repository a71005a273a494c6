"""The ASGI app for visitors: everything outside the API and the dashboard."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from waypost.errors import Kind, Problem
from waypost.visits.responses import Failure, PageRenderer
from waypost.visits.services import Handler, Services


@dataclass(frozen=True)
class PublicRoute:
    """A path of visitors, its handler and methods."""

    path: str
    handler: Handler
    methods: Sequence[str] = ("GET", "HEAD")


def create_public_app(routes: Iterable[PublicRoute], services: Services) -> Starlette:
    """Return the app. The first route that matches a path handles it."""
    errors = _ErrorPages(services.pages)
    return Starlette(
        routes=[
            Route(path=route.path, endpoint=partial(route.handler, services=services), methods=list(route.methods))
            for route in routes
        ],
        exception_handlers={Problem: errors.problem, 405: errors.method_not_allowed, Exception: errors.internal},
    )


class _ErrorPages:
    """Exception handlers. Details are logged and never shown to visitors."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    async def problem(self, request: Request, error: Exception) -> Response:
        """Handle an unavailable database, a full disk, and an item that was deleted during the request."""
        assert isinstance(error, Problem)
        if error.kind in (Kind.NOT_FOUND, Kind.INVALID):
            return self._pages.refuse(request, "missing")
        failure: Failure = "storage_full" if error.kind is Kind.STORAGE_FULL else "unavailable"
        return self._pages.fail(request, failure, code=error.kind.code, retry_after=error.retry_after)

    async def method_not_allowed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = self._pages.fail(request, "method", code=Kind.METHOD_NOT_ALLOWED.code)
        response.headers.update(error.headers or {})
        return response

    async def internal(self, request: Request, error: Exception) -> Response:
        """Handle an unexpected exception."""
        return self._pages.fail(request, "internal", code=Kind.INTERNAL.code)
