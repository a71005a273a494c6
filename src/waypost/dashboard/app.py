"""The dashboard as an ASGI app: sessions, the CSRF check, error pages and security headers."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from html import escape
from urllib.parse import quote, urlencode

import anyio.to_thread
from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost.api.context import WorkerResources
from waypost.api.request import STATISTICS_AGE
from waypost.auth import sessions
from waypost.auth.sessions import SignedIn
from waypost.clicks.ingest import read_barrier
from waypost.core import credentials
from waypost.core.actor import Actor
from waypost.core.errors import Kind, Problem
from waypost.dashboard import flash, forms, preferences, resubmitted_forms, trash
from waypost.dashboard.assets import asset
from waypost.dashboard.context import CONTENT_SECURITY_POLICY, UNCOUNTED, PageContext, SnapshotTooOld
from waypost.dashboard.forms import NO_FORM, SubmittedForm, is_multipart, read_multipart
from waypost.dashboard.i18n import current_language, text_in
from waypost.dashboard.list_position import HOME
from waypost.dashboard.live_visits import LiveVisits
from waypost.dashboard.page_services import DryRun, PageServices, Preview
from waypost.dashboard.routing import ID_CONVERTOR, PageRoute, pages_above_forms
from waypost.dashboard.templating import render_template
from waypost.db.signing import installation_signer
from waypost.http import bare_pages, csrf
from waypost.http.body_headers import refuse_partial_or_encoded
from waypost.http.client_ip import client_ip, network_of
from waypost.http.csrf import verify_csrf_token
from waypost.http.lingering_close import BodyTracker, LingeringResponse
from waypost.http.middleware import REQUEST_ID
from waypost.http.multipart import MultipartReader
from waypost.media.favicons import Favicons

_BODY = "waypost.body"
_MIN_COOKIE_LENGTH, _MAX_COOKIE_LENGTH = 16, 64
_FORM_TRANSFERS = 4  # times the idle timeout of a transfer, for a form with pictures as a whole
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
"""Defaults for every response: nothing is cached, framed or loaded from other origins, and no inline script runs."""
_STALE_FORM = "You signed in or out in another tab since this page was opened. Go back, reload it and try again."


@dataclass
class Dashboard:
    """Builds the ASGI app from the routes of all resources."""

    routes: Sequence[PageRoute]
    _: KW_ONLY
    resources: WorkerResources
    preview: Preview
    bio_page: Callable[..., str]
    dry_run: DryRun
    favicons: Favicons

    def app(self) -> Starlette:
        """Return the ASGI app."""
        fallback = PageRoute("GET", "/{rest:path}", _unknown_page, public=True)
        return Starlette(
            routes=[
                Route("/dashboard/static/{name}", asset, methods=["GET"]),
                *(self._route(route) for route in self.routes),
                *(self._route(route) for route in pages_above_forms(self.routes)),
                Route(fallback.path, self._endpoint(fallback), methods=["GET", "POST"]),
            ],
            exception_handlers={Exception: _internal_error},
        )

    def _route(self, route: PageRoute) -> Route:
        path = route.path.replace(":int}", f":{ID_CONVERTOR}}}")
        return Route(path, self._endpoint(route), methods=[route.method])

    @cached_property
    def _services(self) -> PageServices:
        return PageServices(
            signer=self.resources.database.read(installation_signer),
            render_template=render_template,
            preview=self.preview,
            bio_page=self.bio_page,
            dry_run=self.dry_run,
            favicons=self.favicons,
            live_visits=LiveVisits(self.resources.database),
            secure=self.resources.settings.dashboard.startswith("https:"),
        )

    def _endpoint(self, route: PageRoute) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            start = time.perf_counter()
            request.scope[_BODY] = body = BodyTracker(request)
            try:
                if request.method == "POST":
                    refuse_partial_or_encoded(request.headers.items())
                if route.stream_handler is not None:
                    response = await self._handle_stream(Request(request.scope, body), route)
                else:
                    form = await self._read_form(request, route)
                    response = await anyio.to_thread.run_sync(self._handle, request, route, form)
            except Problem as problem:  # before the session was read, or the database is unavailable
                response = _bare_page(request, problem)
            except ClientDisconnect:
                response = Response(status_code=400)
            finally:
                self.resources.meter.time("dashboard", time.perf_counter() - start)
            if seconds := request.scope.get(UNCOUNTED):
                response.headers[STATISTICS_AGE] = str(seconds)
            response = _with_headers(response)
            return response if route.stream_handler is None else LingeringResponse(response, body)

        return endpoint

    async def _read_form(self, request: Request, route: PageRoute) -> bytes | SubmittedForm:
        """Return the body of a form, or its fields and files if the route takes files.

        Strangers can send small forms, to public pages and to those that keep them (`resumable`) only.
        """
        if request.method != "POST":
            return b""
        if route.public or _is_small(request):
            return await forms.read_body(request.stream(), forms.MAX_PUBLIC_BYTES)
        if not await anyio.to_thread.run_sync(self._has_session, request):
            return await self._read_kept_form(request) if route.resumable else b""
        if route.files and is_multipart(request):
            return await read_multipart(
                request, field_seconds=_FORM_TRANSFERS * self.resources.settings.transfer_seconds
            )
        return await forms.read_body(request.stream(), forms.MAX_BYTES)

    async def _read_kept_form(self, request: Request) -> bytes:
        """Return the body of a form to keep while the user signs in.

        Return b"" for one that is long, has files, or is of another site.
        """
        if is_multipart(request) or not self._is_own_form(request):
            return b""
        with suppress(Problem):
            return await forms.read_body(request.stream(), forms.MAX_PUBLIC_BYTES)
        return b""

    def _is_own_form(self, request: Request) -> bool:
        return resubmitted_forms.is_own_form(request, secure=self._services.secure)

    def _has_session(self, request: Request) -> bool:
        return self._context(request).session is not None

    def _handle(self, request: Request, route: PageRoute, form: bytes | SubmittedForm) -> Response:
        form = SubmittedForm(forms.parse_urlencoded(form), {}) if isinstance(form, bytes) else form
        if route.has_snapshot:
            context, response = self._respond_on_snapshot(request, route)
        else:
            context = self._context(request, form)
            response = self._respond(context, route)
        if context.session is not None and context.session.stale:
            self._touch(context.session)
        if self._cookie(request) != context.cookie:
            # CSRF tokens are bound to this cookie, so forms work without a session. It ends with the browser session.
            name = self._services.cookie
            if not any(name in value for value in response.headers.getlist("set-cookie")):
                secure = self._services.secure
                response.set_cookie(name, context.cookie, path="/", httponly=True, samesite="lax", secure=secure)
        if context.flash and response.status_code == 200:  # shown now, so not again
            response.delete_cookie(flash.COOKIE, path=HOME, secure=self._services.secure, httponly=True, samesite="lax")
        return response

    def _respond_on_snapshot(self, request: Request, route: PageRoute) -> tuple[PageContext, Response]:
        """Respond in one transaction, from the session to the rendered page."""

        def respond(tx: Connection, *, is_ingested: bool) -> tuple[PageContext, Response]:
            context = replace(self._context(request, tx=tx), snapshot=tx, is_ingested=is_ingested)
            return context, self._respond(context, route)

        database = self.resources.database
        try:
            return database.read(partial(respond, is_ingested=False))
        except SnapshotTooOld:
            if seconds := read_barrier.wait(self.resources.settings.journal_dir, database):
                request.scope[UNCOUNTED] = seconds
            return database.read(partial(respond, is_ingested=True))

    def _cookie(self, request: Request) -> str:
        """Return the cookie that identifies the browser, or "" for none."""
        cookie = request.cookies.get(self._services.cookie, "")
        return cookie if _MIN_COOKIE_LENGTH <= len(cookie) <= _MAX_COOKIE_LENGTH else ""

    def _context(self, request: Request, form: SubmittedForm = NO_FORM, *, tx: Connection | None = None) -> PageContext:
        """Return the context; with `tx`, the session is read in this transaction."""
        cookie = self._cookie(request)
        session = self._session(cookie, tx) if cookie else None
        pseudo = self.resources.settings.pseudo_language == "on"
        language = preferences.language(request, session, pseudo=pseudo)
        current_language.set(language)
        return PageContext(
            account=session.account if session else 0,
            resources=self.resources,
            can_change_login=True,
            services=self._services,
            request=request,
            cookie=cookie or credentials.new_token(),
            session=session,
            fields=form.fields,
            language=language,
            files=form.files,
            report_uncounted=partial(request.scope.__setitem__, UNCOUNTED),
            actor=partial(self._actor, session, request),
        )

    def _actor(self, session: SignedIn | None, request: Request) -> Actor:
        network = network_of(client_ip(request.scope, self.resources.settings.proxies))
        hashed = self.resources.rate_limiter.hash_of(network)
        return Actor("dashboard", session.account if session else None, network=hashed)

    def _session(self, token: str, tx: Connection | None) -> SignedIn | None:
        find = partial(sessions.find, token=token)
        session = self.resources.database.read(find) if tx is None else find(tx)
        return None if session is None or session.suspended else session

    def _touch(self, session: SignedIn) -> None:
        """Store that the session is in use."""
        self.resources.database.write(
            lambda tx: sessions.touch(tx, session.account, session.session), durability="relaxed"
        )

    def _respond(self, context: PageContext, route: PageRoute) -> Response:
        if context.session is None and not route.public:
            return _ask_to_sign_in(context, can_keep=route.resumable and self._is_own_form(context.request))
        assert route.handler is not None
        needs_token = context.request.method == "POST" and not route.has_own_token
        if needs_token and not self._is_csrf_token_valid(context):
            if not route.resumable or not self._is_own_form(context.request):
                return _stale_form(context)
            context = replace(context, is_resumed=True)
        try:
            _require_admin(context, route)
            return route.handler(context, **context.request.path_params)
        except Problem as problem:
            return _error_page(context, problem)

    def _is_csrf_token_valid(self, context: PageContext) -> bool:
        token = (context.fields.get(csrf.FIELD) or [""])[-1]
        return verify_csrf_token(self._services.signer, context.cookie, token)

    async def _handle_stream(self, request: Request, route: PageRoute) -> Response:
        """Handle a form with files. The CSRF token must be its first part, so that nothing is stored without one."""
        context = await anyio.to_thread.run_sync(self._context, request)
        current_language.set(context.language)  # again, because the thread has variables of its own
        if context.session is None:
            return _ask_to_sign_in(context, can_keep=False)
        try:
            _require_admin(context, route)
            reader = MultipartReader(request, field_seconds=self.resources.settings.transfer_seconds)
            first = await reader.next_part()
            token = await first.text() if first is not None and first.name == csrf.FIELD else ""
            if not verify_csrf_token(self._services.signer, context.cookie, token):
                return _stale_form(context)
            assert route.stream_handler is not None
            return await route.stream_handler(context, reader, **request.path_params)
        except Problem as problem:
            return _error_page(context, problem)


def _is_small(request: Request) -> bool:
    """Return whether a form is declared to be so small that strangers may send it, without files."""
    length = request.headers.get("content-length", "")
    is_known = length.isdecimal() and len(length) <= len(str(forms.MAX_PUBLIC_BYTES))
    return is_known and int(length) <= forms.MAX_PUBLIC_BYTES and not is_multipart(request)


def _require_admin(context: PageContext, route: PageRoute) -> None:
    """Raise NOT_FOUND for a page of administrators if the user is none."""
    if route.admin_only and not context.user.owner:
        raise _page_not_found()


def _stale_form(context: PageContext) -> Response:
    """Return the response to an invalid CSRF token."""
    return context.render("error.html", status=403, title="This form is out of date", message=_STALE_FORM)


def _error_page(context: PageContext, problem: Problem) -> Response:
    in_trash = problem.kind is Kind.NOT_FOUND and trash.has_item_of(context)
    response = context.render(
        "error.html",
        status=problem.kind.status,
        title=_title_of(problem),
        message=problem.message,
        is_missing=problem.kind is Kind.NOT_FOUND,
        in_trash=in_trash,
    )
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    return response


def _ask_to_sign_in(context: PageContext, *, can_keep: bool) -> Response:
    """Show the sign-in page with the fields of a form to keep, or redirect to it; it says that other forms are lost.

    It returns to the requested page.
    """
    path = resubmitted_forms.path_of(context.request)
    if "hx-request" in context.request.headers:  # htmx would insert the sign-in page into this one
        return Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    if can_keep and (kept := resubmitted_forms.keep(context.request, context.fields)):
        form = forms.Form({"next": path, "kept": kept})
        return context.render("login/signin.html", status=403, form=form, can_register=False)
    query = {"next": path} if path != HOME else {}
    if context.request.method == "POST":
        query["unsaved"] = "yes"
    encoded = urlencode(query, safe="/", quote_via=quote)
    return RedirectResponse(f"{SIGN_IN}?{encoded}" if query else SIGN_IN, status_code=303)


def _unknown_page(context: PageContext, rest: str) -> Response:
    path = rest.rstrip("/")
    if path == "dashboard" or (path.startswith("dashboard/") and path != rest):
        query = context.request.url.query
        return RedirectResponse(f"/{quote(path)}" + (f"?{query}" if query else ""), status_code=307)
    raise _page_not_found()


def _page_not_found() -> Problem:
    return Problem(Kind.NOT_FOUND, "There is no page at this address.")


async def _internal_error(request: Request, _error: Exception) -> Response:
    """Answer an exception that a page did not expect. It is counted and logged around all applications."""
    response = _with_headers(bare_pages.internal_error(request, request.scope[REQUEST_ID], home=HOME))
    body = request.scope.get(_BODY)
    return response if body is None else LingeringResponse(response, body)


def _with_headers(response: Response) -> Response:
    for header, value in HEADERS.items():
        response.headers.setdefault(header, value)
    return response


def _bare_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page without session, for when no other page can be rendered."""
    language = preferences.language(request, None, pseudo=False)
    headers = {"Retry-After": str(problem.retry_after)} if problem.retry_after is not None else {}
    return bare_pages.page(
        language,
        text_in(language, _title_of(problem)),
        [escape(text_in(language, problem.message))],
        status=problem.kind.status,
        links={"": text_in(language, "Try again")} if request.method == "GET" else {},
        headers=headers,
    )


def _title_of(problem: Problem) -> str:
    titles = {404: "Not found", 503: "Temporarily unavailable"}
    return titles.get(problem.kind.status, "The request could not be completed")
