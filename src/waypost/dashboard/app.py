"""The dashboard as one ASGI app: who is signed in, whether a form is ours, and the headers of private pages."""

import time
import uuid
from collections.abc import Callable
from functools import cached_property
from urllib.parse import quote

import anyio.to_thread
import structlog
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from waypost import credentials
from waypost.accounts import sessions
from waypost.accounts.sessions import SignedIn
from waypost.api.fields import MAX_INTEGER
from waypost.dashboard import forms, seals
from waypost.dashboard.assets import asset
from waypost.dashboard.desk import HOME, POLICY, SAID, Desk, Kit, Preview, Trial
from waypost.dashboard.drawing import draw
from waypost.dashboard.pages import Page, Takes
from waypost.dashboard.parts import Parts
from waypost.dashboard.routes import PAGES
from waypost.db import Database
from waypost.errors import Kind, Problem, not_found
from waypost.files.keeping import Keeper
from waypost.files.linger import Heard, Lingering
from waypost.metrics import Meter
from waypost.net.guesses import Guesses
from waypost.net.letters import Post
from waypost.net.tries import Tries
from waypost.settings import Settings

_log = structlog.get_logger("dashboard")
_LONGEST_COOKIE = 64
SIGN_IN = "/dashboard/signin"
HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": POLICY,
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
        *,
        settings: Settings,
        database: Database,
        changed: Callable[[], None],
        meter: Meter,
        keeper: Keeper,
        post: Post,
        guesses: Guesses,
        preview: Preview,
        bio_page: Callable[..., str],
        trial: Trial,
    ) -> None:
        self._settings = settings
        self._database = database
        self._changed = changed
        self._meter = meter
        self._keeper = keeper
        self._post = post
        self._preview = preview
        self._bio_page = bio_page
        self._trial = trial
        self._tries = Tries(guesses)

    def app(self) -> Starlette:
        """The ASGI app."""
        nothing = Page("GET", "/{rest:path}", _nothing, public=True)
        return Starlette(
            routes=[
                Route("/dashboard/static/{name}", asset, methods=["GET"]),
                *(Route(page.path, self._endpoint(page), methods=[page.method]) for page in PAGES),
                Route(nothing.path, self._endpoint(nothing), methods=["GET", "POST"]),
            ]
        )

    @cached_property
    def _kit(self) -> Kit:
        secure = self._settings.base.startswith("https:")
        made = self._database.read(seals.of)
        return Kit(
            seals=made,
            tries=self._tries,
            post=self._post,
            draw=draw,
            preview=self._preview,
            bio_page=self._bio_page,
            trial=self._trial,
            secure=secure,
        )

    def _endpoint(self, page: Page) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            began, name = time.perf_counter(), uuid.uuid4().hex
            heard = Heard(request)
            try:
                if page.take is not None:
                    response = await self._taken(Request(request.scope, heard), page.take)
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
            return response if page.take is None else Lingering(response, heard)

        return endpoint

    def _answer(self, request: Request, page: Page, fields: dict[str, list[str]]) -> Response:
        desk, is_known = self._desk(request, fields)
        response = self._page(desk, page)
        if not is_known:
            # For the forms of who is not signed in; gone with the browser's window.
            keep = {"path": "/", "httponly": True, "samesite": "lax", "secure": self._kit.secure}
            if not any(self._kit.cookie in value for value in response.headers.getlist("set-cookie")):
                response.set_cookie(self._kit.cookie, desk.cookie, **keep)  # type: ignore[arg-type]  # as listed above
        if desk.said and response.status_code == 200:  # shown, so it is not said again
            response.delete_cookie(SAID, path=HOME)
        return response

    def _desk(self, request: Request, fields: dict[str, list[str]]) -> tuple[Desk, bool]:
        """The desk, and whether the browser had a cookie."""
        cookie = request.cookies.get(self._kit.cookie, "")
        if not 16 <= len(cookie) <= _LONGEST_COOKIE:
            cookie = ""
        person = self._who(cookie) if cookie else None
        desk = Desk(
            account=person.account if person else 0,
            settings=self._settings,
            database=self._database,
            changed=self._changed,
            keeper=self._keeper,
            kit=self._kit,
            request=request,
            cookie=cookie or credentials.new_token(),
            person=person,
            fields=fields,
        )
        return desk, bool(cookie)

    def _who(self, token: str) -> SignedIn | None:
        person = self._database.read(lambda tx: sessions.find(tx, token))
        if person is None or person.suspended:
            return None
        if person.stale:
            self._database.count(lambda tx: sessions.touch(tx, person.account, person.session))
        return person

    def _page(self, desk: Desk, page: Page) -> Response:
        if desk.person is None and not page.public:
            return _to_sign_in(desk)
        assert page.answer is not None
        token = (desk.fields.get("token") or [""])[-1]
        if desk.request.method == "POST" and not self._kit.seals.is_token(desk.cookie, token):
            return _outdated(desk)
        try:
            if page.operator and not desk.you.owner:
                raise _no_page()
            return page.answer(desk, **_within(desk.request.path_params))
        except Problem as problem:
            return _refused(desk, problem)

    async def _taken(self, request: Request, take: Takes) -> Response:
        """What a page says to a form with files. Its first part has to be the token: before that, nothing is kept."""
        desk, _ = await anyio.to_thread.run_sync(self._desk, request, {})
        if desk.person is None:
            return _to_sign_in(desk)
        try:
            parts = Parts(request)
            first = await parts.next()
            token = await first.text() if first is not None and first.name == "token" else ""
            if not self._kit.seals.is_token(desk.cookie, token):
                return _outdated(desk)
            return await take(desk, parts, **_within(request.path_params))
        except Problem as problem:
            return _refused(desk, problem)


_OUTDATED = "You signed in or out in another tab since this page was opened. Go back, reload it and try again."


def _outdated(desk: Desk) -> Response:
    return desk.page("problem.html", status=403, title="This form is out of date", why=_OUTDATED)


def _refused(desk: Desk, problem: Problem) -> Response:
    """A problem as a page."""
    title = {404: "Nothing here", 503: "Not right now"}.get(problem.kind.status, "That did not work")
    response = desk.page("problem.html", status=problem.kind.status, title=title, why=problem.message)
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    return response


def _to_sign_in(desk: Desk) -> Response:
    """Sign in first, then go on to where one wanted to go; what a form said is not kept."""
    asked = desk.request.url
    wanted = asked.path + (f"?{asked.query}" if asked.query else "")
    if "hx-request" in desk.request.headers:  # a part of a page cannot become the form, so the page does
        return Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    if desk.request.method == "POST" or wanted == HOME:
        return RedirectResponse(SIGN_IN, status_code=303)
    return RedirectResponse(f"{SIGN_IN}?next={quote(wanted, safe='/')}", status_code=303)


def _within(path: dict[str, object]) -> dict[str, object]:
    """What stands in the path. Raises NOT_FOUND for a number that no id can be."""
    if any(isinstance(value, int) and value > MAX_INTEGER for value in path.values()):
        raise not_found()
    return path


def _nothing(_desk: Desk, rest: str) -> Response:
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
