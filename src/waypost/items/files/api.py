"""The API of files: `/files` and `/file/…` (decisions 17 to 23)."""

from collections.abc import Mapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy import Connection
from starlette.convertors import PathConvertor, register_url_convertor

from waypost.api import pagination
from waypost.api.context import Change, Context, RequestContext
from waypost.api.endpoints import handled
from waypost.api.request_body import Partial
from waypost.api.responses import MessageResponse, ReportResponse
from waypost.api.types import MultilineText, PathId, RequestedSpan
from waypost.core import clock, credentials
from waypost.core.errors import invalid
from waypost.db.crud import Page
from waypost.db.signing import installation_signer
from waypost.http import file_names
from waypost.http.body_headers import refuse_partial_or_encoded
from waypost.items.files import deletion, ops, upload
from waypost.items.files.schemas import FileAnswer, FileChange, FileDetails, FileDone, FileList, FileOut, UploadSettings
from waypost.search import words
from waypost.urls.short_urls import short_url


class _PathRest(PathConvertor):
    """The rest of a path, line breaks included; Starlette's own `path` convertor does not match them."""

    regex = r"[\s\S]*"


register_url_convertor("rest", _PathRest())


router = APIRouter(tags=["Files"])


@router.get("/files")
def list_files(
    context: Context,
    page_request: pagination.RequestedPage,
    name: Annotated[
        MultilineText,
        Query(
            max_length=255,
            description="Only files whose name contains it, or with this short URL or `/alias`.",
            examples=["report"],
        ),
    ] = "",
) -> FileList:
    """List files, newest first."""

    def work(tx: Connection) -> Page[ops.Details]:
        short = words.short_url(tx, context.account, name, settings=context.settings)
        return ops.page(tx, context.account, page_request, name=name, short=short)

    page = context.read_after_ingest(work)
    return FileList(**pagination.paging_fields(page), list=[FileOut(**_fields(file, context)) for file in page.items])


_FILE_BYTES: Mapping[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_FORM: Mapping[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary", "description": "The file, under any name."}},
        "required": ["file"],
    }
}


@handled(is_upload=True)
async def upload_file(
    context: Context,
    request: Request,
    filename: Annotated[str, Path(description="File name with extension, percent-encoded.", examples=["report.pdf"])],  # noqa: ARG001
    settings: Annotated[UploadSettings, Query()],
) -> FileDone:
    """Upload a file.

    The body is the file, or a form with one file. `Content-MD5` and `Repr-Digest` of a body are verified.
    """
    refuse_partial_or_encoded(request.headers.items())
    upload.refuse_parts(request.query_params)
    name = file_names.from_path(_raw_filename(request))
    if upload.is_form(request):
        form, settings = await _open_form(context, request)
        return await _store(context, form.request, name, settings)
    return await _store(context, request, name, settings)


@handled(is_upload=True)
async def upload_form_file(
    context: Context,
    request: Request,
    settings: Annotated[UploadSettings, Query()],  # read again, together with the form's fields
) -> FileDone:
    """Upload a file of a form, which gives its name."""
    refuse_partial_or_encoded(request.headers.items())
    if not upload.is_form(request):
        raise invalid("filename", "Send the file as multipart/form-data, or its name in the path: /files/upload/NAME.")
    form, settings = await _open_form(context, request)
    return await _store(context, form.request, file_names.validate(form.filename), settings)


for method, operation in (("POST", "upload_file"), ("PUT", "put_file")):
    router.add_api_route(
        "/files/upload/{filename:rest}",
        upload_file,
        methods=[method],
        operation_id=operation,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": _FILE_BYTES, "multipart/form-data": _FORM},
            }
        },
    )
router.add_api_route(
    "/files/upload",
    upload_form_file,
    methods=["POST"],
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": _FORM}}},
)


async def _open_form(context: RequestContext, request: Request) -> tuple[upload.FormFile, UploadSettings]:
    """Return the file of a form, and the settings of the query and the form. Raises INVALID on one of them."""
    names = UploadSettings.model_fields.keys()
    form = await upload.open_form(request, names, seconds=context.settings.transfer_seconds)
    values = upload.merge({name: request.query_params[name] for name in names & request.query_params}, form.fields)
    try:
        return form, UploadSettings.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]) from error


async def _store(context: RequestContext, body: Request, filename: str, settings: UploadSettings) -> FileDone:
    hashed = None
    if settings.password is not None:
        hashed = await anyio.to_thread.run_sync(credentials.hash_password, settings.password)
    fields = {**settings.model_dump(), "password": hashed}
    signer = await anyio.to_thread.run_sync(context.read, installation_signer)

    def respond(file: ops.File) -> FileDone:
        deletion_url = deletion.url(context.settings.base, signer, file.id, file.object)
        return FileDone(id=file.id, one=file.id, shorturl=file_url(file, context), deleteurl=deletion_url)

    return await upload.receive(body, context, filename, respond, **fields)


@router.get("/file/{id}")
def read_file(context: Context, id: PathId) -> FileAnswer:
    """Read the metadata of a file."""
    file = context.read_after_ingest(lambda tx: ops.get_owned(tx, context.account, id))
    details = FileDetails(
        **_fields(file, context),
        filename=file.filename,
        size=file.size,
        type=file.mime,
        sha256=file.sha256.hex(),
        password=file.password is not None,
        expiry="" if file.expiry is None else clock.text(file.expiry),
        maxdownloads=file.maxdownloads,
        uniquedownloads=file.uniquedownloads,
        available=file.purged is None and not file.has_ended(clock.now()),
        kept=file.purged is None,
    )
    return FileAnswer(details=details)


@router.get("/file/{id}/stats")
def read_file_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Read the downloads of a file over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("file", id, span))


@router.put("/file/{id}/update")
def update_file(context: Context, id: PathId, body: Partial[FileChange]) -> Change[MessageResponse]:
    """Update the settings of a file.

    Fields that are not sent keep their values; `null` clears a field. An expired file can be extended while its bytes
    are stored.
    """
    fields = body.sent()
    if body.maxdownloads is not None:
        context.require_ingest()  # earlier downloads count toward the new limit
    return Change(
        lambda tx: ops.change(tx, context.account, id, **fields),
        lambda _: MessageResponse(message="File has been updated successfully."),
    )


@router.delete("/file/{id}/delete")
def delete_file(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a file and its bytes."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="File has been deleted successfully."),
    )


def _raw_filename(request: Request) -> bytes:
    """Return the file name as sent. The decoded path does not distinguish %2F from a slash."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.partition(b"?")[0].split(b"/", 4)[-1]


def _fields(file: ops.File, context: RequestContext) -> dict[str, Any]:
    url = file_url(file, context)
    return {"id": file.id, "name": file.name, "downloads": file.downloads, "shorturl": url, "date": file.created}


def file_url(file: ops.File, context: RequestContext) -> str:
    """Return the short URL of a file."""
    return short_url(context.settings.base, file.host, file.scheme, file.alias)
