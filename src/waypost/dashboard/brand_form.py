"""The form of a brand, which administrators fill in for the installation and users for their domains."""

import asyncio
from collections.abc import Callable

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core.errors import Kind, Problem
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import VERSION, Form, Value
from waypost.dashboard.i18n import current_language
from waypost.http.multipart import MultipartReader, Part
from waypost.media.branding.brand import Brand, checked_color, checked_name, require_name
from waypost.media.pictures import picture_fetch


def values(brand: Brand) -> dict[str, Value]:
    """Return the values that the form shows."""
    return {"name": brand.name, "color": brand.color}


async def receive(context: PageContext, parts: MultipartReader) -> tuple[dict[str, str], bytes]:
    """Return the fields of the form and the bytes of the logo, if one is sent.

    Of a logo that is too large, one byte too many is kept, so that its validation fails.
    """
    fields: dict[str, str] = {}
    logo = b""
    while (part := await parts.next_part()) is not None:
        if part.filename is None:
            fields[part.name] = await part.text()
        elif part.filename and part.name == "logo":
            logo = await _receive_logo(part, context.settings.transfer_seconds)
    return fields, logo


def read(fields: dict[str, str], logo: bytes, stored: Brand) -> tuple[Form, Brand]:
    """Return the form and the brand in it. The form has the errors of all fields."""
    form = Form({name: fields.get(name, "") for name in values(stored)}, version=fields.get(VERSION, ""))
    name = form.attempt(lambda: checked_name(form.text("name"), field="name"))
    color = form.attempt(lambda: _chosen_color(form.text("color"), fields))
    if color is not None:
        form.values["color"] = color
    kept = "" if fields.get("removelogo") else stored.logo
    picture = form.attempt(lambda: picture_fetch.brand_logo(logo, field="logo")) if logo else kept
    brand = Brand(name or "", color or "", picture or "")
    if name is not None:
        form.attempt(lambda: require_name(brand, field="name"))
    return form, brand


def _chosen_color(typed: str, fields: dict[str, str]) -> str:
    """Return the color of the text field, or of the picker next to it if only that one was changed.

    With scripts both have the same color. Raises INVALID.
    """
    picked, before = fields.get("picked", ""), fields.get("pickedbefore", "")
    is_picked = picked != before and typed.lower() in ("", before)
    return checked_color(picked if is_picked else typed, field="color")


def save(
    context: PageContext,
    form: Form,
    stored: Callable[[Connection], Brand],
    change: Callable[[Connection], object],
) -> None:
    """Run `change` in a transaction if the form is valid. It then has an error if the brand changed in between."""
    if form.errors:
        return

    def work(tx: Connection) -> None:
        form.reject_stale(values(stored(tx)))
        change(tx)

    form.attempt(lambda: context.write(work))


def preview(context: PageContext, brand: Brand) -> Response:
    """Return a page for visitors with the brand, for a frame."""
    return context.services.preview("brand", {"brand": brand, "language": current_language.get()})


def preview_form(context: PageContext, fields: dict[str, str], logo: bytes, stored: Brand) -> Response:
    """Return a page for visitors with the brand in the form. Invalid forms get 204, which keeps the previous page."""
    form, brand = read(fields, logo, stored)
    return Response(status_code=204) if form.errors else preview(context, brand.or_else(context.brand))


async def _receive_logo(part: Part, seconds: float) -> bytes:
    """Return the bytes of the logo. Raises TOO_SLOW."""
    logo = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in part.as_request().stream():
                logo += chunk[: picture_fetch.MAX_LOGO_BYTES + 1 - len(logo)]
    except TimeoutError:
        raise Problem(Kind.TOO_SLOW, "The file arrives too slowly. Please try again.", field="logo") from None
    return bytes(logo)
