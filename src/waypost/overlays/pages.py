"""The pages of overlays: the table, the editor of each type with a live preview, and what visitors sent."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural
from waypost.overlays import ops, submissions
from waypost.overlays.api import NewOverlay, OverlayChange

pages = Pages()
_SHAPE = Shape(lists=("options",))
_LIST = "/dashboard/overlays"
_ANSWERS = "/dashboard/overlays/{}/answers"
_TYPES: tuple[ops.Type, ...] = get_args(ops.Type)
_POSITIONS: tuple[ops.Position, ...] = get_args(ops.Position)
_EXAMPLES = {
    "message": "Free shipping this week.",
    "contact": "Questions? Write to us.",
    "poll": "Tea or coffee?",
    "newsletter": "News, twice a month.",
    "coupon": "10 % for you",
    "image": "",
}


@pages.get("/dashboard/overlays")
def list_overlays(desk: Desk) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, desk.account, desk.window())
        return page, ops.uses(tx, [one.id for one in page.items])

    page, uses = desk.read(work)
    return desk.page("overlays/list.html", page=page, uses=uses)


@pages.get("/dashboard/overlays/new")
def blank_overlay(desk: Desk) -> Response:
    """First the choice of a type, then its editor."""
    kind = next((one for one in _TYPES if one == desk.asked("type")), None)
    if kind is None:
        return desk.page("overlays/types.html")
    plain = {"position": "bottom-right", "color": "#16202c", "background": "#ffffff", "delay": "0"}
    return _editor(desk, Form({**plain, "type": kind, "message": _EXAMPLES[kind], "options": []}))


@pages.post("/dashboard/overlays/new")
def add_overlay(desk: Desk) -> Response:
    form = desk.typed(_SHAPE)

    def add() -> ops.Overlay:
        fields = form.read(NewOverlay, desk.zone, _SHAPE).sent()
        return desk.write(lambda tx: ops.add(tx, desk.account, **fields))

    overlay = form.attempt(add)
    if overlay is None:
        return desk.page("overlays/types.html") if form["type"] not in _TYPES else _editor(desk, form, status=400)
    return desk.go(f"{_LIST}/{overlay.id}", said="Your overlay is ready. Choose it in the links that should show it.")


@pages.post("/dashboard/overlays/preview")
def preview_overlay(desk: Desk) -> Response:
    """How what is typed will look; what makes no sense yet leaves the preview as it is."""
    form = desk.typed(_SHAPE)
    form.values["name"] = "preview"
    if len(form["options"]) < 2:  # not yet all typed
        form.values["options"] = ["…", "…"]
    fields = form.attempt(lambda: form.read(NewOverlay, desk.zone, _SHAPE).sent())
    return Response(status_code=204) if fields is None else desk.kit.preview("overlay", fields)


@pages.get("/dashboard/overlays/{id:int}")
def edit_overlay(desk: Desk, id: int) -> Response:
    overlay = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return _editor(desk, Form(_values(overlay)), overlay)


@pages.post("/dashboard/overlays/{id:int}")
def save_overlay(desk: Desk, id: int) -> Response:
    before = desk.read(lambda tx: ops.own(tx, desk.account, id))
    form = desk.typed(_SHAPE, now=_values(before))

    def change() -> None:
        fields = form.read(OverlayChange, desk.zone, _SHAPE).sent()
        desk.save(
            form,
            lambda tx: _values(ops.own(tx, desk.account, id)),
            lambda tx: ops.change(tx, desk.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return _editor(desk, form, before, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved. Visitors see it at once.")


@pages.get("/dashboard/overlays/{id:int}/answers")
def list_answers(desk: Desk, id: int) -> Response:
    def work(tx: Connection) -> tuple[Any, ...]:
        overlay = ops.own(tx, desk.account, id)
        votes = submissions.votes(tx, desk.account, id) if overlay.type == "poll" else {}
        return overlay, submissions.page(tx, desk.account, id, desk.window()), votes

    overlay, page, votes = desk.read(work)
    return desk.page("overlays/answers.html", overlay=overlay, page=page, votes=list(votes.items()))


@pages.get("/dashboard/overlays/{id:int}/answers/export")
def export_answers(desk: Desk, id: int) -> Response:
    desk.read(lambda tx: ops.own(tx, desk.account, id))
    headers = {"Content-Disposition": f'attachment; filename="overlay-{id}.csv"'}
    lines = submissions.export(desk.database, desk.account, id)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@pages.post("/dashboard/overlays/{id:int}/answers/bulk")
def ask_to_delete_answers(desk: Desk, id: int) -> Response:
    overlay, chosen = desk.read(lambda tx: ops.own(tx, desk.account, id)), desk.picked()
    if not chosen:
        return desk.go(_answers(id), said="Tick the answers that you mean first.", tone="bad")
    return desk.page("overlays/delete_answers.html", overlay=overlay, chosen=chosen, back=_answers(id))


@pages.post("/dashboard/overlays/{id:int}/answers/delete")
def delete_answers(desk: Desk, id: int) -> Response:
    count = desk.write(lambda tx: submissions.remove(tx, desk.account, id, desk.picked()))
    return desk.go(_answers(id), said=plural(count, "The answer is deleted.", "%(count)s answers are deleted."))


@pages.get("/dashboard/overlays/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    overlay, uses = desk.read(lambda tx: (ops.own(tx, desk.account, id), ops.uses(tx, [id])))
    return desk.page("overlays/delete.html", overlay=overlay, uses=uses.get(id, 0))


@pages.post("/dashboard/overlays/{id:int}/delete")
def delete_overlay(desk: Desk, id: int) -> Response:
    desk.write(lambda tx: ops.remove(tx, desk.account, id))
    return desk.go(_LIST, said="The overlay is deleted. Its links lead straight to their targets.")


def _answers(id: int) -> str:
    return _ANSWERS.format(id)


def _editor(desk: Desk, form: Form, overlay: ops.Overlay | None = None, *, status: int = 200) -> Response:
    kind = overlay.type if overlay else form["type"]
    told = {"kind": kind, "extras": ops.EXTRAS[str(kind)], "positions": _POSITIONS}
    return desk.page("overlays/editor.html", frames=True, status=status, overlay=overlay, form=form, **told)


def _values(overlay: ops.Overlay) -> Mapping[str, Value]:
    """What the editor shows of an overlay."""
    names = "name message label link position color background delay button thanks code image webhook".split()
    return {"type": overlay.type, "options": overlay.options, **{name: str(getattr(overlay, name)) for name in names}}
