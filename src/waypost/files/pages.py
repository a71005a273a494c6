"""The pages of files: the table, uploading, what is set on a file, statistics."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args

import anyio.to_thread
from pydantic import Field
from sqlalchemy import Connection, select
from starlette.responses import JSONResponse, Response

from waypost import clock
from waypost.aliases.urls import short_url
from waypost.api.fields import Line
from waypost.dashboard import forms, pictures, statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.parts import Parts
from waypost.dashboard.words import plural
from waypost.errors import Kind, Problem
from waypost.files import kinds, names, ops, upload
from waypost.files.api import FileChange
from waypost.schema import domains

T = TypeVar("T")
pages = Pages()
SHAPE = Shape(flags=("unlock",), moments=("expiry",))
_LIST = "/dashboard/files"


class NewFile(FileChange):
    """What can be said of a file that is sent."""

    custom: Annotated[Line, Field(min_length=1)] | None = None
    domain: Annotated[Line, Field(min_length=1)] | None = None


@pages.get("/dashboard/files")
def list_files(desk: Desk) -> Response:
    order: ops.Order = next((one for one in get_args(ops.Order) if one == desk.asked("order")), "date")
    window, q = desk.window(), desk.asked("q")
    page = desk.read_counts(lambda tx: ops.page(tx, desk.account, window, name=q, order=order))
    return desk.page("files/list.html", page=page, q=q, order=order, **_told(desk))


@pages.get("/dashboard/files/new")
def blank_upload(desk: Desk) -> Response:
    return _new_page(desk, Form({}))


@pages.stream("/dashboard/files/new")
async def take_files(desk: Desk, parts: Parts) -> Response:
    """Each file goes straight into the store, under what the fields before it say. The first fault ends it."""
    typed: dict[str, list[str]] = {}
    form, taken, now = Form({}), list[ops.File](), ""
    try:
        while (part := await parts.next()) is not None:
            if part.filename is None:
                typed.setdefault(part.name, []).append(await part.text())
            elif part.filename:
                now = part.filename
                form = Form(forms.shaped(typed, SHAPE))
                fields = await _threaded(lambda form=form: form.read(NewFile, desk.zone, SHAPE).sent())  # type: ignore[misc]
                taken.append(await upload.receive(part.request(), desk, names.checked(now), **fields))
    except Problem as problem:
        if problem.kind not in _OURS:
            raise
        form.faults.setdefault(problem.field if problem.field in NewFile.model_fields else "", problem.message)
    if not taken and not form.faults:
        form.faults["file"] = "Choose a file first."
    return await _threaded(lambda: _received(desk, form, taken, now))


@pages.get("/dashboard/files/{id:int}")
def edit_file(desk: Desk, id: int) -> Response:
    return _edit_page(desk, id, Form(desk.read(lambda tx: _values(tx, desk, id))))


@pages.post("/dashboard/files/{id:int}")
def save_file(desk: Desk, id: int) -> Response:
    form = desk.typed(SHAPE, now=desk.read(lambda tx: _values(tx, desk, id)))
    form.attempt(lambda: _change(desk, id, form))
    if form.faults:
        return _edit_page(desk, id, form, status=400)
    file = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return desk.go(f"{_LIST}/{id}", said="Saved.", also=_url(file, desk))


@pages.get("/dashboard/files/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    return _question(desk, [id])


@pages.post("/dashboard/files/bulk")
def ask_to_delete_many(desk: Desk) -> Response:
    ids = desk.picked()
    return _question(desk, ids) if ids else desk.go(_LIST, said="Tick the files that you mean first.", tone="bad")


@pages.post("/dashboard/files/delete")
def delete_files(desk: Desk) -> Response:
    count = desk.remove_ticked(ops.remove)
    return desk.go(_LIST, said=plural(count, "The file is deleted.", "%(count)s files are deleted."))


@pages.get("/dashboard/files/{id:int}/stats")
def file_statistics(desk: Desk, id: int) -> Response:
    file = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return statistics.page(desk, "file", id, title=file.name, back=f"{_LIST}/{id}", short=_url(file, desk))


_OURS = frozenset({Kind.INVALID, Kind.TAKEN, Kind.TOO_LARGE, Kind.STORAGE_FULL, Kind.TOO_SLOW})


def _received(desk: Desk, form: Form, taken: Sequence[ops.File], name: str) -> Response:
    """What became of the files that were sent: a page, or JSON for the script that sends one after the other."""
    told = next(iter(form.faults.items()), None)
    if "application/json" in desk.request.headers.get("accept", ""):
        if told is not None:
            return JSONResponse({"field": told[0], "message": told[1]}, 400)
        made = [{"id": file.id, "name": file.name, "url": _url(file, desk)} for file in taken]
        return JSONResponse({"files": made})
    if told is not None:
        return _new_page(desk, form, taken=taken, failed=name, status=400)
    if len(taken) == 1:
        return desk.go(f"{_LIST}/{taken[0].id}", said="Your file is there.", also=_url(taken[0], desk))
    return desk.go(_LIST, said=plural(len(taken), "The file is uploaded.", "%(count)s files are uploaded."))


def _change(desk: Desk, id: int, form: Form) -> None:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    body = form.read(FileChange, desk.zone, SHAPE)
    fields = body.sent()
    if form.text("unlock"):
        fields["password"] = None
    if body.maxdownloads is not None:
        desk.count_clicks()  # what was downloaded before a limit counts against it
    desk.save(form, lambda tx: _values(tx, desk, id), lambda tx: ops.change(tx, desk.account, id, **fields))


def _values(tx: Connection, desk: Desk, id: int) -> Mapping[str, Value]:
    """What the editor shows of a file."""
    file = ops.own(tx, desk.account, id)
    return {
        "name": file.name,
        "password": "",
        "expiry": "" if file.expiry is None else forms.local(file.expiry, desk.zone),
        "maxdownloads": "" if file.maxdownloads is None else str(file.maxdownloads),
    }


def _new_page(
    desk: Desk, form: Form, *, taken: Sequence[ops.File] = (), failed: str = "", status: int = 200
) -> Response:
    mine = select(domains.c.host).where(domains.c.account == desk.account).order_by(domains.c.id.desc()).limit(500)

    def work(tx: Connection) -> tuple[ops.Room, Sequence[str]]:
        return ops.room(tx, desk.account), tx.execute(mine).scalars().all()

    room, hosts = desk.read(work)
    told: dict[str, Any] = {"room": room, "hosts": [(host, host) for host in hosts], "taken": taken, "failed": failed}
    return desk.page("files/new.html", status=status, form=form, own=desk.settings.own_host, **told, **_told(desk))


def _edit_page(desk: Desk, id: int, form: Form, *, status: int = 200) -> Response:
    file = desk.read_counts(lambda tx: ops.own(tx, desk.account, id))
    picture = pictures.code(_url(file, desk))
    return desk.page("files/edit.html", status=status, form=form, file=file, picture=picture, **_told(desk))


def _question(desk: Desk, ids: Sequence[int]) -> Response:
    found = desk.read(lambda tx: [ops.own(tx, desk.account, file) for file in ids])
    return desk.page("files/delete.html", files=found, **_told(desk))


def _told(desk: Desk) -> dict[str, Any]:
    """What every page of files knows: short URLs, whether a file is at its end, what kind it is."""
    now = clock.now()
    return {
        "short": lambda file: _url(file, desk),
        "over": lambda file: file.purged is not None or file.is_over(now),
        "kind": lambda file: kinds.words(file.mime),
    }


def _url(file: ops.File, desk: Desk) -> str:
    return short_url(desk.settings.base, file.host, file.scheme, file.alias)


async def _threaded(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
