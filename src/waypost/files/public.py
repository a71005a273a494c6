"""A visit to a file: a page for people, the bytes for programs; counted, limited, gone on with (decisions 21, 22)."""

from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.db.schema import installation
from waypost.files import download_grants
from waypost.files.file_server import FileServer, set_cookie
from waypost.files.visitor_tokens import LIFE, OPENED, VisitorTokens
from waypost.http import media_types
from waypost.settings import Settings
from waypost.storage.store import Store
from waypost.urls.short_urls import report_url
from waypost.visits.lookup import FileView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import NO_STORE, PAGE, PageRenderer, file_facts, redirect, wants_page
from waypost.visits.visit import VisitService

T = TypeVar("T")
_MOST_PREVIEW = 8 * 1024 * 1024  # bytes of a picture that the page shows
_THING = "file"


class Downloads:
    """Answers visits to files."""

    def __init__(
        self, *, settings: Settings, database: Database, visitor: VisitService, pages: PageRenderer, store: Store
    ) -> None:
        self._settings = settings
        self._database = database
        self._visitor = visitor
        self._pages = pages
        self._handing = FileServer(settings=settings, database=database, visitor=visitor, store=store)
        self._tokens: VisitorTokens | None = None

    async def answer(self, request: Request, asked: VisitRequest, file: FileView) -> Response:
        """What a visitor of the file gets."""
        tokens = await self._known_tokens()
        now = clock.now()
        if file.purged is not None or (file.expiry is not None and file.expiry < now):
            return self._late(request, asked, file)
        opened = await self._opens(request, asked, file, tokens, now)
        if opened is None:
            return self._pages.refuse(request, "guessing", thing=_THING)
        if not opened:
            return self._pages.refuse(request, "locked", thing=_THING, wrong=bool(asked.password))
        if request.method == "POST" and wants_page(request):
            answer = redirect(f"/{file.alias}", status=303)
            if file.password is not None:
                set_cookie(answer, OPENED, tokens.opened(file, now + LIFE), file)
            return answer
        return await self._inside(request, asked, file, tokens)

    async def _inside(self, request: Request, asked: VisitRequest, file: FileView, tokens: VisitorTokens) -> Response:
        """What a visitor gets who may come in."""
        query = request.query_params
        if query.get("preview") == "1" and _has_preview(file):
            return await self._handing.preview(file) or self._pages.refuse(request, "gone", thing=_THING)
        for_eyes = wants_page(request) and query.get("download") != "1"
        if for_eyes or not (asked.is_countable or asked.is_head):
            return await self._page(request, asked, file)
        answer = await self._handing.answer(request, asked, file, tokens)
        return self._late(request, asked, file) if answer is None else answer

    async def look(self, request: Request, file: FileView) -> Response:
        """What a file is, without a visit (decision 50)."""
        now = clock.now()
        left = await self._read(lambda tx: download_grants.left(tx, file.account, file.id))
        if file.purged is not None or (file.expiry is not None and file.expiry < now) or left == 0:
            return self._pages.refuse(request, "gone", thing=_THING)
        if file.password is not None:
            return self._pages.refuse(request, "missing")
        if wants_page(request):
            return self._draw(request, file, left)
        told = {"error": 0, "name": file.name, "filename": file.filename, "size": file.size, "type": file.mime}
        return JSONResponse({**told, "sha256": file.sha256.hex(), "left": left}, headers=NO_STORE)

    def _late(self, request: Request, asked: VisitRequest, file: FileView) -> Response:
        self._write(asked, file, journal.LATE)
        return self._pages.refuse(request, "gone", thing=_THING)

    async def _opens(
        self, request: Request, asked: VisitRequest, file: FileView, tokens: VisitorTokens, now: int
    ) -> bool | None:
        """Whether the visitor may come in; None after too many wrong guesses."""
        if file.password is None or tokens.is_opened(file, request.cookies.get(OPENED, ""), now):
            return True
        if not asked.password:
            return False
        return await self._visitor.passwords.unlocks(f"file {file.id}", file.password, asked)

    async def _page(self, request: Request, asked: VisitRequest, file: FileView) -> Response:
        left = await self._read(lambda tx: download_grants.left(tx, file.account, file.id))
        if left == 0:
            return self._late(request, asked, file)
        if not asked.is_countable:
            self._write(asked, file)
        return self._draw(request, file, left)

    def _draw(self, request: Request, file: FileView, left: int | None) -> Response:
        facts = file_facts(file.size, file.mime, file.sha256, file.expiry, left)
        preview = f"/{file.alias}?preview=1" if _has_preview(file) else ""
        shown: dict[str, Any] = {"file": file, "facts": facts, "preview": preview}
        report = report_url(self._settings.base, file.host, file.alias)
        page = self._pages.page("file.html", request=request, title=file.name, report=report, **shown)
        page.headers["Content-Security-Policy"] = PAGE["Content-Security-Policy"].replace("data:", "'self' data:")
        return page

    def _write(self, asked: VisitRequest, file: FileView, flags: bytes = b"") -> None:
        self._visitor.write(journal.target_of(file.account, "file", file.id), asked, flags)

    async def _known_tokens(self) -> VisitorTokens:
        if self._tokens is None:
            chosen = select(installation.c.value).where(installation.c.name == "secret")
            self._tokens = VisitorTokens(bytes(await self._read(lambda tx: tx.execute(chosen).scalar_one())))
        return self._tokens

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._database.read, work)


def _has_preview(file: FileView) -> bool:
    """Whether the page may show the picture: not where seeing it would be a download that has to be counted."""
    return file.mime in media_types.PICTURES and file.size <= _MOST_PREVIEW and file.maxdownloads is None
