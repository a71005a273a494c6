"""Visits to files: a page for browsers, the bytes for programs, the password form and the preview."""

from datetime import UTC
from functools import partial
from typing import Any, Literal, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.clicks import journal
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.signing import Signer
from waypost.http import media_types
from waypost.http.picture_headers import Size
from waypost.items.files import download_grants, file_server
from waypost.items.files.file_server import UNLOCKED_COOKIE, set_cookie
from waypost.urls.short_urls import alias_path, report_url, short_url
from waypost.visits import writers
from waypost.visits.alias import AliasKind
from waypost.visits.decide import ExpiryReason
from waypost.visits.outcome import JournalFields, NeedsRequest, Outcome, Page
from waypost.visits.record_queries import DomainView, FileView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import DOMAIN_KEY, NO_STORE, PAGE_HEADERS, PageRenderer, redirect, wants_json, wants_page
from waypost.visits.visitor_services import Services

_UNITS: tuple[tuple[Literal["day", "hour", "minute"], int], ...] = (("day", 86_400), ("hour", 3600), ("minute", 60))
_MAX_PREVIEW_BYTES = 8 * 1024 * 1024  # larger images are not shown on the page


async def show_file(request: Request, services: Services, visit: VisitRequest, *, file: FileView) -> Response:
    """Return the page of a file that has not expired, its bytes, a password form or an error (decisions 21, 22)."""
    signer = await services.signer.get()
    is_unlocked = await _is_unlocked(request, services, visit, file, signer)
    if is_unlocked is None:
        return services.pages.refuse(request, "guessing", kind="file")
    if not is_unlocked:
        if wants_page(request) and await _downloads_left(services, file) == 0:
            return await writers.respond(request, services, visit, late_outcome(file))
        return services.pages.refuse(request, "locked", kind="file", wrong_password=bool(visit.password))
    if request.method == "POST" and wants_page(request):
        response = redirect(_download_path(file) if _wants_bytes(request) else alias_path(file.alias), status=303)
        if file.password is not None:
            set_cookie(response, UNLOCKED_COOKIE, file_server.unlocked(signer, file), file, services.settings)
        return response
    return await _visit_unlocked(request, services, visit, file, signer)


async def preview_file(request: Request, services: Services, file: FileView) -> Response:
    """Describe the file without a visit (decision 50)."""
    left = await services.read(lambda tx: download_grants.downloads_left(tx, file.account, file.id))
    if is_expired(file, clock.now()) or left == 0:
        return services.pages.refuse(request, _expiry_reason(file), kind="file")
    if file.password is not None:
        return services.pages.refuse(request, "missing")
    if wants_json(request):
        details = {"name": file.name, "filename": file.filename, "size": file.size, "type": file.mime}
        return JSONResponse({"error": 0, **details, "sha256": file.sha256.hex(), "left": left}, headers=NO_STORE)
    picture = await _picture_size(services, file)
    return file_page(request, services.pages, file=file, settings=services.settings, left=left, picture=picture)


def has_password(file: FileView) -> bool:
    """Return whether the file's page has a form."""
    return file.password is not None


async def _visit_unlocked(
    request: Request, services: Services, visit: VisitRequest, file: FileView, signer: Signer
) -> Response:
    query = request.query_params
    if query.get("preview") == "1" and has_preview(file):
        response = await file_server.serve_preview(request, services, file)
        return response or services.pages.refuse(request, "gone", kind="file")
    if shows_page(visit, is_download=_wants_bytes(request)):
        left, picture = await _downloads_left(services, file), await _picture_size(services, file)
        outcome = page_outcome(visit, file, services.settings, left, picture)
        return await writers.respond(request, services, visit, outcome)
    response = await file_server.serve(request, services, visit, file, signer)
    return response or await writers.respond(request, services, visit, late_outcome(file))


async def _downloads_left(services: Services, file: FileView) -> int | None:
    """Return the number of downloads left; None for a file without a limit."""
    if file.maxdownloads is None:
        return None
    return await services.visits.read(lambda tx: download_grants.downloads_left(tx, file.account, file.id))


async def _picture_size(services: Services, file: FileView) -> Size | None:
    """Return the size of the picture that the page shows; None without one, or if it cannot be read."""
    return await file_server.picture_size(services, file) if has_preview(file) else None


async def _is_unlocked(
    request: Request, services: Services, visit: VisitRequest, file: FileView, signer: Signer
) -> bool | None:
    """Return whether the visitor may have the file; None after too many wrong passwords."""
    if file.password is None or file_server.is_unlocked(signer, file, request.cookies.get(UNLOCKED_COOKIE, "")):
        return True
    if not visit.password:
        return False
    return await services.visits.password_check.verify(f"file {file.id}", file.password, visit)


def shows_page(visit: VisitRequest, *, is_download: bool) -> bool:
    """Return whether a visit gets the page, not the bytes. `is_download`: it asks for the bytes (decision 22)."""
    return (visit.wants_page and not is_download) or not (visit.is_click or visit.is_head)


def page_outcome(
    visit: VisitRequest, file: FileView, settings: Settings, left: int | None, picture: Size | None = None
) -> Outcome:
    """Return the page. A visit counts when it gets the bytes, so that of a click is not logged here.

    `left`: number of downloads, for a file with a limit. `picture`: the size of the picture on the page.
    """
    if left == 0:
        return late_outcome(file)
    log = () if visit.is_click else (JournalFields(_target(file)),)
    changes = None if file.expiry is None else time_left(file.expiry, clock.now()).until
    render = partial(file_page, file=file, settings=settings, left=left, picture=picture)
    return Page(render, log, expiry=changes, left=left)


class TimeLeft(NamedTuple):
    """The time until a file expires, in whole units. `until` is the last second in which `number` is right."""

    unit: Literal["day", "hour", "minute"]
    number: int
    until: int


def time_left(expiry: int, now: int) -> TimeLeft:
    """Return the time until `expiry`, at least a minute, in the largest unit that it has one of."""
    seconds = max(60, expiry - now)
    unit, length = next((name, length) for name, length in _UNITS if seconds >= length)
    count = seconds // length
    return TimeLeft(unit, count, expiry if seconds < 120 else expiry - count * length)


def late_outcome(file: FileView) -> Outcome:
    """Return the outcome of a file that has expired or reached its download limit."""
    return NeedsRequest(
        partial(_refuse_late, reason=_expiry_reason(file)), (JournalFields(_target(file), journal.LATE),)
    )


async def _refuse_late(request: Request, services: Services, _visit: VisitRequest, *, reason: ExpiryReason) -> Response:
    return services.pages.refuse(request, reason, kind="file")


def _expiry_reason(file: FileView) -> ExpiryReason:
    """Return why a file is no longer available. Bytes without an expired date were removed because of the limit."""
    if file.expiry is not None and file.expiry < clock.now():
        return "expired"
    return "gone" if file.maxdownloads is None else "limit"


def file_page(
    request: Request,
    pages: PageRenderer,
    *,
    file: FileView,
    settings: Settings,
    left: int | None = None,
    picture: Size | None = None,
) -> Response:
    """Return the page. Its OpenGraph tags describe the file to chats that show a preview of a pasted link.

    `left`: number of downloads, for a file with a limit. `picture`: the size of the picture on the page.
    """
    domain: DomainView | None = request.scope.get(DOMAIN_KEY)
    scheme = (domain.scheme or None) if domain else None
    url = short_url(settings.base, file.host, scheme, file.alias)
    is_public_picture = has_preview(file) and file.password is None
    context: dict[str, Any] = {
        "title": file.name,
        "file": file,
        "facts": {
            "size": media_types.format_size(file.size),
            "kind": media_types.describe(file.mime, file.filename),
            "icon": media_types.icon(file.mime, file.filename),
            "until": None if file.expiry is None else clock.local(file.expiry, UTC),
            "time_left": None if file.expiry is None else time_left(file.expiry, clock.now()),
            "left": left,
            "sha256": file.sha256.hex(),
        },
        "url": url,
        "picture": f"{url}?preview=1" if is_public_picture else "",
        "preview": f"{alias_path(file.alias)}?preview=1" if has_preview(file) else "",
        "size": picture,
        "download": _download_path(file),
        "report": report_url(settings.base, file.host, scheme, file.alias),
    }
    page = pages.page("file.html", request=request, **context)
    page.headers["Content-Security-Policy"] = PAGE_HEADERS["Content-Security-Policy"].replace("data:", "'self' data:")
    return page


def is_expired(file: FileView, now: int) -> bool:
    """Return whether the file has expired or its content was removed."""
    return file.purged is not None or (file.expiry is not None and file.expiry < now)


def _target(file: FileView) -> bytes:
    return journal.item_fields(file.account, "file", file.id)


def has_preview(file: FileView) -> bool:
    """Return whether the page shows the image. With a download limit it does not: the image would be a download."""
    return file.mime in media_types.IMAGES and file.size <= _MAX_PREVIEW_BYTES and file.maxdownloads is None


def _download_path(file: FileView) -> str:
    return f"{alias_path(file.alias)}?download=1"


def _wants_bytes(request: Request) -> bool:
    """Return whether a browser asks for the bytes, too (decision 22)."""
    return request.query_params.get("download") == "1"


FILES = AliasKind(FileView, preview_file, has_password)
