"""What anybody on the web meets: short links, and the pages that say why one does not work."""

import base64
import time
import zlib
from typing import NamedTuple
from urllib.parse import parse_qs, quote

import anyio.to_thread
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from waypost import clock
from waypost.aliases.hosts import host_of, is_own
from waypost.aliases.namespace import OWN
from waypost.clicks import classify, journal
from waypost.db import Database
from waypost.domains import check
from waypost.errors import Problem
from waypost.metrics import Meter
from waypost.net.proxies import client_address, trusts
from waypost.settings import Settings
from waypost.visits.decide import Redirect, Refusal, Why
from waypost.visits.find import Target
from waypost.visits.lane import Traffic
from waypost.visits.memory import LONGEST_LIFE, HotAnswer
from waypost.visits.visit import Asked, Visitor

NO_STORE = {"Cache-Control": "private, no-store"}
_PAGE = {
    **NO_STORE,
    # Without form-action: browsers hold it against the redirect too that answers the right password.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class _Words(NamedTuple):
    status: int
    title: str
    text: str


_REFUSALS: dict[Why, _Words] = {
    "missing": _Words(404, "Nothing here", "This short link does not exist. Please check the address."),
    "disabled": _Words(403, "Switched off", "The owner of this short link has switched it off."),
    "gone": _Words(410, "No longer available", "This short link has expired or was used up."),
    "locked": _Words(401, "Password needed", "This short link is protected by a password."),
    "guessing": _Words(429, "Too many tries", "Too many wrong passwords. Please wait a minute and try again."),
}


class Visits:
    """The handlers of everything outside the API."""

    def __init__(
        self, *, settings: Settings, database: Database, traffic: Traffic, visitor: Visitor, meter: Meter
    ) -> None:
        self._settings = settings
        self._database = database
        self._traffic = traffic
        self._visitor = visitor
        self._meter = meter
        self._pages = Environment(loader=PackageLoader("waypost.visits"), autoescape=True)

    def app(self) -> Starlette:
        """The ASGI app."""
        return Starlette(
            routes=[
                Route("/", self._root, methods=["GET", "HEAD"]),
                Route(check.PATH + "{challenge}", self._challenge, methods=["GET"]),
                Route("/u/{username}/avatar.svg", self._avatar, methods=["GET", "HEAD"]),
                Route("/{alias}", self._name, methods=["GET", "HEAD", "POST"]),
                Route("/{rest:path}", self._nothing, methods=["GET", "HEAD"]),
            ],
            exception_handlers={Problem: self._problem},
        )

    async def _root(self, request: Request) -> Response:
        host = self._host(request)
        domain = await self._visitor.domain(host)
        if domain is not None and domain.redirectroot:
            return _redirect(domain.redirectroot)
        if host != OWN:
            return self._refuse(request, "missing")
        return self._page("front.html", 200, title="waypost", base=self._settings.base)

    async def _nothing(self, request: Request) -> Response:
        return self._refuse(request, "missing")

    async def _problem(self, request: Request, error: Exception) -> Response:
        """The database is away, or full: nothing more can be said to a visitor."""
        assert isinstance(error, Problem)
        headers = {**NO_STORE, "Retry-After": str(error.retry_after or 5)}
        body = {"error": 1, "message": error.message, "code": error.kind.code}
        return JSONResponse(body, error.kind.status, headers=headers)

    async def _challenge(self, request: Request) -> Response:
        """The proof that a domain points here (decision 39)."""
        text = request.path_params["challenge"]
        proof = await anyio.to_thread.run_sync(self._database.read, lambda tx: check.proof(tx, text))
        return Response(proof, media_type="text/plain", headers=_PAGE)

    async def _avatar(self, request: Request) -> Response:
        """A picture for an account: its first letter on a colour of its own. Says nothing about whether it exists."""
        name = request.path_params["username"]
        hue = zlib.crc32(name.casefold().encode()) % 360
        picture = self._pages.get_template("avatar.svg").render(letter=name[:1].upper(), hue=hue)
        headers = {"Cache-Control": "public, max-age=86400", "Content-Security-Policy": "sandbox; default-src 'none'"}
        return Response(picture, media_type="image/svg+xml", headers=headers)

    async def _name(self, request: Request) -> Response:
        began = time.perf_counter()
        response = await self._answer(request)
        self._meter.time("visit", time.perf_counter() - began)
        return response

    async def _answer(self, request: Request) -> Response:
        alias = request.path_params["alias"]
        if alias.endswith("+"):
            return await self._preview(request, alias[:-1])
        asked = await self._asked(request, alias)
        version = self._traffic.memory.version
        target, answer = await self._visitor.visit(asked)
        if isinstance(answer, Redirect):
            self._meter.count("redirects", "full")
            response = _redirect(answer.url, status=303 if request.method == "POST" else 302)
            if target is not None and target.is_plain and answer.counts and not asked.query:
                self._keep_hot(request, asked, target, response, version)
            return response
        if answer.why == "missing":
            domain = await self._visitor.domain(asked.host)
            if domain is not None and domain.redirect404:
                return _redirect(domain.redirect404)
        return self._refuse(request, answer.why, wrong=bool(asked.password))

    async def _preview(self, request: Request, alias: str) -> Response:
        """Where a link goes, without going there (decision 50)."""
        target, answer = await self._visitor.look(self._host(request), alias)
        if target is None or isinstance(answer, Refusal):
            why = answer.why if isinstance(answer, Refusal) and answer.why != "locked" else "missing"
            return self._refuse(request, why)
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": 0, "url": answer.url, "title": target.title}, headers=NO_STORE)
        told = {"title": target.title or "Where this link goes", "url": answer.url, "alias": alias}
        return self._page("preview.html", 200, **told)

    async def _asked(self, request: Request, alias: str) -> Asked:
        headers = request.headers
        peer = request.client.host if request.client else ""
        behind_proxy = trusts(peer, self._settings.proxies)
        forwarded = [value.encode("latin-1") for value in headers.getlist("x-forwarded-for")]
        code = headers.get(self._settings.country_header, "") if behind_proxy and self._settings.country_header else ""
        return Asked(
            host=self._host(request),
            alias=alias,
            address=client_address(peer, forwarded, self._settings.proxies),
            country_code=code[:2].encode("latin-1"),
            agent=headers.get("user-agent", "").encode("latin-1"),
            referrer=headers.get("referer", "").encode("latin-1"),
            language=headers.get("accept-language", "").encode("latin-1"),
            query=quote(request.scope["query_string"], safe=_URL_SAFE),
            password=await _password(request),
            is_head=request.method == "HEAD",
            is_prefetch=any(classify.is_prefetch(headers.get(name, "")) for name in _PURPOSES),
        )

    def _keep_hot(self, request: Request, asked: Asked, target: Target, response: Response, version: int) -> None:
        """Let the lane give this answer from now on."""
        header = request.headers.get("host", "").encode("latin-1")
        told = b"".join(b"%b: %b\r\n" % pair for pair in response.raw_headers) + b"\r\n"
        until = clock.now_ms() + round(LONGEST_LIFE * 1000)
        if target.expiry is not None:
            until = min(until, (target.expiry + 1) * 1000)
        counted = journal.target_of(target.account, "link", target.id)
        hot = HotAnswer(headers=told, target=counted, until_ms=until)
        self._traffic.memory.keep_hot(header, (asked.host, asked.alias), hot, version=version)

    def _host(self, request: Request) -> str:
        header = request.headers.get("host", "")
        return OWN if is_own(header, self._settings) else host_of(header)

    def _refuse(self, request: Request, why: Why, *, wrong: bool = False) -> Response:
        words = _REFUSALS[why]
        self._meter.count("refusals", why)
        headers = {"Retry-After": "60"} if why == "guessing" else {}
        if "text/html" not in request.headers.get("accept", ""):
            if why == "locked":
                headers["WWW-Authenticate"] = 'Basic realm="protected link", charset="UTF-8"'
            body = {"error": 1, "message": words.text, "code": why}
            return JSONResponse(body, words.status, headers={**NO_STORE, **headers})
        page = self._page("refusal.html", words.status, words=words, why=why, wrong=wrong)
        page.headers.update(headers)
        return page

    def _page(self, template: str, status: int, **values: object) -> Response:
        return HTMLResponse(self._pages.get_template(template).render(values), status, headers=_PAGE)


_PURPOSES = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_URL_SAFE = "%/:?#[]@!$&'()*+,;=~"
_MOST_FORM = 4096  # bytes: a password of 128 characters, each of them percent-encoded


def _redirect(url: str, *, status: int = 302) -> Response:
    """Decision 46. What is not ASCII goes percent-encoded, so a header can hold it and nothing can break out of it."""
    return Response(status_code=status, headers={"Location": quote(url, safe=_URL_SAFE), **NO_STORE})


async def _password(request: Request) -> str:
    """The password that came with the visit: from the form, or by HTTP Basic for tools."""
    if request.method == "POST":
        return await _posted(request)
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        decoded = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return ""
    return decoded.partition(":")[2][:128]


async def _posted(request: Request) -> str:
    """The password in the body of the form that the locked page shows."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_FORM:
                return ""
    except ClientDisconnect:  # who is gone gets no answer anyway
        return ""
    fields = parse_qs(body.decode("ascii", "replace"))
    return fields.get("password", [""])[0][:128]
