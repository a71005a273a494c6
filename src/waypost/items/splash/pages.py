"""Dashboard pages of splash pages: list, editor with preview."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import current_language, gettext
from waypost.dashboard.routing import Router
from waypost.items.splash import ops
from waypost.items.splash.api import NewSplash, SplashChange

pages = Router()
_LIST = "/dashboard/splash"
_SHAPE = Shape(urls=("link", "banner", "logo"))


@pages.get("/dashboard/splash")
def list_splash(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.uses(tx, context.account, [splash.id for splash in page.items])

    page, use_counts = context.read(work)
    return context.render_list("splash/list.html", page, use_counts=use_counts)


@pages.get("/dashboard/splash/new")
def show_new_form(context: PageContext) -> Response:
    title, message = gettext("One moment"), gettext("You will be redirected in a few seconds.")
    form = Form({"title": title, "message": message, "counter": "8", "skip": "3"})
    return context.render("splash/editor.html", allow_frames=True, splash=None, form=form)


@pages.post("/dashboard/splash/new", resumable=True)
def create_splash(context: PageContext) -> Response:
    form = context.form(_SHAPE)
    splash = context.create(form, NewSplash, ops.add)
    if splash is None:
        return context.render("splash/editor.html", allow_frames=True, status=400, splash=None, form=form)
    return context.redirect(
        f"{_LIST}/{splash.id}", message="Your splash page is ready. Select it in the links that should show it."
    )


@pages.post("/dashboard/splash/preview")
def preview_splash(context: PageContext) -> Response:
    """Render the submitted form for the preview. Invalid forms return 204, which keeps the previous preview."""
    form = context.form(_SHAPE)
    form.values["name"] = "preview"
    fields = form.attempt(lambda: form.read(NewSplash, context.time_zone).sent())
    return (
        Response(status_code=204)
        if fields is None
        else context.services.preview("splash", {**fields, "brand": context.brand, "language": current_language.get()})
    )


@pages.get("/dashboard/splash/{id:int}")
def show_splash(context: PageContext, id: int) -> Response:
    splash = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("splash/editor.html", allow_frames=True, splash=splash, form=Form(_values(splash)))


@pages.post("/dashboard/splash/{id:int}", resumable=True)
def update_splash(context: PageContext, id: int) -> Response:
    splash = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    form = context.form(_SHAPE, current=_values(splash))

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, SplashChange, ops.change, id, stored):
        return context.render("splash/editor.html", allow_frames=True, status=400, splash=splash, form=form)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.get("/dashboard/splash/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    account = context.account
    splash, use_counts = context.read(lambda tx: (ops.get_owned(tx, account, id), ops.uses(tx, account, [id])))
    return context.render("splash/delete.html", splash=splash, use_count=use_counts.get(id, 0))


@pages.post("/dashboard/splash/{id:int}/delete")
def delete_splash(context: PageContext, id: int) -> Response:
    remove = trash.one_by_one(ops.remove)
    return trash.delete(
        context, "splash", [id], remove, singular="The splash page was deleted. Its links redirect directly."
    )


def _values(splash: ops.Splash) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    names = ("name", "title", "message", "counter", "skip", "link", "banner", "logo")
    return {name: str(getattr(splash, name)) for name in names}
