"""Page of the brand of a domain."""

import anyio.to_thread
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import brand_form
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.routing import Router
from waypost.http.multipart import MultipartReader
from waypost.items.domains import ops
from waypost.media.branding import store
from waypost.media.branding.brand import Brand

pages = Router()
_PATH = "/dashboard/domains/{id:int}/brand"


@pages.get(_PATH)
def show_brand(context: PageContext, id: int) -> Response:
    domain, brand = _read(context, id)
    return _page(context, domain, brand, Form(brand_form.values(brand)))


@pages.stream(_PATH)
async def save_brand(context: PageContext, parts: MultipartReader, id: int) -> Response:
    domain, stored = await anyio.to_thread.run_sync(_read, context, id)
    fields, logo = await brand_form.receive(context, parts)
    return await anyio.to_thread.run_sync(_save, context, domain, stored, fields, logo)


@pages.get(_PATH + "/preview")
def preview_brand(context: PageContext, id: int) -> Response:
    """Show a page for visitors of the domain; the form has it in a frame."""
    return brand_form.preview(context, _read(context, id)[1].or_else(context.brand))


@pages.stream(_PATH + "/preview")
async def preview_form(context: PageContext, parts: MultipartReader, id: int) -> Response:
    _, stored = await anyio.to_thread.run_sync(_read, context, id)
    fields, logo = await brand_form.receive(context, parts)
    return await anyio.to_thread.run_sync(brand_form.preview_form, context, fields, logo, stored)


def _read(context: PageContext, id: int) -> tuple[ops.Domain, Brand]:
    """Return the account's domain and its own brand. Raises NOT_FOUND."""

    def work(tx: Connection) -> tuple[ops.Domain, Brand]:
        return ops.get_owned(tx, context.account, id), store.of_domain(tx, context.account, id)

    return context.read(work)


def _save(context: PageContext, domain: ops.Domain, stored: Brand, fields: dict[str, str], logo: bytes) -> Response:
    form, brand = brand_form.read(fields, logo, stored)

    def read(tx: Connection) -> Brand:
        return store.of_domain(tx, context.account, domain.id)

    def change(tx: Connection) -> None:
        fields: ops.Fields = {"brandname": brand.name, "brandcolor": brand.color, "brandlogo": brand.logo}
        ops.change(tx, context.account, domain.id, settings=context.settings, **fields)

    brand_form.save(context, form, read, change)
    if form.errors:
        return _page(context, domain, stored, form, status=400)
    return context.redirect(f"/dashboard/domains/{domain.id}/brand", message="Saved.")


def _page(context: PageContext, domain: ops.Domain, brand: Brand, form: Form, *, status: int = 200) -> Response:
    values = {"domain": domain, "brand": brand, "form": form}
    return context.render("domains/brand.html", status=status, allow_frames=True, **values)
