"""`/files` and `/file/…` (API document, section Files; decisions 17 to 23)."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, Field
from starlette.convertors import Convertor, register_url_convertor

from waypost import clock, credentials
from waypost.api import pagination
from waypost.api.date_range import AskedSpan
from waypost.api.middleware import Context, RequestContext
from waypost.api.request_body import Body, JsonRoute
from waypost.api.responses import Done, ReportAnswer, Success, problem_response, validation_problem
from waypost.api.types import Expiry, Line, Name, PathId, Positive, Timestamp, Words, whole
from waypost.errors import Problem
from waypost.files import ops, upload
from waypost.http import file_names
from waypost.http.lingering_close import BodyTracker, LingeringResponse
from waypost.urls.short_urls import short_url


class _Rest(Convertor[str]):
    """All the rest of a path. Starlette's own `path` knows no line ends, and would call such a name not found."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("rest", _Rest())


class StreamRoute(JsonRoute):
    """A route whose body may be gigabytes: an answer that comes before the body's end is not lost on the way."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def patient(request: Request) -> Response:
            heard = BodyTracker(request)
            try:
                return await handler(Request(request.scope, heard))
            except RequestValidationError as error:
                return LingeringResponse(problem_response(validation_problem(error)), heard)
            except Problem as problem:
                return LingeringResponse(problem_response(problem), heard)

        return patient


router = APIRouter(route_class=JsonRoute, tags=["Files"])


class FileOut(BaseModel):
    """A file, as lists show it."""

    id: int
    name: str
    downloads: int
    shorturl: str
    date: Timestamp


class FileList(pagination.Paging, Success):
    """A page of files: flat, unlike every other list."""

    list: list[FileOut]


class FileWhole(FileOut):
    """A file, with everything that is known of it."""

    filename: str
    size: int = Field(description="Bytes.")
    type: str = Field(description="Media type, by the first bytes of the file.")
    sha256: str = Field(description="SHA-256 of the file, in hexadecimal digits.")
    password: bool
    expiry: str = Field(description="Last second in which it can be downloaded, or empty.")
    maxdownloads: int | None
    uniquedownloads: int
    available: bool = Field(description="Whether it can be downloaded: neither expired nor used up.")
    kept: bool = Field(description="Whether its bytes are still there.")


class FileAnswer(Success):
    details: FileWhole


class FileDone(Success):
    id: int
    shorturl: str


class FileChange(Body):
    name: Name | None = None
    password: Annotated[Line, Field(min_length=1, max_length=128)] | None = None
    expiry: Expiry | None = None
    maxdownloads: Positive | None = None

    def sent(self) -> dict[str, Any]:
        """The fields that stood in the body; the password hashed."""
        fields = super().sent()
        if self.password is not None:
            fields["password"] = credentials.hash_password(self.password)
        return fields


@router.get("/files")
def list_files(
    context: Context, asked: pagination.Asked, name: Annotated[Words, Query(max_length=255)] = ""
) -> FileList:
    """The files, newest first; with `name`, those that have it in their name."""
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, asked, name=name))
    return FileList(**pagination.paging(page), list=[FileOut(**_shown(file, context)) for file in page.items])


_BODY: Mapping[str, Any] = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


async def upload_file(
    context: Context,
    request: Request,
    filename: Annotated[str, Path(description="The file's name with its extension, percent-encoded.")],  # noqa: ARG001
    name: Annotated[Name | None, Query(description="Name to show instead of the file's.")] = None,
    custom: Annotated[Line | None, Query(min_length=1, description="Alias instead of a random one.")] = None,
    domain: Annotated[Line | None, Query(min_length=1, description="One of your branded domains.")] = None,
    password: Annotated[Line | None, Query(min_length=1, max_length=128)] = None,
    expiry: Annotated[Expiry | None, Query(description="Last day, YYYY-MM-DD.")] = None,
    maxdownloads: Annotated[Positive | None, Query(), BeforeValidator(whole)] = None,
) -> FileDone:
    """Keep the body, whatever its Content-Type, as a file. Content-MD5 and Repr-Digest are checked where sent."""
    named = file_names.from_path(_last_part(request))
    hashed = await anyio.to_thread.run_sync(credentials.hash_password, password) if password is not None else None
    fields = ops.Fields(
        name=name, custom=custom, domain=domain, password=hashed, expiry=expiry, maxdownloads=maxdownloads
    )
    file = await upload.receive(request, context, named, **fields)
    return FileDone(id=file.id, shorturl=_url(file, context))


router.add_api_route(
    "/files/upload/{filename:rest}",
    upload_file,
    methods=["POST"],
    openapi_extra={"requestBody": {"required": True, **_BODY}},
    route_class_override=StreamRoute,
)


@router.get("/file/{id}")
def read_file(context: Context, id: PathId) -> FileAnswer:
    file = context.read_after_ingest(lambda tx: ops.own(tx, context.account, id))
    details = FileWhole(
        **_shown(file, context),
        filename=file.filename,
        size=file.size,
        type=file.mime,
        sha256=file.sha256.hex(),
        password=file.password is not None,
        expiry="" if file.expiry is None else clock.text(file.expiry),
        maxdownloads=file.maxdownloads,
        uniquedownloads=file.uniquedownloads,
        available=file.purged is None and not file.is_over(clock.now()),
        kept=file.purged is None,
    )
    return FileAnswer(details=details)


@router.get("/file/{id}/stats")
def file_statistics(context: Context, id: PathId, span: AskedSpan) -> ReportAnswer:
    """The downloads of one file over time and by every dimension."""
    context.read(lambda tx: ops.own(tx, context.account, id))
    return ReportAnswer(data=context.read_report("file", id, span))


@router.put("/file/{id}/update")
def update_file(context: Context, id: PathId, body: FileChange) -> Done:
    """Change what was sent; `null` clears. A file at its end can be extended while its bytes are kept."""
    fields = body.sent()
    if body.maxdownloads is not None:
        context.wait_for_ingest()  # what was downloaded before a limit counts against it
    context.write(lambda tx: ops.change(tx, context.account, id, **fields))
    return Done(message="File has been updated successfully.")


@router.delete("/file/{id}/delete")
def delete_file(context: Context, id: PathId) -> Done:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return Done(message="File has been deleted successfully.")


def _last_part(request: Request) -> bytes:
    """The file's name as it came: whoever decoded the path before us took %2F and a slash for the same."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.partition(b"?")[0].split(b"/", 4)[-1]


def _shown(file: ops.File, context: RequestContext) -> dict[str, Any]:
    shown = {name: getattr(file, name) for name in ("id", "name", "downloads")}
    return {**shown, "shorturl": _url(file, context), "date": file.created}


def _url(file: ops.File, context: RequestContext) -> str:
    return short_url(context.settings.base, file.host, file.scheme, file.alias)
