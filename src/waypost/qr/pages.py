"""Dashboard pages of QR codes: gallery, designer with preview, statistics."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, select
from starlette.responses import Response

from waypost.dashboard import qr_image, statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, from_local_input, to_local_input
from waypost.dashboard.i18n import gettext
from waypost.dashboard.routing import Router
from waypost.db.schema import files
from waypost.qr import ops, service
from waypost.qr.schemas import CodeChange, NewCode
from waypost.qrcode import vcard
from waypost.qrcode.payload_fields import sms_parts, wifi_parts
from waypost.qrcode.render import design
from waypost.qrcode.styles import PLAIN, Gradient
from waypost.urls.short_urls import short_url

pages = Router()
_LIST = "/dashboard/qr"
_PER_PAGE = 24
_PREVIEW_SIZE = 320  # pixels
_DATE_LENGTH = len("YYYY-MM-DD")
PARTS: Mapping[str, tuple[str, ...]] = {
    "link": ("link",),
    "text": ("text",),
    "vcard": (*vcard.CARD_FIELDS, "raw"),
    "wifi": ("ssid", "pass", "encryption", "hidden"),
    "email": ("email", "subject", "body"),
    "phone": ("phone",),
    "sms": ("phone", "message"),
    "whatsapp": ("phone", "message"),
    "event": ("title", "start", "end", "location", "description", "url", "raw"),
    "geo": ("lat", "lng", "name", "raw"),
    "app": ("apple", "google", "url"),
    "crypto": ("currency", "address", "amount", "label", "message", "raw"),
}
"""Parts of the content by type of code. The form's fields are called `<type>.<part>`."""
SHAPE = Shape(
    rows={**PARTS, "gradient": ("color", "type", "angle")},
    single=("data", "gradient"),
    flags=("blend", "unlogo"),
    urls=("link.link", "vcard.site", "event.url", "app.apple", "app.google", "app.url"),
)
_STYLE = ("foreground", "background", "modules", "eyes", "level", "caption")


@pages.get("/dashboard/qr")
def list_codes(context: PageContext) -> Response:
    page_request, q = context.page_request(_PER_PAGE), context.query("q")
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, page_request, q=q))
    return context.render_list("qr/list.html", page, q=q)


@pages.get("/dashboard/qr/new")
def show_new_form(context: PageContext) -> Response:
    code_type = next((name for name in PARTS if name == context.query("type")), "link")
    link = [{"link": context.query("link", max_length=8192)}]
    return _new_page(context, Form({**_default_values(), "type": code_type, "link": link}))


@pages.post("/dashboard/qr/new")
def create_code(context: PageContext) -> Response:
    form = _submitted_form(context)
    code = form.attempt(
        lambda: service.add(context, form.read(NewCode, context.time_zone, SHAPE), service.Logos(context))
    )
    if code is None:
        _assign_to_part(form)
        return _new_page(context, form, status=400)
    return context.redirect(f"{_LIST}/{code}", message="Your QR code is ready.")


@pages.post("/dashboard/qr/preview")
def preview_new_code(context: PageContext) -> Response:
    """Return the designer with a picture of the submitted code, which is not saved. A script shows only the picture."""
    form = _submitted_form(context)
    if _is_empty(form):
        return _new_page(context, form)
    preview = form.attempt(
        lambda: _draw_preview(
            service.draft(context, form.read(NewCode, context.time_zone, SHAPE), service.Logos(context))
        )
    )
    _assign_to_part(form)
    return _new_page(context, form, preview or "")


@pages.get("/dashboard/qr/{id:int}")
def show_code(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/qr/{id:int}")
def update_code(context: PageContext, id: int) -> Response:
    form = _submitted_change(context)
    if form.attempt(lambda: _update(context, id, form)) is None:
        _assign_to_part(form)
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.post("/dashboard/qr/{id:int}/preview")
def preview_code(context: PageContext, id: int) -> Response:
    """Return the same for an existing code."""
    form = _submitted_change(context)
    preview = form.attempt(lambda: _draw_preview(context.read(_draft_change(context, id, form))))
    _assign_to_part(form)
    return _edit_page(context, id, form, preview or "")


@pages.get("/dashboard/qr/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    code = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("qr/delete.html", codes=[code])


@pages.post("/dashboard/qr/bulk")
def confirm_bulk_deletion(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one QR code.", tone="bad")
    codes = context.read(lambda tx: [ops.get_owned(tx, context.account, code) for code in ids])
    return context.render("qr/delete.html", codes=codes)


@pages.post("/dashboard/qr/delete")
def delete_codes(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The QR code was deleted.", "%(count)s QR codes were deleted.")
    return trash.delete(context, "qr", ids, trash.one_by_one(ops.remove), singular=singular, plural=plural)


@pages.get("/dashboard/qr/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    code = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "qr", id, title=code.name or code.alias, back=f"{_LIST}/{id}")


def _submitted_form(context: PageContext, current: Mapping[str, Value] | None = None) -> Form:
    """Return the submitted form, with `data` built from the fields of the selected type."""
    form = context.form(SHAPE, current=current)
    rows = form[form.text("type")]
    row = dict(rows[0]) if rows and isinstance(rows[0], dict) else {}
    if form.text("type") == "event":
        row |= {
            name: from_local_input(row[name], context.time_zone)
            for name in ("start", "end")
            if len(row.get(name, "")) > _DATE_LENGTH
        }
    data = {name: value.replace("\r\n", "\n") for name, value in row.items() if value}
    form.values["data"] = [data["raw"]] if "raw" in data else [data]
    if not form.text("blend"):
        form.values["gradient"] = []
    return form


def _submitted_change(context: PageContext) -> Form:
    """Return the same for an existing code. An empty logo field keeps the logo, unless its removal is selected."""
    return _submitted_form(context, None if context.fields.get("unlogo") else {"logo": ""})


def _is_empty(form: Form) -> bool:
    """Return whether nothing was entered for the selected type yet; the currency of a payment is preset."""
    rows = form[form.text("type")]
    values = rows[0] if rows and isinstance(rows[0], dict) else {}
    return form.text("type") in PARTS and not any(value for part, value in values.items() if part != "currency")


def _assign_to_part(form: Form) -> None:
    """Replace the error of the content by one of the input that has it, if it is known."""
    code_type, message = form.text("type"), form.errors.get("data", "")
    parts = PARTS.get(code_type, ())
    match = re.match(r"data(?:\.(\w+))? ", message)
    part = (match[1] or (parts[0] if len(parts) == 1 else "")) if match else ""
    if match and part in parts:
        del form.errors["data"]
        translated = gettext(message)  # here, because the catalog has the message with its API name
        rest = translated.removeprefix(match[0]) if translated.startswith(match[0]) else message[match.end() :]
        form.errors[f"{code_type}.{part}"] = f"{code_type}.{part} {rest}"


def _draft_change(context: PageContext, id: int, form: Form) -> Callable[[Connection], ops.Draft]:
    """Return a function that builds a draft of the changed code.

    It raises INVALID if the code changed since the form was shown.
    """
    context.read(lambda tx: ops.get_owned(tx, context.account, id))  # fetch no logo for another account's code
    fields = service.Logos(context).resolve(form.read(CodeChange, context.time_zone, SHAPE))

    def work(tx: Connection) -> ops.Draft:
        form.reject_stale(_values(tx, context, id))
        return ops.draft_change(tx, context.account, id, settings=context.settings, **fields)

    return work


def _update(context: PageContext, id: int, form: Form) -> bool:
    service.change(context, id, _draft_change(context, id, form), None)
    return True


def _draw_preview(draft: ops.Draft) -> str:
    return qr_image.drawing_data_url(service.prove(draft), _PREVIEW_SIZE)


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """Return the values of the designer's fields for a stored code."""
    code = ops.get_owned(tx, context.account, id)
    gradient = {**vars(Gradient("#0d6b4f")), **(code.gradient or {})}
    return {
        **{name: getattr(code, name) for name in (*_STYLE, "name", "type")},
        "margin": str(code.margin),
        "blend": "on" if code.gradient is not None else "",
        "gradient": [{name: str(value) for name, value in gradient.items()}],
        "logo": "",
        "unlogo": "",
        code.type: [_content_fields(code, context)],
    }


def _default_values() -> Mapping[str, Value]:
    """Return the values of the designer's fields for a new code."""
    return {
        **{name: getattr(PLAIN, name) for name in _STYLE},
        "margin": str(PLAIN.margin),
        "gradient": [{name: str(value) for name, value in vars(Gradient("#0d6b4f")).items()}],
    }


def _content_fields(code: ops.Code, context: PageContext) -> dict[str, str]:
    """Return the content by the fields of its type; `raw` if it was stored as one text that cannot be split."""
    data = code.data
    if not isinstance(data, str):
        fields = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in data.items()}
        if code.type == "event":
            fields |= {name: _local_input(fields[name], context) for name in ("start", "end") if name in fields}
        return fields
    if code.type == "sms":
        return dict(zip(PARTS["sms"], sms_parts(data), strict=True))
    if code.type == "wifi":
        return dict(zip(PARTS["wifi"], wifi_parts(data), strict=False))
    if code.type in _RAW_TYPES:
        return {"raw": data}
    return {_SINGLE_FIELDS.get(code.type, code.type): data}


# Types whose text is not split, and the field of a type's text if it is not called like the type.
_RAW_TYPES = frozenset({"vcard", "event", "geo", "crypto"})
_SINGLE_FIELDS = {"whatsapp": "phone", "app": "url"}


def _local_input(value: str, context: PageContext) -> str:
    """Return a UTC time of an event as the value of a datetime-local input; dates are returned unchanged."""
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)
        return value if len(value) <= _DATE_LENGTH else to_local_input(int(moment.timestamp()), context.time_zone)
    except (ValueError, OverflowError):
        return value


def _new_page(context: PageContext, form: Form, preview: str = "", *, status: int = 200) -> Response:
    return _designer(context, form, code=None, preview=preview, status=status, has_logo=False)


def _edit_page(context: PageContext, id: int, form: Form, preview: str = "", *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Code, ops.Draft | None, bool]:
        return ops.get_owned(tx, context.account, id), ops.saved(tx, id, context.settings), ops.has_logo(tx, id)

    code, saved, has_logo = context.read_after_ingest(work)
    if saved is not None and not preview and not form.errors:
        preview = qr_image.drawing_data_url(design(saved.text, saved.style, saved.logo), _PREVIEW_SIZE)
    return _designer(context, form, code=code, preview=preview, status=status, has_logo=has_logo)


def _designer(
    context: PageContext, form: Form, *, code: ops.Code | None, preview: str, status: int, has_logo: bool
) -> Response:
    is_image = files.c.mime.in_(("image/png", "image/jpeg"))
    query = select(files.c.alias, files.c.name).where(files.c.account == context.account, files.c.purged.is_(None))
    query = query.where(is_image).order_by(files.c.id.desc()).limit(50)
    own_images = context.read(lambda tx: tx.execute(query).all())
    return context.render(
        "qr/designer.html",
        status=status,
        form=form,
        code=code,
        preview=preview,
        short_url=short_url(context.settings.base, "", None, code.alias) if code else "",
        own_images=own_images,
        has_logo=has_logo,
    )
