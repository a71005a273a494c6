"""Deletion URLs: an uploader deletes a file without a key (decision 58)."""

import base64
import hmac
from dataclasses import dataclass

import anyio.to_thread
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.core.errors import Kind, Problem
from waypost.db.schema import accounts, files
from waypost.db.signing import Signer
from waypost.http import media_types
from waypost.items.files import ops
from waypost.urls.alias_namespace import OWN
from waypost.visits.i18n import translatable
from waypost.visits.request import request_host
from waypost.visits.responses import NO_STORE, json_error, wants_page
from waypost.visits.visitor_services import Services

_MAX_DIGITS = 18
_SIGNATURE_BYTES = 24


@dataclass(frozen=True)
class _File:
    id: int
    account: int
    object: str
    name: str
    size: int


def url(base: str, signer: Signer, file: int, object_name: str) -> str:
    """Return the deletion URL of a file. It is valid for this one object, as long as the file exists."""
    return f"{base}/files/delete/{file}/{_signature(signer, file, object_name)}"


async def delete_by_url(request: Request, services: Services) -> Response:
    """Delete the file, or ask a browser: previews and prefetches request URLs with GET, so GET deletes nothing."""
    file = await _find(request, services)
    if file is None:
        return services.pages.refuse(request, "missing")
    if request.method in ("GET", "HEAD"):
        return _confirmation(request, services, file)
    try:
        await services.change(lambda tx: ops.remove(tx, file.account, file.id))
    except Problem as problem:
        if problem.kind is not Kind.NOT_FOUND:
            raise
        return services.pages.refuse(request, "missing")  # deleted by another request
    await anyio.to_thread.run_sync(services.publish_changes)
    if not wants_page(request):
        return JSONResponse({"error": 0, "message": "File has been deleted successfully."}, headers=NO_STORE)
    title = services.pages.translate(request, translatable("The file was deleted"))
    return services.pages.page("file_deleted.html", request=request, title=title, name=file.name)


def _confirmation(request: Request, services: Services, file: _File) -> Response:
    if not wants_page(request):
        message = "GET deletes nothing. Send DELETE or POST to this URL to delete the file."
        response = json_error(message, code=Kind.METHOD_NOT_ALLOWED.code, status=Kind.METHOD_NOT_ALLOWED.status)
        response.headers["Allow"] = "DELETE, POST"
        return response
    title = services.pages.translate(request, translatable("Delete this file?"))
    size = media_types.format_size(file.size)
    return services.pages.page("file_deletion.html", request=request, title=title, name=file.name, size=size)


async def _find(request: Request, services: Services) -> _File | None:
    """Return the file if the signature is right. A suspended account keeps its files."""
    file, signature = request.path_params["file"], request.path_params["signature"]
    if request_host(request) != OWN or not _is_number(file):
        return None
    row = await services.read(lambda tx: _read(tx, int(file)))
    if row is None:
        return None
    expected = _signature(await services.signer.get(), row.id, row.object)
    return row if hmac.compare_digest(expected.encode(), signature.encode()) else None


def _read(tx: Connection, file: int) -> _File | None:
    c = files.c
    query = select(c.id, c.account, c.object, c.name, c.size).join(accounts, accounts.c.id == c.account)
    row = tx.execute(query.where(c.id == file, accounts.c.suspended.is_(False))).mappings().first()
    return None if row is None else _File(**row)


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS


def _signature(signer: Signer, file: int, object_name: str) -> str:
    digest = signer.digest("file deletion", str(file), object_name)
    return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()
