"""The pages of splash pages: the table, and the editor with a live preview."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.pages import Pages
from waypost.splash import ops
from waypost.splash.api import NewSplash, SplashChange

pages = Pages()
_LIST = "/dashboard/splash"


@pages.get("/dashboard/splash")
def list_splash(desk: Desk) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, desk.account, desk.window())
        return page, ops.uses(tx, [one.id for one in page.items])

    page, uses = desk.read(work)
    return desk.page("splash/list.html", page=page, uses=uses)


@pages.get("/dashboard/splash/new")
def blank_splash(desk: Desk) -> Response:
    form = Form({"title": "One moment", "message": "You will be there in a few seconds.", "counter": "8", "skip": "3"})
    return desk.page("splash/editor.html", frames=True, splash=None, form=form)


@pages.post("/dashboard/splash/new")
def add_splash(desk: Desk) -> Response:
    form = desk.typed()

    def add() -> ops.Splash:
        fields = form.read(NewSplash, desk.zone).sent()
        return desk.write(lambda tx: ops.add(tx, desk.account, **fields))

    splash = form.attempt(add)
    if splash is None:
        return desk.page("splash/editor.html", frames=True, status=400, splash=None, form=form)
    return desk.go(
        f"{_LIST}/{splash.id}", said="Your splash page is ready. Choose it in the links that should show it."
    )


@pages.post("/dashboard/splash/preview")
def preview_splash(desk: Desk) -> Response:
    """How what is typed will look; what makes no sense yet leaves the preview as it is."""
    form = desk.typed()
    form.values["name"] = "preview"
    fields = form.attempt(lambda: form.read(NewSplash, desk.zone).sent())
    return Response(status_code=204) if fields is None else desk.kit.preview("splash", fields)


@pages.get("/dashboard/splash/{id:int}")
def edit_splash(desk: Desk, id: int) -> Response:
    splash = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return desk.page("splash/editor.html", frames=True, splash=splash, form=Form(_values(splash)))


@pages.post("/dashboard/splash/{id:int}")
def save_splash(desk: Desk, id: int) -> Response:
    before = desk.read(lambda tx: ops.own(tx, desk.account, id))
    form = desk.typed(now=_values(before))

    def change() -> None:
        fields = form.read(SplashChange, desk.zone).sent()
        desk.save(
            form,
            lambda tx: _values(ops.own(tx, desk.account, id)),
            lambda tx: ops.change(tx, desk.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return desk.page("splash/editor.html", frames=True, status=400, splash=before, form=form)
    return desk.go(f"{_LIST}/{id}", said="Saved. Visitors see it at once.")


@pages.get("/dashboard/splash/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    splash, uses = desk.read(lambda tx: (ops.own(tx, desk.account, id), ops.uses(tx, [id])))
    return desk.page("splash/delete.html", splash=splash, uses=uses.get(id, 0))


@pages.post("/dashboard/splash/{id:int}/delete")
def delete_splash(desk: Desk, id: int) -> Response:
    desk.write(lambda tx: ops.remove(tx, desk.account, id))
    return desk.go(_LIST, said="The splash page is deleted. Its links lead straight to their targets.")


def _values(splash: ops.Splash) -> Mapping[str, Value]:
    """What the editor shows of a splash page."""
    names = ("name", "title", "message", "counter", "skip", "link", "banner", "logo")
    return {name: str(getattr(splash, name)) for name in names}
