"""The pages of overlays: the table, the editor of each type with a live preview, and what visitors sent."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import plural
from waypost.dashboard.routing import Router
from waypost.overlays import ops, submissions
from waypost.overlays.api import NewOverlay, OverlayChange

pages = Router()
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
def list_overlays(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.uses(tx, [one.id for one in page.items])

    page, uses = context.read(work)
    return context.render("overlays/list.html", page=page, uses=uses)


@pages.get("/dashboard/overlays/new")
def blank_overlay(context: PageContext) -> Response:
    """First the choice of a type, then its editor."""
    kind = next((one for one in _TYPES if one == context.query("type")), None)
    if kind is None:
        return context.render("overlays/types.html")
    plain = {"position": "bottom-right", "color": "#16202c", "background": "#ffffff", "delay": "0"}
    return _editor(context, Form({**plain, "type": kind, "message": _EXAMPLES[kind], "options": []}))


@pages.post("/dashboard/overlays/new")
def add_overlay(context: PageContext) -> Response:
    form = context.form(_SHAPE)

    def add() -> ops.Overlay:
        fields = form.read(NewOverlay, context.time_zone, _SHAPE).sent()
        return context.write(lambda tx: ops.add(tx, context.account, **fields))

    overlay = form.attempt(add)
    if overlay is None:
        return (
            context.render("overlays/types.html") if form["type"] not in _TYPES else _editor(context, form, status=400)
        )
    return context.redirect(
        f"{_LIST}/{overlay.id}", said="Your overlay is ready. Choose it in the links that should show it."
    )


@pages.post("/dashboard/overlays/preview")
def preview_overlay(context: PageContext) -> Response:
    """How what is typed will look; what makes no sense yet leaves the preview as it is."""
    form = context.form(_SHAPE)
    form.values["name"] = "preview"
    if len(form["options"]) < 2:  # not yet all typed
        form.values["options"] = ["…", "…"]
    fields = form.attempt(lambda: form.read(NewOverlay, context.time_zone, _SHAPE).sent())
    return Response(status_code=204) if fields is None else context.services.preview("overlay", fields)


@pages.get("/dashboard/overlays/{id:int}")
def edit_overlay(context: PageContext, id: int) -> Response:
    overlay = context.read(lambda tx: ops.own(tx, context.account, id))
    return _editor(context, Form(_values(overlay)), overlay)


@pages.post("/dashboard/overlays/{id:int}")
def save_overlay(context: PageContext, id: int) -> Response:
    before = context.read(lambda tx: ops.own(tx, context.account, id))
    form = context.form(_SHAPE, now=_values(before))

    def change() -> None:
        fields = form.read(OverlayChange, context.time_zone, _SHAPE).sent()
        context.save(
            form,
            lambda tx: _values(ops.own(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return _editor(context, form, before, status=400)
    return context.redirect(f"{_LIST}/{id}", said="Saved. Visitors see it at once.")


@pages.get("/dashboard/overlays/{id:int}/answers")
def list_answers(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[Any, ...]:
        overlay = ops.own(tx, context.account, id)
        votes = submissions.votes(tx, context.account, id) if overlay.type == "poll" else {}
        return overlay, submissions.page(tx, context.account, id, context.page_request()), votes

    overlay, page, votes = context.read(work)
    return context.render("overlays/answers.html", overlay=overlay, page=page, votes=list(votes.items()))


@pages.get("/dashboard/overlays/{id:int}/answers/export")
def export_answers(context: PageContext, id: int) -> Response:
    context.read(lambda tx: ops.own(tx, context.account, id))
    headers = {"Content-Disposition": f'attachment; filename="overlay-{id}.csv"'}
    lines = submissions.export(context.database, context.account, id)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@pages.post("/dashboard/overlays/{id:int}/answers/bulk")
def ask_to_delete_answers(context: PageContext, id: int) -> Response:
    overlay, chosen = context.read(lambda tx: ops.own(tx, context.account, id)), context.selected_ids()
    if not chosen:
        return context.redirect(_answers(id), said="Tick the answers that you mean first.", tone="bad")
    return context.render("overlays/delete_answers.html", overlay=overlay, chosen=chosen, back=_answers(id))


@pages.post("/dashboard/overlays/{id:int}/answers/delete")
def delete_answers(context: PageContext, id: int) -> Response:
    count = context.write(lambda tx: submissions.remove(tx, context.account, id, context.selected_ids()))
    return context.redirect(
        _answers(id), said=plural(count, "The answer is deleted.", "%(count)s answers are deleted.")
    )


@pages.get("/dashboard/overlays/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    overlay, uses = context.read(lambda tx: (ops.own(tx, context.account, id), ops.uses(tx, [id])))
    return context.render("overlays/delete.html", overlay=overlay, uses=uses.get(id, 0))


@pages.post("/dashboard/overlays/{id:int}/delete")
def delete_overlay(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, said="The overlay is deleted. Its links lead straight to their targets.")


def _answers(id: int) -> str:
    return _ANSWERS.format(id)


def _editor(context: PageContext, form: Form, overlay: ops.Overlay | None = None, *, status: int = 200) -> Response:
    kind = overlay.type if overlay else form["type"]
    told = {"kind": kind, "extras": ops.EXTRAS[str(kind)], "positions": _POSITIONS}
    return context.render("overlays/editor.html", frames=True, status=status, overlay=overlay, form=form, **told)


def _values(overlay: ops.Overlay) -> Mapping[str, Value]:
    """What the editor shows of an overlay."""
    names = "name message label link position color background delay button thanks code image webhook".split()
    return {"type": overlay.type, "options": overlay.options, **{name: str(getattr(overlay, name)) for name in names}}
