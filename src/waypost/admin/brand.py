"""Administration page: the brand of the installation."""

import anyio.to_thread
from starlette.responses import Response

from waypost.dashboard import brand_form
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.http.multipart import MultipartReader
from waypost.media.branding import store

pages = Router(admin_only=True)
_PATH = "/dashboard/admin/brand"


@pages.get(_PATH)
def show_brand(context: PageContext) -> Response:
    return _page(context, Form(brand_form.values(context.brand)))


@pages.stream(_PATH)
async def save_brand(context: PageContext, parts: MultipartReader) -> Response:
    fields, logo = await brand_form.receive(context, parts)
    return await anyio.to_thread.run_sync(_save, context, fields, logo)


@pages.get(_PATH + "/preview")
def preview_brand(context: PageContext) -> Response:
    """Show a page for visitors with the brand; the form has it in a frame."""
    return brand_form.preview(context, context.brand)


@pages.stream(_PATH + "/preview")
async def preview_form(context: PageContext, parts: MultipartReader) -> Response:
    fields, logo = await brand_form.receive(context, parts)
    return await anyio.to_thread.run_sync(brand_form.preview_form, context, fields, logo, context.brand)


def _save(context: PageContext, fields: dict[str, str], logo: bytes) -> Response:
    form, brand = brand_form.read(fields, logo, context.brand)
    brand_form.save(context, form, store.of_installation, lambda tx: store.set_of_installation(tx, brand))
    if form.errors:
        return _page(context, form, status=400)
    return context.redirect(_PATH, message="Saved.")


def _page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    return context.render("admin/brand.html", status=status, allow_frames=True, form=form, brand=context.brand)
