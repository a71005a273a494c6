"""The pages of files: the table, uploading, what is set on a file, statistics."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args

import anyio.to_thread
from pydantic import Field
from sqlalchemy import Connection, select
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.api.types import Line
from waypost.dashboard import forms, qr_image, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.db.schema import domains
from waypost.errors import Kind, Problem
from waypost.files import ops, upload
from waypost.files.api import FileChange
from waypost.http import file_names, media_types
from waypost.http.multipart import MultipartReader
from waypost.urls.short_urls import short_url

T = TypeVar("T")
pages = Router()
SHAPE = Shape(flags=("unlock",), local_times=("expiry",))
_LIST = "/dashboard/files"


class NewFile(FileChange):
    """What can be said of a file that is sent."""

    custom: Annotated[Line, Field(min_length=1)] | None = None
    domain: Annotated[Line, Field(min_length=1)] | None = None


@pages.get("/dashboard/files")
def list_files(context: PageContext) -> Response:
    order: ops.Order = next((one for one in get_args(ops.Order) if one == context.query("order")), "date")
    window, q = context.page_request(), context.query("q")
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, window, name=q, order=order))
    return context.render("files/list.html", page=page, q=q, order=order, **_told(context))


@pages.get("/dashboard/files/new")
def blank_upload(context: PageContext) -> Response:
    return _new_page(context, Form({}))


@pages.stream("/dashboard/files/new")
async def take_files(context: PageContext, parts: MultipartReader) -> Response:
    """Each file goes straight into the store, under what the fields before it say. The first fault ends it."""
    typed: dict[str, list[str]] = {}
    form, taken, now = Form({}), list[ops.File](), ""
    try:
        while (part := await parts.next_part()) is not None:
            if part.filename is None:
                typed.setdefault(part.name, []).append(await part.text())
            elif part.filename:
                now = part.filename
                form = Form(forms.apply_shape(typed, SHAPE))
                fields = await _threaded(lambda form=form: form.read(NewFile, context.time_zone, SHAPE).sent())  # type: ignore[misc]
                taken.append(await upload.receive(part.as_request(), context, file_names.checked(now), **fields))
    except Problem as problem:
        if problem.kind not in _OURS:
            raise
        form.errors.setdefault(problem.field if problem.field in NewFile.model_fields else "", problem.message)
    if not taken and not form.errors:
        form.errors["file"] = "Choose a file first."
    return await _threaded(lambda: _received(context, form, taken, now))


@pages.get("/dashboard/files/{id:int}")
def edit_file(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/files/{id:int}")
def save_file(context: PageContext, id: int) -> Response:
    form = context.form(SHAPE, current=context.read(lambda tx: _values(tx, context, id)))
    form.attempt(lambda: _change(context, id, form))
    if form.errors:
        return _edit_page(context, id, form, status=400)
    file = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.redirect(f"{_LIST}/{id}", message="Saved.", copy_text=_url(file, context))


@pages.get("/dashboard/files/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    return _question(context, [id])


@pages.post("/dashboard/files/bulk")
def ask_to_delete_many(context: PageContext) -> Response:
    ids = context.selected_ids()
    return (
        _question(context, ids)
        if ids
        else context.redirect(_LIST, message="Tick the files that you mean first.", tone="bad")
    )


@pages.post("/dashboard/files/delete")
def delete_files(context: PageContext) -> Response:
    count = context.delete_selected(ops.remove)
    return context.redirect(_LIST, message=ngettext("The file is deleted.", "%(count)s files are deleted.", count))


@pages.get("/dashboard/files/{id:int}/stats")
def file_statistics(context: PageContext, id: int) -> Response:
    file = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "file", id, title=file.name, back=f"{_LIST}/{id}", short=_url(file, context))


_OURS = frozenset({Kind.INVALID, Kind.TAKEN, Kind.TOO_LARGE, Kind.STORAGE_FULL, Kind.TOO_SLOW})


def _received(context: PageContext, form: Form, taken: Sequence[ops.File], name: str) -> Response:
    """What became of the files that were sent: a page, or JSON for the script that sends one after the other."""
    told = next(iter(form.errors.items()), None)
    if "application/json" in context.request.headers.get("accept", ""):
        if told is not None:
            return JSONResponse({"field": told[0], "message": told[1]}, 400)
        made = [{"id": file.id, "name": file.name, "url": _url(file, context)} for file in taken]
        return JSONResponse({"files": made})
    if told is not None:
        return _new_page(context, form, taken=taken, failed=name, status=400)
    if len(taken) == 1:
        return context.redirect(f"{_LIST}/{taken[0].id}", message="Your file is there.", copy_text=_url(taken[0], context))
    return context.redirect(_LIST, message=ngettext("The file is uploaded.", "%(count)s files are uploaded.", len(taken)))


def _change(context: PageContext, id: int, form: Form) -> None:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    body = form.read(FileChange, context.time_zone, SHAPE)
    fields = body.sent()
    if form.text("unlock"):
        fields["password"] = None
    if body.maxdownloads is not None:
        context.wait_for_ingest()  # what was downloaded before a limit counts against it
    context.save(form, lambda tx: _values(tx, context, id), lambda tx: ops.change(tx, context.account, id, **fields))


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """What the editor shows of a file."""
    file = ops.get_owned(tx, context.account, id)
    return {
        "name": file.name,
        "password": "",
        "expiry": "" if file.expiry is None else forms.to_local_input(file.expiry, context.time_zone),
        "maxdownloads": "" if file.maxdownloads is None else str(file.maxdownloads),
    }


def _new_page(
    context: PageContext, form: Form, *, taken: Sequence[ops.File] = (), failed: str = "", status: int = 200
) -> Response:
    mine = select(domains.c.host).where(domains.c.account == context.account).order_by(domains.c.id.desc()).limit(500)

    def work(tx: Connection) -> tuple[ops.UploadQuota, Sequence[str]]:
        return ops.upload_quota(tx, context.account), tx.execute(mine).scalars().all()

    room, hosts = context.read(work)
    told: dict[str, Any] = {"room": room, "hosts": [(host, host) for host in hosts], "taken": taken, "failed": failed}
    return context.render(
        "files/new.html", status=status, form=form, own=context.settings.own_host, **told, **_told(context)
    )


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    file = context.read_after_ingest(lambda tx: ops.get_owned(tx, context.account, id))
    picture = qr_image.qr_data_url(_url(file, context))
    return context.render("files/edit.html", status=status, form=form, file=file, picture=picture, **_told(context))


def _question(context: PageContext, ids: Sequence[int]) -> Response:
    found = context.read(lambda tx: [ops.get_owned(tx, context.account, file) for file in ids])
    return context.render("files/delete.html", files=found, **_told(context))


def _told(context: PageContext) -> dict[str, Any]:
    """What every page of files knows: short URLs, whether a file is at its end, what kind it is."""
    now = clock.now()
    return {
        "short": lambda file: _url(file, context),
        "over": lambda file: file.purged is not None or file.has_ended(now),
        "kind": lambda file: media_types.words(file.mime),
    }


def _url(file: ops.File, context: PageContext) -> str:
    return short_url(context.settings.base, file.host, file.scheme, file.alias)


async def _threaded(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
