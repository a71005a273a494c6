"""Routes of dashboard pages: each resource declares a handler per path and method."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.responses import Response
from starlette.types import Scope

if TYPE_CHECKING:
    from waypost.dashboard.context import PageContext

ID_CONVERTOR = "row_id"
Handler = Callable[..., Response]
StreamHandler = Callable[..., Awaitable[Response]]


class _IdConvertor(IntegerConvertor):
    """An id in a path. Numbers that are too large for an id do not match."""

    regex = "[0-9]{1,15}"


register_url_convertor(ID_CONVERTOR, _IdConvertor())


@dataclass(frozen=True)
class PageRoute:
    """A route. The handler gets the `PageContext` and the path parameters.

    `public` pages need no session. Except for administrators, `admin_only` pages return 404.
    `files`: its form can have small files, such as pictures.
    `resumable`: a form without a session is kept until the user signed in. The handler then runs with
    `PageContext.is_resumed`, as it does for a form with the CSRF token of an earlier session. It must save nothing but
    through `PageContext.write`, and call `reject_resumed` before it sends a request or counts against a limit.
    `snapshot`: a page of users reads everything in one transaction. Its handler must change nothing, because it can
    run twice (`PageContext.wait_for_ingest`). False for a page that waits for other servers, reads rows in batches,
    or is a download, which reads while it is sent.
    `has_own_token`: a form without a CSRF token, whose fields or query have a signed token instead (RFC 8058).
    `stream_handler` replaces the handler for uploads: a coroutine function that also gets the `MultipartReader`.
    """

    method: Literal["GET", "POST"]
    path: str
    handler: Handler | None
    public: bool
    admin_only: bool = False
    stream_handler: StreamHandler | None = None
    files: bool = False
    resumable: bool = False
    snapshot: bool = True
    has_own_token: bool = False

    @property
    def has_snapshot(self) -> bool:
        """True for a page that reads everything in one transaction."""
        return self.snapshot and self.method == "GET" and not self.public


def pages_above_forms(routes: Sequence[PageRoute]) -> Iterator[PageRoute]:
    """Return a page for each path that only forms are sent to, which redirects to the page above it.

    Browsers show the path of a form, so it is reloaded or bookmarked.
    """
    pages = {route.path for route in routes if route.method == "GET"}
    for path in sorted({route.path for route in routes} - pages):
        segments = path.split("/")
        length = next((n for n in range(len(segments) - 1, 1, -1) if "/".join(segments[:n]) in pages), 0)
        if length:
            yield PageRoute("GET", path, partial(_redirect_up, length), public=True)


def _redirect_up(length: int, context: "PageContext", **_parameters: object) -> Response:
    """Redirect to the first segments of this path."""
    return context.redirect("/".join(context.request.url.path.split("/")[:length]))


class Router:
    """Collects the routes of one resource."""

    def __init__(self, *, admin_only: bool = False) -> None:
        self.routes: list[PageRoute] = []
        self._admin_only = admin_only

    def get(self, path: str, *, public: bool = False, snapshot: bool = True) -> Callable[[Handler], Handler]:
        """Register a page."""
        return self._register("GET", path, public=public, snapshot=snapshot)

    def post(
        self,
        path: str,
        *,
        public: bool = False,
        files: bool = False,
        resumable: bool = False,
        has_own_token: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Register the handler of a form; it runs only with a valid CSRF token, or if the form is resumed."""
        return self._register(
            "POST", path, public=public, files=files, resumable=resumable, has_own_token=has_own_token
        )

    def stream(self, path: str) -> Callable[[StreamHandler], StreamHandler]:
        """Register the handler of a form with files, which reads the body itself; it needs a valid CSRF token too."""

        def register(handler: StreamHandler) -> StreamHandler:
            route = PageRoute("POST", path, None, public=False, admin_only=self._admin_only, stream_handler=handler)
            self.routes.append(route)
            return handler

        return register

    def _register(
        self,
        method: Literal["GET", "POST"],
        path: str,
        *,
        public: bool,
        files: bool = False,
        resumable: bool = False,
        snapshot: bool = True,
        has_own_token: bool = False,
    ) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            route = PageRoute(
                method,
                path,
                handler,
                public,
                self._admin_only,
                files=files,
                resumable=resumable,
                snapshot=snapshot,
                has_own_token=has_own_token,
            )
            self.routes.append(route)
            return handler

        return register


def route_of_page(scope: Scope) -> str:
    """Return the route of a request that was answered, such as `/dashboard/links/{id}`, or ""."""
    return str(getattr(scope.get("route"), "path_format", ""))
