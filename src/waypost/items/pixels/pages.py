"""Pages of pixels: the list and the editor, which says where each provider shows its tag."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Value
from waypost.dashboard.routing import Router
from waypost.items.pixels import ops
from waypost.items.pixels.api import NewPixel, PixelChange

pages = Router()
_LIST = "/dashboard/pixels"


class Provider(NamedTuple):
    """A provider of pixels: its usual name, an example of a tag, and where its users find their tag."""

    name: str
    example: str
    location: str


PROVIDERS = {
    "tagmanagerpixel": Provider("Google Tag Manager", "GTM-ABC1234", "At the top of the workspace, next to its name."),
    "analyticspixel": Provider("Google Analytics", "G-ABC1234567", "Admin, Data streams, your stream: Measurement ID."),
    "socialapixel": Provider(
        "Meta (Facebook)", "1234567890123456", "Events Manager, Data sources: the number below the name."
    ),
    "searchadspixel": Provider(
        "Google Ads", "AW-123456789", "Goals, Conversions, Tag setup: the part that starts with AW-."
    ),
    "professionalpixel": Provider("LinkedIn", "1234567", "Campaign Manager, Analyze, Insight Tag: Partner ID."),
    "microblogpixel": Provider("X (Twitter)", "o1abc", "Ads Manager, Tools, Events Manager: Pixel ID."),
    "retargetpixel": Provider(
        "AdRoll", "ABC123DEF456/GHI789", "Settings, Pixel: adroll_adv_id, a slash, adroll_pix_id."
    ),
    "qapixel": Provider("Quora", "abc123def456", "Ads Manager, Quora Pixel, Setup: the ID in qp('init')."),
    "boardpixel": Provider("Pinterest", "2612345678901", "Ads, Conversions, Pinterest tag: the Tag ID."),
    "searchenginepixel": Provider("Microsoft Advertising (Bing)", "12345678", "Conversions, UET tags: the Tag ID."),
    "ephemeralpixel": Provider("Snapchat", "abcd1234-ab12-cd34-ef56", "Ads Manager, Events Manager: Pixel ID."),
    "forumpixel": Provider("Reddit", "t2_abc123", "Ads Manager, Events Manager: Pixel ID."),
    "shortvideopixel": Provider("TikTok", "C1ABCDEFGH2IJKLMN", "Ads Manager, Tools, Events: Pixel ID."),
}


@pages.get("/dashboard/pixels")
def list_pixels(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.uses(tx, context.account, [pixel.id for pixel in page.items])

    page, uses = context.read(work)
    return context.render_list("pixels/list.html", page, uses=uses, providers=PROVIDERS)


@pages.get("/dashboard/pixels/new")
def blank_pixel(context: PageContext) -> Response:
    provider = context.query("type")
    return context.render(
        "pixels/new.html", form=Form({"type": provider if provider in PROVIDERS else ""}), providers=PROVIDERS
    )


@pages.post("/dashboard/pixels/new", resumable=True)
def add_pixel(context: PageContext) -> Response:
    form = context.form()
    if context.create(form, NewPixel, ops.add) is None:
        return context.render("pixels/new.html", status=400, form=form, providers=PROVIDERS)
    return context.redirect(_LIST, message="Your pixel is ready. Select it in the links that should use it.")


@pages.get("/dashboard/pixels/{id:int}")
def edit_pixel(context: PageContext, id: int) -> Response:
    pixel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("pixels/edit.html", pixel=pixel, form=Form(_values(pixel)), providers=PROVIDERS)


@pages.post("/dashboard/pixels/{id:int}", resumable=True)
def save_pixel(context: PageContext, id: int) -> Response:
    pixel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    # The tag always counts as changed: the API requires it in every update.
    form = context.form(current={"name": pixel.name})

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, PixelChange, ops.change, id, stored):
        return context.render("pixels/edit.html", status=400, pixel=pixel, form=form, providers=PROVIDERS)
    return context.redirect(_LIST, message="Saved.")


@pages.get("/dashboard/pixels/{id:int}/delete")
def confirm_delete(context: PageContext, id: int) -> Response:
    account = context.account
    pixel, uses = context.read(lambda tx: (ops.get_owned(tx, account, id), ops.uses(tx, account, [id])))
    return context.render("pixels/delete.html", pixel=pixel, uses=uses.get(id, 0))


@pages.post("/dashboard/pixels/{id:int}/delete")
def delete_pixel(context: PageContext, id: int) -> Response:
    remove = trash.one_by_one(ops.remove)
    return trash.delete(
        context, "pixel", [id], remove, singular="The pixel was deleted. Links that used it work without it."
    )


def _values(pixel: ops.Pixel) -> Mapping[str, Value]:
    """Return the values that the editor shows."""
    return {"name": pixel.name, "tag": pixel.tag}
