"""The pages of splash pages: the table, and the editor with a live preview."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.routing import Router
from waypost.splash import ops
from waypost.splash.api import NewSplash, SplashChange

pages = Router()
_LIST = "/dashboard/splash"


@pages.get("/dashboard/splash")
def list_splash(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.uses(tx, [one.id for one in page.items])

    page, uses = context.read(work)
    return context.render("splash/list.html", page=page, uses=uses)


@pages.get("/dashboard/splash/new")
def blank_splash(context: PageContext) -> Response:
    form = Form({"title": "One moment", "message": "You will be there in a few seconds.", "counter": "8", "skip": "3"})
    return context.render("splash/editor.html", frames=True, splash=None, form=form)


@pages.post("/dashboard/splash/new")
def add_splash(context: PageContext) -> Response:
    form = context.form()

    def add() -> ops.Splash:
        fields = form.read(NewSplash, context.time_zone).sent()
        return context.write(lambda tx: ops.add(tx, context.account, **fields))

    splash = form.attempt(add)
    if splash is None:
        return context.render("splash/editor.html", frames=True, status=400, splash=None, form=form)
    return context.redirect(
        f"{_LIST}/{splash.id}", said="Your splash page is ready. Choose it in the links that should show it."
    )


@pages.post("/dashboard/splash/preview")
def preview_splash(context: PageContext) -> Response:
    """How what is typed will look; what makes no sense yet leaves the preview as it is."""
    form = context.form()
    form.values["name"] = "preview"
    fields = form.attempt(lambda: form.read(NewSplash, context.time_zone).sent())
    return Response(status_code=204) if fields is None else context.services.preview("splash", fields)


@pages.get("/dashboard/splash/{id:int}")
def edit_splash(context: PageContext, id: int) -> Response:
    splash = context.read(lambda tx: ops.own(tx, context.account, id))
    return context.render("splash/editor.html", frames=True, splash=splash, form=Form(_values(splash)))


@pages.post("/dashboard/splash/{id:int}")
def save_splash(context: PageContext, id: int) -> Response:
    before = context.read(lambda tx: ops.own(tx, context.account, id))
    form = context.form(now=_values(before))

    def change() -> None:
        fields = form.read(SplashChange, context.time_zone).sent()
        context.save(
            form,
            lambda tx: _values(ops.own(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return context.render("splash/editor.html", frames=True, status=400, splash=before, form=form)
    return context.redirect(f"{_LIST}/{id}", said="Saved. Visitors see it at once.")


@pages.get("/dashboard/splash/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    splash, uses = context.read(lambda tx: (ops.own(tx, context.account, id), ops.uses(tx, [id])))
    return context.render("splash/delete.html", splash=splash, uses=uses.get(id, 0))


@pages.post("/dashboard/splash/{id:int}/delete")
def delete_splash(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, said="The splash page is deleted. Its links lead straight to their targets.")


def _values(splash: ops.Splash) -> Mapping[str, Value]:
    """What the editor shows of a splash page."""
    names = ("name", "title", "message", "counter", "skip", "link", "banner", "logo")
    return {name: str(getattr(splash, name)) for name in names}
