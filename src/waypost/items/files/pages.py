"""Dashboard pages of files: list, upload form, editor, statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, get_args

import anyio.to_thread
from pydantic import Field
from sqlalchemy import Connection, select
from starlette.responses import JSONResponse, Response

from waypost.api.types import Line
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.dashboard import forms, statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import gettext, gettext_noop, ngettext
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.db.schema import domains
from waypost.db.schema.accounts import UNLIMITED
from waypost.http import file_names, media_types
from waypost.http.multipart import MultipartReader
from waypost.items.files import ops, upload
from waypost.items.files.api import file_url
from waypost.items.files.schemas import FileChange
from waypost.media.qrcode import render
from waypost.visits.responses import wants_json

pages = Router()
SHAPE = Shape(flags=("unlock",), local_times=("expiry",), exact=("password",))
_LIST = "/dashboard/files"


class NewFile(FileChange):
    """The fields of the upload form."""

    custom: Annotated[Line, Field(min_length=1)] | None = None
    domain: Annotated[Line, Field(min_length=1)] | None = None


@pages.get("/dashboard/files")
def list_files(context: PageContext) -> Response:
    order: ops.Order = next((value for value in get_args(ops.Order) if value == context.query("order")), "date")
    page_request, q = context.page_request(), context.query("q")

    def work(tx: Connection) -> Page[ops.Details]:
        parsed = context.search_words(tx, q)
        return ops.search(tx, context.account, page_request, words=parsed, order=order)

    page = context.read_after_ingest(work)
    return context.render_list("files/list.html", page, q=q, order=order, **_helpers(context))


@pages.get("/dashboard/files/new")
def show_upload_form(context: PageContext) -> Response:
    return _new_page(context, Form({}))


@pages.stream("/dashboard/files/new")
async def upload_files(context: PageContext, parts: MultipartReader) -> Response:
    """Store each file as it arrives, with the fields that precede it. Stop at the first error."""
    fields: dict[str, list[str]] = {}
    context = replace(context, fields=fields)  # the form names its time zone
    form, uploaded, filename = Form({}), list[ops.File](), ""
    try:
        while (part := await parts.next_part()) is not None:
            if part.filename is None:
                fields.setdefault(part.name, []).append(await part.text())
            elif part.filename:
                filename = part.filename
                form = Form(forms.apply_shape(fields, SHAPE))
                new_file = await anyio.to_thread.run_sync(form.read, NewFile, context.time_zone, SHAPE)
                values = await anyio.to_thread.run_sync(new_file.sent)
                uploaded.append(
                    await upload.receive(
                        part.as_request(), context, file_names.validate(filename), lambda file: file, **values
                    )
                )
    except Problem as problem:
        if problem.kind not in _UPLOAD_ERRORS:
            raise
        form.errors.setdefault(problem.field if problem.field in NewFile.model_fields else "", problem.message)
    if not uploaded and not form.errors:
        form = Form(forms.apply_shape(fields, SHAPE))
        form.errors["file"] = "Select at least one file."
    return await anyio.to_thread.run_sync(_upload_response, context, form, uploaded, filename)


@pages.get("/dashboard/files/{id:int}")
def show_file(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/files/{id:int}", resumable=True)
def update_file(context: PageContext, id: int) -> Response:
    form = context.form(SHAPE, current=context.read(lambda tx: _values(tx, context, id)))
    _update(context, id, form)
    if form.errors:
        return _edit_page(context, id, form, status=400)
    file = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.redirect(f"{_LIST}/{id}", message="Saved.", copy_text=file_url(file, context))


@pages.get("/dashboard/files/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id], ())


@pages.post("/dashboard/files/bulk")
def confirm_bulk_deletion(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one file.", tone="bad")
    return trash.confirm(context, "file", partial(_confirmation, context))


@pages.post("/dashboard/files/delete")
def delete_files(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The file was deleted.", "%(count)s files were deleted.")
    return trash.delete(context, "file", ids, trash.one_by_one(ops.remove), singular=singular, plural=plural)


@pages.get("/dashboard/files/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    file = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "file", id, title=file.name, back=f"{_LIST}/{id}", short=file_url(file, context))


# Errors that the upload form shows.
_UPLOAD_LABELS = {
    "expiry": gettext_noop("Expires"),
    "maxdownloads": gettext_noop("Download limit"),
    "password": gettext_noop("Password for visitors"),
    "custom": gettext_noop("Alias"),
    "domain": gettext_noop("Domain"),
}
_UPLOAD_ERRORS = frozenset({Kind.INVALID, Kind.TAKEN, Kind.TOO_LARGE, Kind.STORAGE_FULL, Kind.TOO_SLOW})


def _upload_response(context: PageContext, form: Form, uploaded: Sequence[ops.File], filename: str) -> Response:
    """Return the result as a page, or as JSON for the script, which sends one file per request."""
    if wants_json(context.request):
        if form.errors:
            return JSONResponse(_upload_errors(form), 400)
        files = [{"id": file.id, "name": file.name, "url": file_url(file, context)} for file in uploaded]
        return JSONResponse({"files": files})
    if form.errors:
        return _new_page(context, form, uploaded=uploaded, failed=filename, status=400)
    if len(uploaded) == 1:
        file = uploaded[0]
        return context.redirect(f"{_LIST}/{file.id}", message="Your file is ready.", copy_text=file_url(file, context))
    message = ngettext("The file was uploaded.", "%(count)s files were uploaded.", len(uploaded))
    return context.redirect(_LIST, message=message)


def _upload_errors(form: Form) -> dict[str, Any]:
    """Return the names of the fields with errors, and all errors as one text with the labels of the form."""
    fields = [name for name in _UPLOAD_LABELS if name in form.errors]
    messages = [form.describe(name, gettext(_UPLOAD_LABELS[name])) for name in fields]
    others = [gettext(message) for name, message in form.errors.items() if name not in fields]
    return {"fields": fields, "message": " ".join([*others, *messages])}


def _update(context: PageContext, id: int, form: Form) -> None:
    """Save the changed fields, unless the form is invalid or the file was changed since the form was shown."""

    def work(tx: Connection, fields: dict[str, Any]) -> None:
        if form.text("unlock"):
            fields["password"] = None
        form.reject_stale(_values(tx, context, id))
        ops.change(tx, context.account, id, **fields)

    if form.text("maxdownloads"):
        context.require_ingest()  # earlier downloads count against a new limit
    context.submit(form, FileChange, work, SHAPE)


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    file = ops.get_owned(tx, context.account, id)
    return {
        "name": file.name,
        "password": "",
        "expiry": "" if file.expiry is None else forms.to_local_input(file.expiry, context.time_zone),
        "maxdownloads": "" if file.maxdownloads is None else str(file.maxdownloads),
    }


def _new_page(
    context: PageContext, form: Form, *, uploaded: Sequence[ops.File] = (), failed: str = "", status: int = 200
) -> Response:
    query = select(domains.c.host).where(domains.c.account == context.account).order_by(domains.c.id.desc()).limit(1000)

    def work(tx: Connection) -> tuple[ops.UploadQuota, Sequence[str]]:
        return ops.upload_quota(tx, context.account), tx.execute(query).scalars().all()

    quota, hosts = context.read(work)
    return context.render(
        "files/new.html",
        status=status,
        form=form,
        quota=quota,
        is_limited=quota.upload_limit < UNLIMITED,
        hosts=[(host, host) for host in hosts],
        uploaded=uploaded,
        failed=failed,
    )


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    file = context.read_after_ingest(lambda tx: ops.get_owned(tx, context.account, id))
    qr_code = render.qr_data_url(file_url(file, context))
    return context.render("files/edit.html", status=status, form=form, file=file, qr_code=qr_code, **_helpers(context))


def _confirmation(context: PageContext, ids: Sequence[int], vanished: Sequence[int]) -> Response:
    files = context.read(lambda tx: [ops.get_owned(tx, context.account, file) for file in ids])
    return context.render("files/delete.html", files=files, vanished=vanished, **_helpers(context))


def _helpers(context: PageContext) -> dict[str, Any]:
    """Return the functions of the templates: a file's short URL, whether it has expired, its media type and icon."""
    now = clock.now()
    return {
        "short_url": lambda file: file_url(file, context),
        "expired": lambda file: file.purged is not None or file.has_ended(now),
        "media_type": lambda file: media_types.describe(file.mime, file.filename),
        "file_icon": lambda file: media_types.icon(file.mime, file.filename),
    }
