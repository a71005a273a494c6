"""Serve the bytes of a file: ranges, download limits and clicks (decisions 21, 22).

Visitors of a file have signed cookies: for resumed downloads, and after the file's password was entered. Each token is
valid for one stored object of one file.
"""

import asyncio
import secrets
from collections.abc import Sequence

import structlog
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.clicks import journal
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.signing import Signer
from waypost.http import file_names
from waypost.http.client_ip import UNKNOWN
from waypost.http.conditional import Validators
from waypost.http.picture_headers import HEADER_BYTES, Size, size_of
from waypost.items.files import download_grants, range_response
from waypost.items.files.download_grants import DownloadEnd, DownloadGrant, Visitor
from waypost.items.files.range_response import ByteBudget, ByteRange, RangeResponse, Unsatisfiable, budget_step
from waypost.storage.store import Blob, ObjectNotFound, StorageUnavailable
from waypost.urls.short_urls import alias_path
from waypost.visits.outcome import JournalFields, Log
from waypost.visits.record_queries import FileView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import NO_STORE, redirect
from waypost.visits.visitor_services import Services

VISITOR_COOKIE = "wp_visitor"
UNLOCKED_COOKIE = "wp_opened"
LIFE_SECONDS = 86_400
"""How long a token is valid: as long as a download can be resumed."""

_VISITOR, _UNLOCKED = "download visitor", "unlocked file"
_log = structlog.get_logger("download")
_PRESIGNED_SECONDS = 60
_HEADER_SECONDS = 1  # without the size of its picture, a page has a place of a usual shape
_UNSATISFIABLE = 416
_NOBODY = Visitor(b"", None)
_SETTLE_SECONDS = (0, 0.1, 0.4)
_RETURN_SECONDS = (0.1, 0.4, 1.5)
Ranges = Sequence[ByteRange] | None
"""The byte ranges of a request; None for the whole file."""
SAFE_HEADERS = {
    **NO_STORE,
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of uploaded content: browsers do not run it on this origin."""


def new_visitor_token(signer: Signer, file: FileView) -> str:
    """Return a token for a new visitor."""
    return signer.sign(_VISITOR, secrets.token_urlsafe(16), bound=_bound_object(file))


def is_visitor(signer: Signer, file: FileView, token: str) -> bool:
    """Return whether the token was created for a visitor of this file."""
    return signer.unsign(_VISITOR, token, bound=_bound_object(file)) is not None


def unlocked(signer: Signer, file: FileView) -> str:
    """Return a token for a visitor that entered the password. A new password invalidates it."""
    return signer.sign(_UNLOCKED, life=LIFE_SECONDS, bound=f"{_bound_object(file)}\t{file.password}")


def is_unlocked(signer: Signer, file: FileView, token: str) -> bool:
    """Return whether the visitor has entered the file's current password."""
    return signer.unsign(_UNLOCKED, token, bound=f"{_bound_object(file)}\t{file.password}") is not None


def visitor_hash(signer: Signer, file: FileView, visitor: str) -> bytes:
    """Return a visitor's hash, the only thing stored. It is anonymous, and different for each file."""
    return signer.digest("download visitor hash", str(file.id), visitor)[:16]


def _bound_object(file: FileView) -> str:
    return f"{file.id}\t{file.object}"


async def serve(
    request: Request, services: Services, visit: VisitRequest, file: FileView, signer: Signer
) -> Response | None:
    """Return the requested bytes, or the status 304, 412 or 416; None if no download is left."""
    parts = _negotiate(request, file)
    if isinstance(parts, Response):
        # Preconditions do not apply to an error (RFC 9110, section 13.2.1). A complete file can be asked for its rest.
        has_ended = parts.status_code != _UNSATISFIABLE and await _left(services, file) == 0
        return None if has_ended else parts
    if visit.is_head:
        return await _head_response(services, visit, file)
    visitor = _visitor(request, visit, file, signer)
    # Before the grant: an unavailable storage must not cost a download.
    blob = await _open(services, file, visitor if _is_rest(parts) else _NOBODY)
    if blob is None:
        return None
    try:
        grant = await _grant(services, visit, file, visitor, parts)
        if grant is None:
            blob.close()
            return None
        response = await _blob_response(services, file, blob, parts, grant)
    except BaseException:
        blob.close()
        raise
    set_visitor_cookie(response, visitor, file, services.settings)
    return response


async def serve_preview(request: Request, services: Services, file: FileView) -> Response | None:
    """Return the image for the file's page. Counts no download, so only for files without a download limit."""
    parts = _negotiate(request, file)
    if isinstance(parts, Response):
        return parts
    blob = await _open(services, file, _NOBODY)
    if blob is None:
        return None

    async def allow(_count: int) -> bool:
        return True

    async def ignore(_end: DownloadEnd) -> None:
        return

    budget = ByteBudget(file.size, more=allow, finish=ignore)
    return _range_response(services, file, blob, parts, budget)


async def picture_size(services: Services, file: FileView) -> Size | None:
    """Return the width and height of a picture from its first bytes; None if they cannot be read soon."""
    try:
        async with asyncio.timeout(_HEADER_SECONDS):
            blob = await services.store.open(file.object)
            try:
                chunks = [chunk async for chunk in blob.read(0, min(HEADER_BYTES, file.size))]
            finally:
                blob.close()
    except (ObjectNotFound, StorageUnavailable, TimeoutError):
        return None
    return size_of(b"".join(chunks))


def set_visitor_cookie(response: Response, visitor: Visitor, file: FileView, settings: Settings) -> None:
    """Set the cookie of a new visitor, if it is a browser."""
    if visitor.new_token:
        set_cookie(response, VISITOR_COOKIE, visitor.new_token, file, settings)


def set_cookie(response: Response, name: str, token: str, file: FileView, settings: Settings) -> None:
    """Set a cookie that browsers send only for this file. `token` is a signed one, which needs no quotes.

    Not by Starlette's method, which takes as long as the download's statement.
    """
    secure = "; Secure" if settings.secure_cookies else ""
    scope = f"HttpOnly; Max-Age={LIFE_SECONDS}; Path={alias_path(file.alias)}; SameSite=lax{secure}"
    response.raw_headers.append((b"set-cookie", f"{name}={token}; {scope}".encode("latin-1")))


async def _open(services: Services, file: FileView, resuming: Visitor) -> Blob | None:
    """Return the opened object; None if no download is left, or the file was deleted. Raises StorageUnavailable.

    `resuming`: the visitor that resumes a download.
    """
    health = services.store.health
    try:
        blob = await services.store.open(file.object)
    except ObjectNotFound as error:
        if not await services.read(lambda tx: download_grants.is_available(tx, file, resuming, clock.now())):
            return None
        _log.error("object of a file is missing from the storage", file=file.id)
        health.record_read("the object of a file is missing")
        raise StorageUnavailable from error
    except StorageUnavailable:
        health.record_read("objects cannot be read")
        raise
    health.record_read("")
    return blob


async def _left(services: Services, file: FileView) -> int | None:
    """Return how many downloads are left; None without a limit."""
    return await services.read(lambda tx: download_grants.downloads_left(tx, file.account, file.id))


async def _head_response(services: Services, visit: VisitRequest, file: FileView) -> Response | None:
    blob = await _open(services, file, _NOBODY)
    if blob is None:
        return None
    blob.close()
    if await _left(services, file) == 0:
        return None
    services.visits.log_visit(_target(file), visit)
    return Response(headers={**content_headers(file), "Content-Length": str(file.size)})


def _is_rest(parts: Ranges) -> bool:
    """Return whether a request is about the rest of a download."""
    return parts is not None and all(part.start for part in parts)


async def _grant(
    services: Services, visit: VisitRequest, file: FileView, visitor: Visitor, parts: Ranges
) -> DownloadGrant | None:
    """Resume the visitor's download or take a new one, before any byte is sent. A new download is logged."""
    served = _first_step(services, file, parts)

    def take(tx: Connection) -> DownloadGrant | None:
        now = clock.now()
        used = download_grants.retry(tx, file, visitor, served=served, now=now)
        return used or download_grants.take(tx, file, visitor, served=served, now=now)

    if _is_rest(parts):
        grant = await _resume_or_take(services, file, visitor, served)
    else:
        if parts is not None:  # a program that has probed the file in another connection
            await _is_broken(services, file, visitor)
        grant = await services.write(take, durability="process")
        if grant is None and parts is None and await _is_broken(services, file, visitor):
            grant = await services.write(take, durability="process")
    for fields in journal_fields(file, grant) if grant is not None else ():
        services.visits.log_visit(fields.target, visit, fields.flags)
    return grant


async def _resume_or_take(services: Services, file: FileView, visitor: Visitor, served: int) -> DownloadGrant | None:
    """Resume the visitor's download, else take a new one.

    Parallel connections of a program reserve their bytes. If they were broken, the bytes come back a moment later.
    """

    def resume(tx: Connection) -> DownloadGrant | None:
        return download_grants.resume(tx, file, visitor, served=served, now=clock.now())

    for seconds in _RETURN_SECONDS:
        grant = await services.write(resume, durability="process")
        if grant is not None:
            return grant
        if not await services.read(lambda tx: download_grants.has_begun(tx, file, visitor, clock.now())):
            break
        await asyncio.sleep(seconds)

    def resume_or_take(tx: Connection) -> DownloadGrant | None:
        return resume(tx) or download_grants.take(tx, file, visitor, served=served, now=clock.now())

    return await services.write(resume_or_take, durability="process")


async def _is_broken(services: Services, file: FileView, visitor: Visitor) -> bool:
    """Return whether the visitor can start a download again.

    If one began just now, wait a moment: its client may have closed the connection, and not every node knows it.
    """
    for seconds in _SETTLE_SECONDS:
        await asyncio.sleep(seconds)
        broken = await services.read(lambda tx: download_grants.is_broken(tx, file, visitor, clock.now()))
        if broken is not None:
            return broken
    return False


async def _blob_response(
    services: Services, file: FileView, blob: Blob, parts: Ranges, grant: DownloadGrant
) -> Response:
    if services.settings.storage_presigned == "on":
        url = await services.store.signed(file.object, seconds=_PRESIGNED_SECONDS)
        if url is not None:
            blob.close()
            return redirect(url)

    async def more(count: int) -> bool:
        return await services.write(
            lambda tx: download_grants.serve(tx, file, grant.id, served=count), durability="process"
        )

    is_little = parts is not None and sum(part.size for part in parts) < download_grants.little(file.size)

    async def finish(end: DownloadEnd) -> None:
        if end.is_broken or end.unsent or is_little or grant.is_retry:
            await services.write(
                lambda tx: download_grants.finish(tx, file, grant, end, clock.now()), durability="process"
            )

    budget = ByteBudget(_first_step(services, file, parts), more, finish)
    return _range_response(services, file, blob, parts, budget)


def _range_response(services: Services, file: FileView, blob: Blob, parts: Ranges, budget: ByteBudget) -> RangeResponse:
    timeout = services.settings.transfer_seconds
    return RangeResponse(blob, file.size, parts, budget=budget, headers=content_headers(file), idle_timeout=timeout)


def _first_step(services: Services, file: FileView, parts: Ranges) -> int:
    """Return the bytes that a grant counts as served at first: all of them for a presigned URL."""
    total = file.size if parts is None else sum(part.size for part in parts)
    return total if services.settings.storage_presigned == "on" else min(total, budget_step(file.size))


def journal_fields(file: FileView, grant: DownloadGrant) -> Log:
    """Return the journal fields of a download. A resumed one is not logged again."""
    return () if grant.is_retry else (JournalFields(_target(file), journal.TAKEN if grant.taken else b""),)


def _target(file: FileView) -> bytes:
    return journal.item_fields(file.account, "file", file.id)


def _visitor(request: Request, visit: VisitRequest, file: FileView, signer: Signer) -> Visitor:
    """Return whose downloads a request can resume: browsers are identified by a cookie, programs by IP address."""
    token = request.cookies.get(VISITOR_COOKIE, "")
    if is_visitor(signer, file, token):
        return Visitor(visitor_hash(signer, file, token), _address(visit, file, signer))
    return new_visitor(visit, file, signer)


def new_visitor(visit: VisitRequest, file: FileView, signer: Signer) -> Visitor:
    """Return a visitor without a cookie. A program whose address is not known can resume with a cookie only."""
    address = _address(visit, file, signer)
    if visit.wants_page or address is None:
        token = new_visitor_token(signer, file)
        return Visitor(visitor_hash(signer, file, token), address, token)
    return Visitor(address, address)


def _address(visit: VisitRequest, file: FileView, signer: Signer) -> bytes | None:
    if visit.client_ip == UNKNOWN:
        return None
    return visitor_hash(signer, file, f"address {visit.client_ip}")


def _negotiate(request: Request, file: FileView) -> Ranges | Response:
    """Return the byte ranges of a request, or the status 304, 412 or 416."""
    validators = _validators(file)
    if status := validators.status(request.method, request.headers):
        return Response(status_code=status, headers={**NO_STORE, **validators.headers})
    range_header = request.headers.get("range") if request.method == "GET" else None
    if range_header is None or not validators.allows_range(request.headers):
        return None
    try:
        return range_response.parse_range(range_header, file.size)
    except Unsatisfiable:
        content_range = {"Content-Range": f"bytes */{file.size}", "Content-Length": "0"}
        return Response(status_code=_UNSATISFIABLE, headers={**content_headers(file), **content_range})


def _validators(file: FileView) -> Validators:
    return Validators(f'"{file.sha256.hex()[:40]}"', file.created)


def content_headers(file: FileView) -> dict[str, str]:
    """Return the headers of a response with the file's bytes."""
    return {
        **SAFE_HEADERS,
        "Accept-Ranges": "bytes",
        "Content-Disposition": file_names.disposition(file.filename),
        "Content-Type": file.mime,
        **_validators(file).headers,
    }
