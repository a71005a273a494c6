"""Pictures: of QR codes at `/qr/<alias>`, and of any short URL at `<shorturl>/qr` (decisions 30, 50)."""

import hashlib
import re
from dataclasses import dataclass
from typing import get_args

import anyio
import anyio.to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.db.database import Database
from waypost.qr import ops
from waypost.qrcode.render import MEDIA, Format, design
from waypost.qrcode.styles import LEAST_SIZE, MOST_SIZE, PLAIN
from waypost.settings import Settings
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import short_url
from waypost.visits.cache import MAX_AGE, HotImage
from waypost.visits.fast_path import WorkerState
from waypost.visits.lookup import QrView, scheme_of
from waypost.visits.request import host
from waypost.visits.responses import NO_STORE, PageRenderer
from waypost.visits.visit import VisitService

_FORMATS: tuple[Format, ...] = get_args(Format)
_DEFAULT_SIZE = 512
_ENDING = re.compile(rf"(.*)\.({'|'.join(_FORMATS)})\Z")
_NUMBER = re.compile(r"[0-9]{1,5}\Z")
_TRUE = frozenset({"1", "true", "yes", "on"})
_ONCE = 2  # pictures that a process draws at the same time, so that nobody else waits for those who draw
_OLD = "public, no-cache"
_KEPT = "public, max-age=31536000, immutable"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@dataclass(frozen=True)
class _Wanted:
    """What is asked for. `version` is the `?v=` of somebody who will keep it."""

    alias: str
    form: Format
    size: int
    download: bool
    version: str


class _Wrong(Exception):
    """A query that cannot be: (the field, what is right)."""


class Pictures:
    """Draws what is asked for, and lets the lane answer from then on."""

    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        traffic: WorkerState,
        visitor: VisitService,
        pages: PageRenderer,
    ) -> None:
        self._settings = settings
        self._database = database
        self._traffic = traffic
        self._visitor = visitor
        self._pages = pages
        self._drawing = anyio.CapacityLimiter(_ONCE)

    async def of_code(self, request: Request) -> Response:
        """`/qr/<alias>[.png|.svg|.pdf]`, on the service's own host."""
        name = request.path_params["name"]
        if host(request, self._settings) != OWN:
            return self._pages.refuse(request, "missing")
        return await self._answer(request, OWN, name, only_codes=True)

    async def of_name(self, request: Request) -> Response:
        """`<shorturl>/qr`."""
        return await self._answer(request, host(request, self._settings), request.path_params["alias"])

    async def _answer(self, request: Request, asked_host: str, name: str, *, only_codes: bool = False) -> Response:
        try:
            wanted = _wanted(request, name)
        except _Wrong as wrong:
            field, message = wrong.args
            body = {"error": 1, "message": message, "code": "invalid", "field": field}
            return JSONResponse(body, 400, headers=NO_STORE)
        target = _target(request)
        hot = self._traffic.cache.images.get(asked_host.encode() + target)
        if hot is not None and _knows(request, hot.tag):
            return Response(status_code=304, headers={"ETag": hot.tag, "Cache-Control": _OLD})
        version = self._traffic.cache.version
        found = await self._visitor.resolve(asked_host, wanted.alias)
        if only_codes and not isinstance(found, QrView):
            return self._pages.refuse(request, "missing")
        code = found if isinstance(found, QrView) else None
        drawn = await anyio.to_thread.run_sync(self._drawn, asked_host, wanted, code, limiter=self._drawing)
        if drawn is None:
            return self._pages.refuse(request, "missing")
        response = _picture(drawn, wanted, code)
        if request.method == "GET":
            self._keep(request, (asked_host, wanted.alias), target, response, version)
        if _knows(request, response.headers["etag"]):
            told = {name: response.headers[name] for name in ("etag", "cache-control")}
            return Response(status_code=304, headers=told)
        return response

    def _drawn(self, asked_host: str, wanted: _Wanted, code: QrView | None) -> bytes | None:
        """The file, or None when there is nothing of that name."""
        if not alias_rules.can_be(wanted.alias):
            return None

        def work(tx: Connection) -> ops.Draft | None:
            if code is not None:
                return ops.saved(tx, code.id, self._settings)
            scheme = scheme_of(tx, asked_host, wanted.alias)
            if scheme is None:
                return None
            url = short_url(self._settings.base, asked_host, scheme, wanted.alias)
            return ops.Draft(wanted.alias, {}, url, PLAIN, None)

        draft = self._database.read(work)
        return design(draft.text, draft.style, draft.logo).render(wanted.form, wanted.size) if draft else None

    def _keep(self, request: Request, name: tuple[str, str], target: bytes, response: Response, version: int) -> None:
        """Let the lane give this answer from now on."""
        header = request.headers.get("host", "").encode("latin-1")
        told = b"".join(b"%b: %b\r\n" % pair for pair in response.raw_headers) + b"\r\n" + bytes(response.body)
        until = clock.now_ms() + round(MAX_AGE * 1000)
        tag = response.headers["etag"]
        hot = HotImage(own=told, target=b"", until_ms=until, start=b"HTTP/1.1 200 OK\r\n", tag=tag, name=name)
        self._traffic.cache.put_image(header, target, hot, version=version)


def _wanted(request: Request, name: str) -> _Wanted:
    query = request.query_params
    found = _ENDING.match(name)
    alias, form = (found[1], found[2]) if found else (name, query.get("format", "png").lower())
    if form not in _FORMATS:
        raise _Wrong("format", f"format must be one of {', '.join(_FORMATS)}.")
    size = query.get("size", str(_DEFAULT_SIZE))
    if not _NUMBER.match(size) or not LEAST_SIZE <= int(size) <= MOST_SIZE:
        raise _Wrong("size", f"size must be a whole number from {LEAST_SIZE} to {MOST_SIZE}.")
    download = query.get("download", "").lower() in _TRUE
    return _Wanted(alias, _FORMATS[_FORMATS.index(form)], int(size), download, query.get("v", ""))


def _target(request: Request) -> bytes:
    """The path and query as they were sent: what the lane looks for."""
    query: bytes = request.scope["query_string"]
    path: bytes = request.scope["raw_path"]
    return path + b"?" + query if query else path


def _picture(body: bytes, wanted: _Wanted, code: QrView | None) -> Response:
    immutable = code is not None and wanted.version == str(code.version)
    headers = {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": _KEPT if immutable else _OLD,
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    if wanted.download:
        headers["Content-Disposition"] = f'attachment; filename="{wanted.alias}.{wanted.form}"'
    return Response(body, media_type=MEDIA[wanted.form], headers=headers)


def _knows(request: Request, tag: str) -> bool:
    """Whether the client has this very file (RFC 9110, section 13.1.2)."""
    told = request.headers.get("if-none-match", "")
    return told.strip() == "*" or tag in [one.strip().removeprefix("W/") for one in told.split(",")]
