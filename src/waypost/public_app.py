"""What anybody on the web meets: short links, and the pages that say why one does not work."""

import time
from functools import lru_cache

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from waypost import clock
from waypost.bios import view
from waypost.bios.public import Bios
from waypost.campaigns.public import Rotators
from waypost.campaigns.public_list import Lists
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.domains import ownership_check
from waypost.errors import Kind, Problem
from waypost.files.public import Downloads
from waypost.interstitials.form_token import FormTokens
from waypost.interstitials.preview import Previews
from waypost.interstitials.render import InterstitialPages
from waypost.moderation.public import Reports
from waypost.observability.metrics import Meter
from waypost.overlays.public import Answers
from waypost.qr.images import Pictures
from waypost.qr.public import Scans
from waypost.settings import Settings
from waypost.storage.store import Store
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import report_url
from waypost.visits.cache import MAX_AGE, HotResponse
from waypost.visits.decide import Refusal
from waypost.visits.fast_path import WorkerState
from waypost.visits.host_routes import Hosts
from waypost.visits.i18n import text
from waypost.visits.lookup import BioView, FileView, LinkView, QrView, Resolved
from waypost.visits.request import VisitRequest, host, read
from waypost.visits.responses import NO_STORE, PAGE, Failure, PageRenderer, redirect, wants_page
from waypost.visits.visit import VisitService


class Visits:
    """The handlers of everything outside the API."""

    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        traffic: WorkerState,
        visitor: VisitService,
        meter: Meter,
        store: Store,
    ) -> None:
        self._settings = settings
        self._database = database
        self._traffic = traffic
        self._visitor = visitor
        self._meter = meter
        self._pages = PageRenderer(meter)
        tickets = FormTokens(database)
        self._ahead = InterstitialPages(settings=settings, pages=self._pages, tickets=tickets)
        self._answers = Answers(
            settings=settings, database=database, visitor=visitor, pages=self._pages, tickets=tickets
        )
        self._scans = Scans(settings=settings, visitor=visitor, pages=self._pages)
        self._hosts = Hosts(settings=settings, visitor=visitor, pages=self._pages)
        self.previews = Previews(self._pages)
        self.bios = Bios(settings=settings, visitor=visitor, pages=self._pages)
        self._pictures = Pictures(
            settings=settings, database=database, traffic=traffic, visitor=visitor, pages=self._pages
        )
        self._reports = Reports(settings=settings, database=database, visitor=visitor, pages=self._pages)
        self._rotators = Rotators(
            settings=settings,
            database=database,
            visitor=visitor,
            pages=self._pages,
            ahead=self._ahead,
            meter=meter,
        )
        self._lists = Lists(settings=settings, visitor=visitor, pages=self._pages)
        self._downloads = Downloads(
            settings=settings, database=database, visitor=visitor, pages=self._pages, store=store
        )

    def app(self) -> Starlette:
        """The ASGI app."""
        return Starlette(
            routes=[
                Route("/", self._root, methods=["GET", "HEAD"]),
                Route(ownership_check.PATH + "{challenge}", self._challenge, methods=["GET"]),
                *self._hosts.routes(),
                Route("/u/{username}/avatar.svg", self._avatar, methods=["GET", "HEAD"]),
                Route("/u/{username}/{name}", self._lists.answer, methods=["GET", "HEAD"]),
                Route("/r/{slug}", self._rotators.answer, methods=["GET", "HEAD"]),
                Route("/report", self._reports.answer, methods=["GET", "HEAD", "POST"]),
                Route("/overlay/{overlay}", self._answers.take, methods=["POST"]),
                Route("/qr/{name}", self._pictures.of_code, methods=["GET", "HEAD"]),
                Route("/{alias}/qr", self._pictures.of_name, methods=["GET", "HEAD"]),
                Route("/{alias}/{block}", self.bios.of_block, methods=["GET", "HEAD"]),
                Route("/{alias}", self._name, methods=["GET", "HEAD", "POST"]),
                Route("/{rest:path}", self._nothing, methods=["GET", "HEAD"]),
            ],
            exception_handlers={Problem: self._problem, 405: self._wrong_method, Exception: self._broken},
        )

    async def _root(self, request: Request) -> Response:
        asked_host = host(request, self._settings)
        domain = await self._visitor.domain(asked_host)
        if domain is not None and domain.redirectroot:
            return await self._sent(request, domain.redirectroot)
        if asked_host != OWN:
            return self._pages.refuse(request, "missing")
        return redirect("/dashboard")

    async def _nothing(self, request: Request) -> Response:
        return self._pages.refuse(request, "missing")

    async def _problem(self, request: Request, error: Exception) -> Response:
        """The database is away, or full: nothing more can be said to a visitor."""
        assert isinstance(error, Problem)
        why: Failure = "full" if error.kind is Kind.STORAGE_FULL else "away"
        return self._pages.fail(request, why, code=error.kind.code, wait=error.retry_after)

    async def _wrong_method(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = self._pages.fail(request, "method", code=Kind.METHOD_NOT_ALLOWED.code)
        answer.headers.update(error.headers or {})
        return answer

    async def _broken(self, request: Request, error: Exception) -> Response:
        """What nobody foresaw. It is in the log, and nothing of it is in the answer."""
        return self._pages.fail(request, "broken", code=Kind.INTERNAL.code)

    async def _challenge(self, request: Request) -> Response:
        """The proof that a domain points here (decision 39)."""
        text = request.path_params["challenge"]
        proof = await anyio.to_thread.run_sync(self._database.read, lambda tx: ownership_check.proof(tx, text))
        return Response(proof, media_type="text/plain", headers=PAGE)

    async def _avatar(self, request: Request) -> Response:
        """A picture for an account: its first letter on a colour of its own. Says nothing about whether it exists."""
        if host(request, self._settings) != OWN:
            return self._pages.refuse(request, "missing")
        name = request.path_params["username"]
        picture = self._pages.draw("avatar.svg", **view.avatar(name, name))
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
        asked = await read(request, alias, self._settings)
        version = self._traffic.cache.version
        found = await self._visitor.resolve(asked.host, alias)
        if found is None:
            return await self._unknown(request, asked)
        if request.method == "POST" and not _takes_forms(found):
            query = f"?{request.url.query}" if request.url.query else ""
            return redirect(f"/{alias}{query}", status=303)  # there is nothing to send; a visit is a GET (decision 47)
        return await self._meet(request, asked, found, version)

    async def _meet(self, request: Request, asked: VisitRequest, found: Resolved, version: int) -> Response:
        """What the alias leads to, whatever it is."""
        if isinstance(found, QrView):
            return await self._scan(request, asked, found, version)
        if isinstance(found, FileView):
            return await self._downloads.answer(request, asked, found)
        if isinstance(found, BioView):
            return self.bios.answer(request, asked, found)
        return await self._follow(request, asked, found, version)

    async def _unknown(self, request: Request, asked: VisitRequest) -> Response:
        await self._visitor.note_missing(asked)
        domain = await self._visitor.domain(asked.host)
        if domain is not None and domain.redirect404:
            return await self._sent(request, domain.redirect404)
        return self._pages.refuse(request, "missing")

    async def _sent(self, request: Request, url: str) -> Response:
        """To where a branded domain sends those who ask for nothing that it has."""
        if (await self._visitor.blocklist()).has(url):
            return self._pages.refuse(request, "blocked")
        return redirect(url)

    async def _follow(self, request: Request, asked: VisitRequest, target: LinkView, version: int) -> Response:
        answer = await self._visitor.visit(asked, target)
        if isinstance(answer, Refusal):
            return self._pages.refuse(request, answer.why, wrong=bool(asked.password))
        ahead = await self._ahead.answer(request, asked, target, answer.url) if answer.counts else None
        if ahead is not None:
            return ahead
        self._meter.count("redirects", "full")
        response = redirect(answer.url, status=303 if request.method == "POST" else 302)
        if target.is_plain and answer.counts and not asked.query:
            counted = journal.target_of(target.account, "link", target.id)
            self._keep_hot(request, asked, response, version, counted=counted, expiry=target.expiry)
        return response

    async def _preview(self, request: Request, alias: str) -> Response:
        """Where a link goes, without going there (decision 50)."""
        target = await self._visitor.resolve(host(request, self._settings), alias)
        if isinstance(target, QrView):
            return await self._scans.preview(request, target)
        if isinstance(target, FileView):
            return await self._downloads.look(request, target)
        if isinstance(target, BioView):
            return self.bios.preview(request, target)
        answer = await self._visitor.peek(target) if target else Refusal("missing")
        if target is None or isinstance(answer, Refusal):
            why = answer.why if isinstance(answer, Refusal) and answer.why != "locked" else "missing"
            return self._pages.refuse(request, why)
        if not wants_page(request):
            return JSONResponse({"error": 0, "url": answer.url, "title": target.title}, headers=NO_STORE)
        title = target.title or self._pages.say(request, text("Where this link goes"))
        report = report_url(self._settings.base, host(request, self._settings), alias)
        return self._pages.page(
            "preview.html", request=request, title=title, url=answer.url, alias=alias, report=report
        )

    async def _scan(self, request: Request, asked: VisitRequest, code: QrView, version: int) -> Response:
        response = await self._scans.answer(request, asked, code)
        is_redirect = response.status_code == 302
        self._meter.count("redirects", "full", is_redirect)
        # The lane knows answers without a body only: a redirect into an app has a page with it.
        if is_redirect and not response.body and code.dynamic and code.type == "link" and request.method == "GET":
            counted = journal.target_of(code.account, "qr", code.id)
            self._keep_hot(request, asked, response, version, counted=counted, flags=journal.SCAN)
        return response

    def _keep_hot(
        self,
        request: Request,
        asked: VisitRequest,
        response: Response,
        version: int,
        *,
        counted: bytes,
        expiry: int | None = None,
        flags: bytes = b"",
    ) -> None:
        """Let the lane give this answer from now on, until the second `expiry`."""
        header = request.headers.get("host", "").encode("latin-1")
        location, *others = response.raw_headers
        until = _end_of_life(clock.now() // 60)
        if expiry is not None:
            until = min(until, (expiry + 1) * 1000)
        own = b"%b: %b\r\n" % location
        hot = HotResponse(own=own, target=counted, until_ms=until, end=_end_of(tuple(others)), flags=flags)
        self._traffic.cache.put_hot(header, (asked.host, asked.alias), hot, version=version)


def _takes_forms(found: Resolved) -> bool:
    """Whether something can be sent to it: a password, or a yes to a warning."""
    return isinstance(found, BioView) or (isinstance(found, LinkView | FileView) and found.password is not None)


@lru_cache(2)
def _end_of_life(minute: int) -> int:
    """When answers of this minute are forgotten, in milliseconds: one and the same object for very many."""
    return round(minute * 60 + MAX_AGE) * 1000


@lru_cache(16)
def _end_of(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The headers that all redirects share, as one and the same object."""
    return b"".join(b"%b: %b\r\n" % pair for pair in headers) + b"\r\n"
