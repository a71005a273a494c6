"""Dashboard pages of overlays: list, editor with preview, submissions of visitors."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import downloads, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import current_language, gettext, ngettext
from waypost.dashboard.routing import Router
from waypost.items.overlays import ops, submissions
from waypost.items.overlays.api import NewOverlay, OverlayChange

pages = Router()
_SHAPE = Shape(lists=("options",), urls=("link", "image", "webhook"))
_LIST = "/dashboard/overlays"
_SUBMISSIONS = "/dashboard/overlays/{}/answers"
_TYPES: tuple[ops.Type, ...] = get_args(ops.Type)
# The text of a new overlay by type.
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
        return page, ops.uses(tx, context.account, [overlay.id for overlay in page.items])

    page, use_counts = context.read(work)
    return context.render_list("overlays/list.html", page, use_counts=use_counts)


@pages.get("/dashboard/overlays/new")
def show_new_form(context: PageContext) -> Response:
    """Show the list of types, or the editor of the type in the query."""
    overlay_type = next((name for name in _TYPES if name == context.query("type")), None)
    if overlay_type is None:
        return context.render("overlays/types.html")
    defaults = {"position": "bottom-right", "color": "#16202c", "background": "#ffffff", "delay": "0"}
    return _editor(
        context, Form({**defaults, "type": overlay_type, "message": gettext(_EXAMPLES[overlay_type]), "options": []})
    )


@pages.post("/dashboard/overlays/new", resumable=True)
def create_overlay(context: PageContext) -> Response:
    form = context.form(_SHAPE)
    overlay = context.create(form, NewOverlay, ops.add, _SHAPE)
    if overlay is None:
        if form["type"] not in _TYPES:
            return context.render("overlays/types.html")
        return _editor(context, form, status=400)
    return context.redirect(
        f"{_LIST}/{overlay.id}", message="Your overlay is ready. Select it in the links that should show it."
    )


@pages.post("/dashboard/overlays/preview")
def preview_overlay(context: PageContext) -> Response:
    """Render the submitted form for the preview. Invalid forms return 204, which keeps the previous preview."""
    form = context.form(_SHAPE)
    form.values["name"] = "preview"
    if len(form["options"]) < 2:  # a poll needs two
        form.values["options"] = ["…", "…"]
    fields = form.attempt(lambda: form.read(NewOverlay, context.time_zone, _SHAPE).sent())
    if fields is None:
        return Response(status_code=204)
    return context.services.preview("overlay", {**fields, "brand": context.brand, "language": current_language.get()})


@pages.get("/dashboard/overlays/{id:int}")
def show_overlay(context: PageContext, id: int) -> Response:
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return _editor(context, Form(_values(overlay)), overlay)


@pages.post("/dashboard/overlays/{id:int}", resumable=True)
def update_overlay(context: PageContext, id: int) -> Response:
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    form = context.form(_SHAPE, current=_values(overlay))

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, OverlayChange, ops.change, id, stored, _SHAPE):
        return _editor(context, form, overlay, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.get("/dashboard/overlays/{id:int}/answers")
def list_submissions(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[Any, ...]:
        overlay = ops.get_owned(tx, context.account, id)
        votes = submissions.count_votes(tx, context.account, id) if overlay.type == "poll" else {}
        return overlay, submissions.list_submissions(tx, context.account, id, context.page_request()), votes

    overlay, page, votes = context.read(work)
    return context.render("overlays/submissions.html", overlay=overlay, page=page, votes=list(votes.items()))


@pages.get("/dashboard/overlays/{id:int}/answers/export", snapshot=False)
def export_submissions(context: PageContext, id: int) -> Response:
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return downloads.csv_file(overlay.name, submissions.export(context.database, context.account, id))


@pages.post("/dashboard/overlays/{id:int}/answers/bulk")
def confirm_deletion_of_submissions(context: PageContext, id: int) -> Response:
    overlay, ids = context.read(lambda tx: ops.get_owned(tx, context.account, id)), context.selected_ids()
    if not ids:
        return context.redirect(_SUBMISSIONS.format(id), message="Select at least one submission.", tone="bad")
    return context.render("overlays/delete_submissions.html", overlay=overlay, selected_ids=ids)


@pages.post("/dashboard/overlays/{id:int}/answers/delete")
def delete_submissions(context: PageContext, id: int) -> Response:
    count = context.write(lambda tx: submissions.remove(tx, context.account, id, context.selected_ids()))
    message = ngettext("The submission was deleted.", "%(count)s submissions were deleted.", count)
    return context.redirect(_SUBMISSIONS.format(id), message=message)


@pages.get("/dashboard/overlays/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    account = context.account
    overlay, use_counts = context.read(lambda tx: (ops.get_owned(tx, account, id), ops.uses(tx, account, [id])))
    return context.render("overlays/delete.html", overlay=overlay, use_count=use_counts.get(id, 0))


@pages.post("/dashboard/overlays/{id:int}/delete")
def delete_overlay(context: PageContext, id: int) -> Response:
    remove = trash.one_by_one(ops.remove)
    return trash.delete(
        context, "overlay", [id], remove, singular="The overlay was deleted. Its links redirect directly."
    )


def _editor(context: PageContext, form: Form, overlay: ops.Overlay | None = None, *, status: int = 200) -> Response:
    overlay_type = str(overlay.type if overlay else form["type"])
    return context.render(
        "overlays/editor.html",
        allow_frames=True,
        status=status,
        overlay=overlay,
        form=form,
        type=overlay_type,
        extras=ops.EXTRAS[overlay_type],
    )


def _values(overlay: ops.Overlay) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    names = "name message label link position color background delay button thanks code image webhook".split()
    return {"type": overlay.type, "options": overlay.options, **{name: str(getattr(overlay, name)) for name in names}}
