"""The dashboard as one ASGI app: who is signed in, whether a form is ours, and the headers of private pages."""

import time
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from urllib.parse import quote

import anyio.to_thread
import structlog
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost import credentials, signing
from waypost.api.types import MAX_INTEGER
from waypost.auth import sessions
from waypost.auth.login_throttle import LoginThrottle
from waypost.auth.sessions import SignedIn
from waypost.dashboard import forms
from waypost.dashboard.assets import asset
from waypost.dashboard.context import (
    CONTENT_SECURITY_POLICY,
    FLASH_COOKIE,
    HOME,
    DryRun,
    PageContext,
    PageServices,
    Preview,
)
from waypost.dashboard.routing import PageRoute, Takes
from waypost.dashboard.templating import draw
from waypost.db.database import Database
from waypost.errors import Kind, Problem, not_found
from waypost.http.attempt_limiter import AttemptLimiter
from waypost.http.lingering_close import BodyTracker, LingeringResponse
from waypost.http.multipart import Parts
from waypost.mail import Mailer
from waypost.observability.metrics import Meter
from waypost.settings import Settings
from waypost.storage.cleanup import StorageCleaner

_log = structlog.get_logger("dashboard")
_LONGEST_COOKIE = 64
SIGN_IN = "/dashboard/signin"
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
"""On every page that says nothing else: nothing from elsewhere, no script but our files, nobody frames or keeps it."""


class Dashboard:
    """Around every page."""

    def __init__(
        self,
        pages: Sequence[PageRoute],
        *,
        settings: Settings,
        database: Database,
        changed: Callable[[], None],
        meter: Meter,
        keeper: StorageCleaner,
        post: Mailer,
        guesses: AttemptLimiter,
        preview: Preview,
        bio_page: Callable[..., str],
        trial: DryRun,
    ) -> None:
        self._pages = pages
        self._settings = settings
        self._database = database
        self._changed = changed
        self._meter = meter
        self._keeper = keeper
        self._post = post
        self._preview = preview
        self._bio_page = bio_page
        self._trial = trial
        self._tries = LoginThrottle(guesses)

    def app(self) -> Starlette:
        """The ASGI app."""
        nothing = PageRoute("GET", "/{rest:path}", _nothing, public=True)
        return Starlette(
            routes=[
                Route("/dashboard/static/{name}", asset, methods=["GET"]),
                *(Route(page.path, self._endpoint(page), methods=[page.method]) for page in self._pages),
                Route(nothing.path, self._endpoint(nothing), methods=["GET", "POST"]),
            ]
        )

    @cached_property
    def _kit(self) -> PageServices:
        secure = self._settings.base.startswith("https:")
        made = self._database.read(signing.of)
        return PageServices(
            signer=made,
            login_throttle=self._tries,
            mailer=self._post,
            render_template=draw,
            preview=self._preview,
            bio_page=self._bio_page,
            dry_run=self._trial,
            secure=secure,
        )

    def _endpoint(self, page: PageRoute) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            began, name = time.perf_counter(), uuid.uuid4().hex
            heard = BodyTracker(request)
            try:
                if page.stream_handler is not None:
                    response = await self._taken(Request(request.scope, heard), page.stream_handler)
                else:
                    fields = await forms.sent(request.stream()) if request.method == "POST" else {}
                    response = await anyio.to_thread.run_sync(self._answer, request, page, fields)
            except Problem as problem:  # before anybody was known, or the database is away
                response = _plain(problem)
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception:  # noqa: BLE001  # the outermost edge of a request
                self._meter.count("errors")
                _log.exception("request failed", request_id=name)
                told = f"Internal error. If it happens again, tell the operator this request id: {name}"
                response = _plain(Problem(Kind.INTERNAL, told))
            self._meter.time("dashboard", time.perf_counter() - began)
            for header, value in HEADERS.items():
                response.headers.setdefault(header, value)
            return response if page.stream_handler is None else LingeringResponse(response, heard)

        return endpoint

    def _answer(self, request: Request, page: PageRoute, fields: dict[str, list[str]]) -> Response:
        context, is_known = self._context(request, fields)
        response = self._page(context, page)
        if not is_known:
            # For the forms of who is not signed in; gone with the browser's window.
            keep = {"path": "/", "httponly": True, "samesite": "lax", "secure": self._kit.secure}
            if not any(self._kit.cookie in value for value in response.headers.getlist("set-cookie")):
                response.set_cookie(self._kit.cookie, context.cookie, **keep)  # type: ignore[arg-type]  # as listed above
        if context.flash and response.status_code == 200:  # shown, so it is not said again
            response.delete_cookie(FLASH_COOKIE, path=HOME)
        return response

    def _context(self, request: Request, fields: dict[str, list[str]]) -> tuple[PageContext, bool]:
        """The context, and whether the browser had a cookie."""
        cookie = request.cookies.get(self._kit.cookie, "")
        if not 16 <= len(cookie) <= _LONGEST_COOKIE:
            cookie = ""
        person = self._who(cookie) if cookie else None
        context = PageContext(
            account=person.account if person else 0,
            settings=self._settings,
            database=self._database,
            publish_changes=self._changed,
            cleaner=self._keeper,
            services=self._kit,
            request=request,
            cookie=cookie or credentials.new_token(),
            session=person,
            fields=fields,
        )
        return context, bool(cookie)

    def _who(self, token: str) -> SignedIn | None:
        person = self._database.read(lambda tx: sessions.find(tx, token))
        if person is None or person.suspended:
            return None
        if person.stale:
            self._database.write(lambda tx: sessions.touch(tx, person.account, person.session), durability="relaxed")
        return person

    def _page(self, context: PageContext, page: PageRoute) -> Response:
        if context.session is None and not page.public:
            return _to_sign_in(context)
        assert page.handler is not None
        token = (context.fields.get("token") or [""])[-1]
        if context.request.method == "POST" and not self._kit.signer.verify_csrf_token(context.cookie, token):
            return _outdated(context)
        try:
            if page.operator and not context.user.owner:
                raise _no_page()
            return page.handler(context, **_within(context.request.path_params))
        except Problem as problem:
            return _refused(context, problem)

    async def _taken(self, request: Request, take: Takes) -> Response:
        """What a page says to a form with files. Its first part has to be the token: before that, nothing is kept."""
        context, _ = await anyio.to_thread.run_sync(self._context, request, {})
        if context.session is None:
            return _to_sign_in(context)
        try:
            parts = Parts(request)
            first = await parts.next()
            token = await first.text() if first is not None and first.name == "token" else ""
            if not self._kit.signer.verify_csrf_token(context.cookie, token):
                return _outdated(context)
            return await take(context, parts, **_within(request.path_params))
        except Problem as problem:
            return _refused(context, problem)


_OUTDATED = "You signed in or out in another tab since this page was opened. Go back, reload it and try again."


def _outdated(context: PageContext) -> Response:
    return context.render("problem.html", status=403, title="This form is out of date", why=_OUTDATED)


def _refused(context: PageContext, problem: Problem) -> Response:
    """A problem as a page."""
    title = {404: "Nothing here", 503: "Not right now"}.get(problem.kind.status, "That did not work")
    response = context.render("problem.html", status=problem.kind.status, title=title, why=problem.message)
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    return response


def _to_sign_in(context: PageContext) -> Response:
    """Sign in first, then go on to where one wanted to go; what a form said is not kept."""
    asked = context.request.url
    wanted = asked.path + (f"?{asked.query}" if asked.query else "")
    if "hx-request" in context.request.headers:  # a part of a page cannot become the form, so the page does
        return Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    if context.request.method == "POST" or wanted == HOME:
        return RedirectResponse(SIGN_IN, status_code=303)
    return RedirectResponse(f"{SIGN_IN}?next={quote(wanted, safe='/')}", status_code=303)


def _within(path: dict[str, object]) -> dict[str, object]:
    """What stands in the path. Raises NOT_FOUND for a number that no id can be."""
    if any(isinstance(value, int) and value > MAX_INTEGER for value in path.values()):
        raise not_found()
    return path


def _nothing(_context: PageContext, rest: str) -> Response:
    """There is no such page."""
    if rest.rstrip("/") == "dashboard":
        return RedirectResponse(HOME, status_code=307)
    raise _no_page()


def _no_page() -> Problem:
    return Problem(Kind.NOT_FOUND, "There is no page at this address.")


def _plain(problem: Problem) -> Response:
    """A problem where no page can be drawn."""
    headers = {"Retry-After": str(problem.retry_after)} if problem.retry_after is not None else {}
    return Response(problem.message + "\n", problem.kind.status, headers=headers, media_type="text/plain")
