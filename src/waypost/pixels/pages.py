"""The pages of pixels: the table, and the editor that says where each provider shows its tag."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.routing import Router
from waypost.pixels import ops
from waypost.pixels.api import NewPixel, PixelChange

pages = Router()
_LIST = "/dashboard/pixels"
# For each type: what people call it, what a tag looks like, and where its provider shows it.
KINDS = {
    "tagmanagerpixel": ("Google Tag Manager", "GTM-ABC1234", "At the top of the workspace, beside its name."),
    "analyticspixel": ("Google Analytics", "G-ABC1234567", "Admin, Data streams, your stream: Measurement ID."),
    "socialapixel": ("Meta (Facebook)", "1234567890123456", "Events Manager, Data sources: the number under the name."),
    "searchadspixel": ("Google Ads", "AW-123456789", "Goals, Conversions, Tag setup: the part that begins with AW-."),
    "professionalpixel": ("LinkedIn", "1234567", "Campaign Manager, Analyze, Insight Tag: Partner ID."),
    "microblogpixel": ("X (Twitter)", "o1abc", "Ads Manager, Tools, Events Manager: Pixel ID."),
    "retargetpixel": ("AdRoll", "ABC123DEF456/GHI789", "Settings, Pixel: adroll_adv_id, a slash, adroll_pix_id."),
    "qapixel": ("Quora", "abc123def456", "Ads Manager, Quora Pixel, Setup: the ID in qp('init')."),
    "boardpixel": ("Pinterest", "2612345678901", "Ads, Conversions, Pinterest tag: the Tag ID."),
    "searchenginepixel": ("Microsoft Advertising (Bing)", "12345678", "Conversions, UET tags: the Tag ID."),
    "ephemeralpixel": ("Snapchat", "abcd1234-ab12-cd34-ef56", "Ads Manager, Events Manager: Pixel ID."),
    "forumpixel": ("Reddit", "t2_abc123", "Ads Manager, Events Manager: Pixel ID."),
    "shortvideopixel": ("TikTok", "C1ABCDEFGH2IJKLMN", "Ads Manager, Tools, Events: Pixel ID."),
}


@pages.get("/dashboard/pixels")
def list_pixels(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.uses(tx, [one.id for one in page.items])

    page, uses = context.read(work)
    return context.render("pixels/list.html", page=page, uses=uses, kinds=KINDS)


@pages.get("/dashboard/pixels/new")
def blank_pixel(context: PageContext) -> Response:
    kind = context.query("type")
    return context.render("pixels/new.html", form=Form({"type": kind if kind in KINDS else ""}), kinds=KINDS)


@pages.post("/dashboard/pixels/new")
def add_pixel(context: PageContext) -> Response:
    form = context.form()

    def add() -> ops.Pixel:
        fields = form.read(NewPixel, context.time_zone).sent()
        return context.write(lambda tx: ops.add(tx, context.account, **fields))

    if form.attempt(add) is None:
        return context.render("pixels/new.html", status=400, form=form, kinds=KINDS)
    return context.redirect(_LIST, said="Your pixel is ready. Choose it in the links that should start it.")


@pages.get("/dashboard/pixels/{id:int}")
def edit_pixel(context: PageContext, id: int) -> Response:
    pixel = context.read(lambda tx: ops.own(tx, context.account, id))
    return context.render("pixels/edit.html", pixel=pixel, form=Form(_values(pixel)), kinds=KINDS)


@pages.post("/dashboard/pixels/{id:int}")
def save_pixel(context: PageContext, id: int) -> Response:
    before = context.read(lambda tx: ops.own(tx, context.account, id))
    # The tag is always sent on: the API wants it in every change.
    form = context.form(now={"name": before.name})

    def change() -> None:
        fields = form.read(PixelChange, context.time_zone).sent()
        context.save(
            form,
            lambda tx: _values(ops.own(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return context.render("pixels/edit.html", status=400, pixel=before, form=form, kinds=KINDS)
    return context.redirect(_LIST, said="Saved.")


@pages.get("/dashboard/pixels/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    pixel, uses = context.read(lambda tx: (ops.own(tx, context.account, id), ops.uses(tx, [id])))
    return context.render("pixels/delete.html", pixel=pixel, uses=uses.get(id, 0))


@pages.post("/dashboard/pixels/{id:int}/delete")
def delete_pixel(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, said="The pixel is deleted. Links that had it go on without.")


def _values(pixel: ops.Pixel) -> Mapping[str, Value]:
    """What the editor shows of a pixel."""
    return {"name": pixel.name, "tag": pixel.tag}
