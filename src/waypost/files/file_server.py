"""Handing out the bytes of a file: what is asked for, whether it counts, and then exactly that (decisions 21, 22)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from typing import TypeVar

import anyio.to_thread
import structlog
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost import clock
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.files import download_grants, ranges
from waypost.files.download_grants import DownloadGrant
from waypost.files.range_response import ByteBudget, RangeResponse, step_of
from waypost.files.ranges import ByteRange, Unsatisfiable
from waypost.files.visitor_tokens import LIFE, VISITOR, VisitorTokens
from waypost.http import file_names
from waypost.settings import Settings
from waypost.storage.store import Blob, Missing, Store
from waypost.visits.lookup import FileView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import NO_STORE, redirect, wants_html
from waypost.visits.visit import VisitService

T = TypeVar("T")
_log = structlog.get_logger("download")
_SIGNED_SECONDS = 60
SAFE = {
    **NO_STORE,
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The headers of a file's bytes: no browser runs them on our origin, whatever they are."""


@dataclass(frozen=True)
class _Who:
    """A visitor of a file: what is stored of them, and the token to give them, if they are new and can keep one."""

    hashed: bytes
    token: str = ""


class FileServer:
    """Hands out files, and counts."""

    def __init__(self, *, settings: Settings, database: Database, visitor: VisitService, store: Store) -> None:
        self._settings = settings
        self._database = database
        self._visitor = visitor
        self._store = store

    async def answer(
        self, request: Request, asked: VisitRequest, file: FileView, tokens: VisitorTokens
    ) -> Response | None:
        """The bytes that are asked for, or why not in HTTP's own words; None when no download is left."""
        headers = _headers(file)
        if ranges.same(request.headers.get("if-none-match", ""), headers["ETag"], weak=True):
            return Response(status_code=304, headers={name: headers[name] for name in ("ETag", *NO_STORE)})
        if asked.is_head:
            return await self._head(asked, file, headers)
        try:
            parts = _parts(request, file, headers)
        except Unsatisfiable:
            told = {"Content-Range": f"bytes */{file.size}", "Content-Length": "0"}
            return Response(status_code=416, headers={**headers, **told})
        blob = await self._opened(file)  # first: a store that is away costs nobody a download
        if blob is None:
            return None
        who = _who(request, asked, file, tokens)
        try:
            claim = await self._claim(asked, file, who, parts)
            if claim is None:
                blob.close()
                return None
            answer = await self._handed(file, blob, parts, claim)
        except BaseException:
            blob.close()
            raise
        if who.token:
            set_cookie(answer, VISITOR, who.token, file)
        return answer

    async def preview(self, file: FileView) -> Response | None:
        """The picture for the page: no download, so only of files that may be downloaded without end."""
        blob = await self._opened(file)
        if blob is None:
            return None

        async def enough(_count: int) -> bool:
            return True

        async def nothing(_count: int) -> None:
            return

        whole = [ByteRange(0, file.size)]
        free = ByteBudget(file.size, enough, nothing)
        return RangeResponse(
            blob, file.size, whole, allowance=free, headers=_headers(file), stall=self._settings.transfer_seconds
        )

    async def _opened(self, file: FileView) -> Blob | None:
        """The bytes, ready to be sent; None when they are lost, which the operator is told."""
        try:
            return await self._store.open(file.object)
        except Missing:
            _log.error("the bytes of a file are not in the store", file=file.id)
            return None

    async def _head(self, asked: VisitRequest, file: FileView, headers: dict[str, str]) -> Response | None:
        if (
            await anyio.to_thread.run_sync(
                self._database.read, lambda tx: download_grants.left(tx, file.account, file.id)
            )
            == 0
        ):
            return None
        self._write(asked, file, b"")
        return Response(headers={**headers, "Content-Length": str(file.size)})

    async def _claim(
        self, asked: VisitRequest, file: FileView, who: _Who, parts: Sequence[ByteRange]
    ) -> DownloadGrant | None:
        """The right to the bytes, taken before the first of them; a new download is written down."""
        now = clock.now()
        served = self._first_step(file, parts)
        if all(part.start for part in parts):
            most = 2 * file.size
            claim = await self._count(
                lambda tx: download_grants.resume(
                    tx, file.account, file.id, who.hashed, served=served, most=most, now=now
                )
            )
            if claim is not None:
                return claim
        claim = await self._count(
            lambda tx: download_grants.take(tx, file.account, file.id, who.hashed, served=served, now=now)
        )
        if claim is not None:
            self._write(asked, file, journal.TAKEN if claim.taken else b"")
        return claim

    async def _handed(self, file: FileView, blob: Blob, parts: Sequence[ByteRange], claim: DownloadGrant) -> Response:
        if self._settings.storage_presigned == "on":
            url = await self._store.signed(file.object, seconds=_SIGNED_SECONDS)
            if url is not None:
                blob.close()
                return redirect(url)

        async def more(count: int) -> bool:
            return await self._count(
                lambda tx: download_grants.serve(tx, file.account, claim.id, served=count, most=2 * file.size)
            )

        async def unsent(count: int) -> None:
            await self._count(lambda tx: download_grants.give_back(tx, file.account, claim.id, unsent=count))

        allowance = ByteBudget(self._first_step(file, parts), more, unsent)
        stall = self._settings.transfer_seconds
        return RangeResponse(blob, file.size, parts, allowance=allowance, headers=_headers(file), stall=stall)

    def _first_step(self, file: FileView, parts: Sequence[ByteRange]) -> int:
        """The bytes that the claim is asked for at once: all of them, where we do not see them go."""
        total = sum(part.size for part in parts)
        return total if self._settings.storage_presigned == "on" else min(total, step_of(file.size))

    def _write(self, asked: VisitRequest, file: FileView, flags: bytes) -> None:
        self._visitor.log_visit(journal.target_of(file.account, "file", file.id), asked, flags)

    async def _count(self, work: Callable[[Connection], T]) -> T:
        return await anyio.to_thread.run_sync(partial(self._database.write, durability="process"), work)


def set_cookie(answer: Response, name: str, token: str, file: FileView) -> None:
    """Give a visitor a token that comes back for this file only."""
    answer.set_cookie(name, token, max_age=LIFE, path=f"/{file.alias}", httponly=True, samesite="lax")


def _who(request: Request, asked: VisitRequest, file: FileView, tokens: VisitorTokens) -> _Who:
    """Whose claims a request may go on with: a browser is known by its token, a program by its address."""
    token = request.cookies.get(VISITOR, "")
    if tokens.is_visitor(file, token):
        return _Who(tokens.visitor_of(file, token))
    if wants_html(request):
        token = tokens.new_visitor(file)
        return _Who(tokens.visitor_of(file, token), token)
    return _Who(tokens.visitor_of(file, f"address {asked.client_ip}"))


def _parts(request: Request, file: FileView, headers: dict[str, str]) -> Sequence[ByteRange]:
    """Which bytes are asked for. Raises Unsatisfiable."""
    whole = [ByteRange(0, file.size)]
    wanted = request.headers.get("range")
    if wanted is None:
        return whole
    condition = request.headers.get("if-range")
    if condition is not None and condition.strip() not in (headers["ETag"], headers["Last-Modified"]):
        return whole
    return ranges.parse_range(wanted, file.size) or whole


def _headers(file: FileView) -> dict[str, str]:
    return {
        **SAFE,
        "Accept-Ranges": "bytes",
        "Content-Disposition": file_names.disposition(file.filename),
        "Content-Type": file.mime,
        "ETag": f'"{file.sha256.hex()[:40]}"',
        "Last-Modified": formatdate(file.created, usegmt=True),
    }
