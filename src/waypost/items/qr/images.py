"""Images of QR codes at `/qr/<alias>`, and of any short URL at `<short URL>/qr` (decisions 30, 50)."""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import get_args

import anyio.to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.core import clock
from waypost.http import file_names
from waypost.http.client_ip import client_ip, network_of
from waypost.http.conditional import Validators
from waypost.items.qr import ops
from waypost.media.qrcode.render import MEDIA, Format, design
from waypost.media.qrcode.styles import LEAST_SIZE, MOST_SIZE, PLAIN
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import short_url
from waypost.visits.cache import MAX_AGE_SECONDS, HotBody
from waypost.visits.link_record import LinkView
from waypost.visits.record_queries import BioView, FileView, QrView, Resolved, scheme_of
from waypost.visits.request import request_host
from waypost.visits.responses import json_error
from waypost.visits.visitor_services import Services

_FORMATS: tuple[Format, ...] = get_args(Format)
_DEFAULT_SIZE = 512
_EXACT_SIZE = 1024  # pixels; larger images are drawn in steps, so that few of them exist
_LARGE_SIZES = (2048, MOST_SIZE)
_SUFFIX = re.compile(rf"(.*)\.({'|'.join(_FORMATS)})\Z")
_NUMBER = re.compile(r"[0-9]{1,5}\Z")
_PARAMETERS = frozenset({"format", "size", "transparent", "download", "v"})
_TRUE = frozenset({"1", "true", "yes", "on"})
_REVALIDATE = "public, no-cache"
_IMMUTABLE = "public, max-age=31536000, immutable"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@dataclass(frozen=True)
class _ImageRequest:
    """A request for an image. `version` is its `?v=`, the QR code's version that the client caches.

    `is_plain`: the query has no other parameters, so that there are few such requests for a code.
    """

    host: str
    alias: str
    format: Format
    size: int
    transparent: bool
    download: bool
    version: str
    is_plain: bool

    @property
    def content_target(self) -> bytes:
        """The request target under which the image is cached, however it was requested."""
        style = "&transparent=1" if self.transparent else ""
        return f"/{self.alias}/qr?format={self.format}&size={self.size}{style}".encode()


class _InvalidQuery(Exception):
    """An invalid parameter: (name, message)."""


async def qr_image(request: Request, services: Services) -> Response:
    """`/qr/<alias>[.png|.svg|.pdf]`, on the service's own host."""
    if request_host(request) != OWN:
        return services.pages.refuse(request, "missing")
    return await _respond(request, services, OWN, request.path_params["name"], only_qr=True)


async def short_url_image(request: Request, services: Services) -> Response:
    """`<short URL>/qr`."""
    host = request_host(request)
    return await _respond(request, services, host, request.path_params["alias"], only_qr=False)


async def _respond(request: Request, services: Services, host: str, name: str, *, only_qr: bool) -> Response:
    try:
        image = _parse(request, host, name)
    except _InvalidQuery as error:
        field, message = error.args
        return json_error(message, code="invalid", status=400, field=field)
    cache = services.cache
    target = _request_target(request)
    hot = cache.bodies.get(host.encode() + target)
    if hot is not None and (status := Validators(hot.etag).status(request.method, request.headers)):
        return Response(status_code=status, headers={"ETag": hot.etag, "Cache-Control": _REVALIDATE})
    version = cache.version
    record = await services.visits.resolve(host, image.alias)
    qr = record if isinstance(record, QrView) else None
    if only_qr and qr is None:
        return services.pages.refuse(request, "missing")
    content = await _content(request, services, image, qr, version)
    if content is None:
        return services.pages.refuse(request, "missing")
    name = _name(record, services.cache.blocklist)
    response = _image_response(content, image, qr, name)
    if request.method == "GET" and image.is_plain and image.version in ("", str(qr.version if qr else "")):
        _cache_image(services, image, target, response, version)
    if status := Validators(response.headers["etag"]).status(request.method, request.headers):
        headers = {name: response.headers[name] for name in ("etag", "cache-control")}
        return Response(status_code=status, headers=headers)
    return response


async def _content(
    request: Request, services: Services, image: _ImageRequest, qr: QrView | None, version: int
) -> bytes | None:
    """Return the image file, from the cache or drawn; None for an unknown alias."""
    if not alias_rules.is_valid(image.alias, host=image.host):
        return None
    cached = _cached_content(services, image)
    if cached is not None:
        return cached
    network = network_of(client_ip(request.scope, services.settings.proxies))
    queue = services.large_image_queue if image.size > _EXACT_SIZE else services.image_queue
    async with queue.slot(network):
        cached = _cached_content(services, image)  # another request may have drawn it
        if cached is not None:
            return cached
        content = await anyio.to_thread.run_sync(_render, services, image, qr)
    if content is not None:
        response = _image_response(content, replace(image, download=False, version=""), qr, "")
        _cache_image(services, image, image.content_target, response, version)
    return content


def _cached_content(services: Services, image: _ImageRequest) -> bytes | None:
    hot = services.cache.bodies.get(image.host.encode() + image.content_target)
    if hot is None or hot.until_ms < clock.now_ms():
        return None
    return hot.unique.partition(b"\r\n\r\n")[2]


def _render(services: Services, image: _ImageRequest, qr: QrView | None) -> bytes | None:
    """Draw the image file; None for an unknown alias."""

    def work(tx: Connection) -> ops.Draft | None:
        if qr is not None:
            return ops.saved(tx, qr.account, qr.id, services.settings)
        scheme = scheme_of(tx, image.host, image.alias)
        if scheme is None:
            return None
        url = short_url(services.settings.base, image.host, scheme, image.alias)
        return ops.Draft(image.alias, {}, url, PLAIN, None)

    draft = services.database.read(work)
    if draft is None:
        return None
    style = replace(draft.style, transparent=image.transparent)
    return design(draft.text, style, draft.logo).render(image.format, image.size)


def _cache_image(services: Services, image: _ImageRequest, target: bytes, response: Response, version: int) -> None:
    """Let the fast path answer the next requests for this image."""
    headers = b"".join(b"%b: %b\r\n" % pair for pair in response.raw_headers)
    hot = HotBody(
        unique=headers + b"\r\n" + bytes(response.body),
        journal_target=b"",
        until_ms=clock.now_ms() + round(MAX_AGE_SECONDS * 1000),
        status_line=b"HTTP/1.1 200 OK\r\n",
        etag=response.headers["etag"],
        name=(image.host, image.alias),
    )
    services.cache.put_body(image.host.encode() + target, hot, version=version)


def _parse(request: Request, host: str, name: str) -> _ImageRequest:
    query = request.query_params
    match = _SUFFIX.match(name) if not host else None  # on a branded domain, the dot can belong to the alias
    alias, image_format = (match[1], match[2]) if match else (name, query.get("format", "png").lower())
    if image_format not in _FORMATS:
        raise _InvalidQuery("format", f"format must be one of {', '.join(_FORMATS)}.")
    size = query.get("size", str(_DEFAULT_SIZE))
    if not _NUMBER.match(size) or not LEAST_SIZE <= int(size) <= MOST_SIZE:
        raise _InvalidQuery("size", f"size must be a whole number from {LEAST_SIZE} to {MOST_SIZE}.")
    pixels = int(size)
    if pixels > _EXACT_SIZE and image_format != "pdf":  # a PDF has no pixels, but a size in print
        pixels = next(step for step in _LARGE_SIZES if pixels <= step)
    names = [name for name, _ in query.multi_items()]
    return _ImageRequest(
        host=host,
        alias=alias,
        format=_FORMATS[_FORMATS.index(image_format)],
        size=pixels,
        transparent=query.get("transparent", "").lower() in _TRUE,
        download=query.get("download", "").lower() in _TRUE,
        version=query.get("v", ""),
        is_plain=len(names) == len(_PARAMETERS.intersection(names)),
    )


def _request_target(request: Request) -> bytes:
    """Return path and query as they were sent: the key of the fast path."""
    query: bytes = request.scope["query_string"]
    path: bytes = request.scope["raw_path"]
    return path + b"?" + query if query else path


def _name(record: Resolved | None, blocklist: Blocklist | None) -> str:
    """Return the title of the page that visitors get now; "" if they get none. Names of QR codes are private.

    So are the titles of links that are on no list page.
    """
    now = clock.now()
    match record:
        case BioView():
            return record.heading
        case LinkView(password=None, status="public") if not _has_expired(record.expiry, now):
            return "" if blocklist is None or blocklist.blocks(record.url) else record.title
        case FileView(password=None, purged=None) if not _has_expired(record.expiry, now):
            return record.name
    return ""


def _has_expired(expiry: int | None, now: int) -> bool:
    return expiry is not None and expiry < now


def _image_response(content: bytes, image: _ImageRequest, qr: QrView | None, name: str) -> Response:
    is_immutable = qr is not None and image.version == str(qr.version)
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        "Cache-Control": _IMMUTABLE if is_immutable else _REVALIDATE,
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    if image.download:
        headers["Content-Disposition"] = file_names.attachment(name or image.alias, image.format)
    return Response(content, media_type=MEDIA[image.format], headers=headers)
