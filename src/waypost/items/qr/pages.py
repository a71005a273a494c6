"""Dashboard pages of QR codes: gallery, designer with preview, statistics."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, select
from starlette.responses import Response

from waypost.dashboard import presets, statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, from_local_input, parse_id
from waypost.dashboard.i18n import gettext_noop
from waypost.dashboard.presets import PresetName
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.db.schema import files
from waypost.items.qr import designer, gallery_download, ops, service
from waypost.items.qr.form import (
    DATE_LENGTH,
    PARTS,
    assign_content_errors,
    assign_error_to_part,
    content_fields,
    keep_times,
)
from waypost.items.qr.schemas import CodeChange, NewCode
from waypost.media.qrcode import render
from waypost.media.qrcode.render import Drawing, design, must_scan
from waypost.media.qrcode.styles import PLAIN, Gradient
from waypost.urls import alias_namespace
from waypost.urls.short_urls import short_url

T = TypeVar("T")
B = TypeVar("B", bound=CodeChange)
pages = Router()
_LIST = "/dashboard/qr"
_PER_PAGE = 24
_PREVIEW_SIZE = 320  # pixels
SHAPE = Shape(
    rows={**PARTS, "gradient": ("color", "type", "angle")},
    single=("data", "gradient"),
    flags=("blend", "unlogo"),
    urls=("link.link", "vcard.site", "event.url", "app.apple", "app.google", "app.url", "logo"),
    exact=("wifi.ssid", "wifi.pass"),
)
_STYLE = ("foreground", "background", "modules", "eyes", "level", "caption")
_STYLE_FIELDS = frozenset({*_STYLE, "margin", "gradient", "logo"})
_STYLE_NAME = "style_name"


@pages.get("/dashboard/qr")
def list_codes(context: PageContext) -> Response:
    page_request, q = context.page_request(_PER_PAGE), context.query("q")

    def work(tx: Connection) -> Page[ops.Listed]:
        return ops.page(tx, context.account, page_request, words=context.search_words(tx, q))

    page = context.read_after_ingest(work)
    return context.render_list("qr/list.html", page, q=q)


@pages.get("/dashboard/qr/export", snapshot=False)
def download_codes(context: PageContext) -> Response:
    kind = context.query("format")
    return gallery_download.of_search(context, context.query("q"), kind if kind in gallery_download.SIZES else "svg")


@pages.get("/dashboard/qr/new")
def show_new_form(context: PageContext) -> Response:
    code_type = next((name for name in PARTS if name == context.query("type")), "link")
    link = [{"link": context.query("link", max_length=8192)}]
    form = Form({**_default_values(), "type": code_type, "link": link})
    return _new_page(context, form, render.drawing_data_url(design(context.settings.base), _PREVIEW_SIZE))


@pages.post("/dashboard/qr/new", resumable=True)
def create_code(context: PageContext) -> Response:
    form = _submitted_form(context)

    def work(body: NewCode) -> int:
        context.reject_resumed()
        if not form.errors:
            return service.add(context, body)
        draft = service.draft(context, body)
        _prove(form, draft)
        is_alias = {"host": alias_namespace.OWN, "alias": draft.alias}
        context.read(lambda tx: alias_namespace.require_free(tx, context.account, **is_alias))
        return 0

    code = _collect(context, form, NewCode, work)
    if code is None:
        return _new_page(context, form, status=400)
    return context.redirect(f"{_LIST}/{code}", message="Your QR code is ready.")


@pages.post("/dashboard/qr/preview")
def preview_new_code(context: PageContext) -> Response:
    """Return the designer with a picture of the submitted code, which is not saved. A script shows only the picture."""
    return _preview_new(context, _submitted_form(context))


def _preview_new(context: PageContext, form: Form, message: str = "") -> Response:
    sample, preview = _sample(context, form) if _is_empty(form) else form, _Preview()
    _collect(context, sample, NewCode, lambda body: preview.draw(sample, service.draft(context, body)))
    form.errors.update(sample.errors)
    return _new_page(context, form, preview.picture, message=message)


@pages.get("/dashboard/qr/{id:int}")
def show_code(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/qr/{id:int}", resumable=True)
def update_code(context: PageContext, id: int) -> Response:
    form = _submitted_change(context)
    if form.text("type") == "event":
        code = context.read(lambda tx: ops.get_owned(tx, context.account, id))
        keep_times(form, code.data if code.type == "event" else {}, context.time_zone)

    def work(body: CodeChange) -> bool:
        context.reject_resumed()
        draft = _draft_change(context, id, form, body)
        if form.errors:
            _prove(form, context.read(draft))
        else:
            context.run(service.change(context, id, draft, None))
        return True

    if not _collect(context, form, CodeChange, work):
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.post("/dashboard/qr/{id:int}/preview")
def preview_code(context: PageContext, id: int) -> Response:
    """Return the same for an existing code."""
    return _preview_change(context, id, _submitted_change(context))


def _preview_change(context: PageContext, id: int, form: Form, message: str = "") -> Response:
    preview = _Preview()

    def work(body: CodeChange) -> None:
        preview.draw(form, context.read(_draft_change(context, id, form, body)))

    _collect(context, form, CodeChange, work)
    return _edit_page(context, id, form, preview.picture, message=message)


@pages.post("/dashboard/qr/styles")
def save_style(context: PageContext) -> Response:
    """Save the style in the form under a name."""
    form = _designed_form(context)
    sample = _sample(context, form)
    _collect(context, sample, NewCode, lambda body: _prove(sample, service.draft(context, body)))
    faults = {name: text for name, text in sample.errors.items() if name in _STYLE_FIELDS}
    form.errors.update(faults)
    settings = designer.style_settings(form, logo=_logo_of_style(context, form))

    def work(tx: Connection, name: str) -> None:
        presets.save(tx, context.account, "qr", name, settings)

    if not faults:
        _with_style_name(context, form, work)
    return _styled(context, form, "The style was saved.")


@pages.post("/dashboard/qr/styles/apply/{style:int}")
def apply_style(context: PageContext, style: int) -> Response:
    """Fill in the fields of a style. A script does the same."""
    form = _designed_form(context)
    saved = context.read(lambda tx: presets.get_owned(tx, context.account, "qr", style))
    designer.apply_style(form, saved.settings)
    return _styled(context, form)


@pages.post("/dashboard/qr/styles/rename")
def rename_style(context: PageContext) -> Response:
    form = _designed_form(context)
    style = parse_id(form.text("style")) or 0

    def work(tx: Connection, name: str) -> None:
        presets.rename(tx, context.account, "qr", style, name)

    _with_style_name(context, form, work)
    return _styled(context, form, "The style was renamed.")


@pages.post("/dashboard/qr/styles/delete")
def delete_style(context: PageContext) -> Response:
    form = _designed_form(context)
    style = parse_id(form.text("style")) or 0
    context.write(lambda tx: presets.remove(tx, context.account, "qr", style))
    return _styled(context, form, "The style was deleted.")


def _designed_form(context: PageContext) -> Form:
    """Return the form of the designer, which may be that of the code in the query."""
    return _submitted_form(context) if context.query_id("code") is None else _submitted_change(context)


def _logo_of_style(context: PageContext, form: Form) -> int | None:
    """Return the code with the logo of the form: the selected one, or else the edited one if it keeps its logo."""
    former, code = parse_id(form.text("former")), context.query_id("code")
    if former is not None or code is None or form.text("logo") or form.text("unlogo"):
        return former
    return code if context.read(lambda tx: ops.has_logo(tx, context.account, code)) else None


def _with_style_name(context: PageContext, form: Form, work: Callable[[Connection, str], None]) -> None:
    """Run `work` with the name of a style, in a transaction. The form gets the error of the name."""
    named = Form({"name": form.text(_STYLE_NAME)})
    context.submit(named, PresetName, lambda tx, fields: work(tx, str(fields["name"])))
    if named.errors:
        message = next(iter(named.errors.values()))
        form.errors[_STYLE_NAME] = message.replace("name ", f"{_STYLE_NAME} ", 1)


def _styled(context: PageContext, form: Form, message: str = "") -> Response:
    """Return the designer as it was submitted. A script takes the styles out of it."""
    if form.errors:
        message = "" if _STYLE_NAME in form.errors else gettext_noop("Not saved: correct the style first.")
    else:
        form.values[_STYLE_NAME] = ""
    code = context.query_id("code")
    return _preview_new(context, form, message) if code is None else _preview_change(context, code, form, message)


@pages.get("/dashboard/qr/{id:int}/logo")
def show_logo(context: PageContext, id: int) -> Response:
    """Return the logo of a code as PNG."""
    logo = context.read(lambda tx: ops.get_logo(tx, context.account, id))
    return Response(logo, headers={"Cache-Control": "private, max-age=3600"}, media_type="image/png")


@pages.get("/dashboard/qr/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id], ())


@pages.post("/dashboard/qr/bulk")
def change_selected(context: PageContext) -> Response:
    """Download the selected codes, or ask before they are deleted."""
    ids, action = context.selected_ids(), context.form().text("action")
    if not ids:
        return context.redirect(_LIST, message="Select at least one QR code.", tone="bad")
    if action in gallery_download.SIZES:
        return gallery_download.of_selected(context, ids, action)
    return trash.confirm(context, "qr", partial(_confirmation, context))


@pages.post("/dashboard/qr/delete")
def delete_codes(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The QR code was deleted.", "%(count)s QR codes were deleted.")
    return trash.delete(context, "qr", ids, trash.one_by_one(ops.remove), singular=singular, plural=plural)


@pages.get("/dashboard/qr/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    code = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "qr", id, title=code.name or code.alias, back=f"{_LIST}/{id}")


def _confirmation(context: PageContext, ids: Sequence[int], vanished: Sequence[int]) -> Response:
    codes = context.read(lambda tx: [ops.get_owned(tx, context.account, code) for code in ids])
    return context.render("qr/delete.html", codes=codes, vanished=vanished)


def _submitted_form(context: PageContext, current: Mapping[str, Value] | None = None) -> Form:
    """Return the submitted form, with `data` built from the fields of the selected type."""
    form = context.form(SHAPE, current=current)
    rows = form[form.text("type")]
    row = dict(rows[0]) if rows and isinstance(rows[0], dict) else {}
    if form.text("type") == "event":
        row |= {
            name: from_local_input(row[name], context.time_zone)
            for name in ("start", "end")
            if len(row.get(name, "")) > DATE_LENGTH
        }
    data = {name: value.replace("\r\n", "\n") for name, value in row.items() if value}
    form.values["data"] = [data["raw"]] if "raw" in data else [data]
    if not form.text("blend"):
        form.values["gradient"] = []
    _use_former_logo(context, form)
    return form


def _use_former_logo(context: PageContext, form: Form) -> None:
    """Take the logo of the selected code, unless the form has another one."""
    code = parse_id(form.text("former"))
    if code is not None and not form.text("logo"):
        logo = context.read(lambda tx: ops.get_logo(tx, context.account, code))
        form.values["logo"] = designer.logo_data_url(logo)


def _submitted_change(context: PageContext) -> Form:
    """Return the same for an existing code. An empty logo field keeps the logo, unless its removal is selected."""
    return _submitted_form(context, None if context.fields.get("unlogo") else {"logo": ""})


def _is_empty(form: Form) -> bool:
    """Return whether nothing was entered for the selected type yet; the currency of a payment is preset."""
    rows = form[form.text("type")]
    values = rows[0] if rows and isinstance(rows[0], dict) else {}
    return form.text("type") in PARTS and not any(value for part, value in values.items() if part != "currency")


def _sample(context: PageContext, form: Form) -> Form:
    """Return the form with the address of the service as its content."""
    text = context.settings.base
    return Form({**form.values, "type": "text", "text": [{"text": text}], "data": [{"text": text}], "dynamic": ""})


def _collect(context: PageContext, form: Form, model: type[B], work: Callable[[B], T]) -> T | None:
    """Return the result of `work`. None if the form is invalid; it then has the errors of all fields and parts."""
    assign_content_errors(form, PARTS, context.settings)
    result = context.collect(form, model, work, SHAPE)
    if "type" in form.errors:
        form.errors.pop("data", None)  # it was checked as content of another type
    assign_error_to_part(form, PARTS)
    return result


def _draft_change(context: PageContext, id: int, form: Form, body: CodeChange) -> Callable[[Connection], ops.Draft]:
    """Return a function that builds a draft of the changed code.

    It raises INVALID if the code changed since the form was shown.
    """
    context.read(lambda tx: ops.get_owned(tx, context.account, id))  # fetch no logo for another account's code
    fields = service.fields_of(context, body)

    def work(tx: Connection) -> ops.Draft:
        form.reject_stale(_values(tx, context, id))
        return ops.draft_change(tx, context.account, id, settings=context.settings, **fields)

    return work


def _prove(form: Form, draft: ops.Draft) -> Drawing | None:
    """Return the drawing, proven; None if a field of the style has an error, because the default replaces it."""
    return None if form.errors.keys() & _STYLE_FIELDS else service.prove(draft)


class _Preview:
    """The picture of the code in a form, as a data URL; "" if a field is invalid.

    A code that cannot be scanned has a picture, too, so that its style can be seen while it is repaired.
    """

    picture = ""

    def draw(self, form: Form, draft: ops.Draft) -> None:
        """Draw the code. Raises INVALID if it cannot be scanned."""
        if form.errors:
            _prove(form, draft)
            return
        drawing = design(draft.text, draft.style, draft.logo)
        self.picture = render.drawing_data_url(drawing, _PREVIEW_SIZE)
        must_scan(drawing, draft.text)


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
        "former": "",
        "unlogo": "",
        code.type: [content_fields(code.type, code.data, context.time_zone)],
    }


def _default_values() -> Mapping[str, Value]:
    """Return the values of the designer's fields for a new code."""
    return {
        **{name: getattr(PLAIN, name) for name in _STYLE},
        "margin": str(PLAIN.margin),
        "gradient": [{name: str(value) for name, value in vars(Gradient("#0d6b4f")).items()}],
    }


def _new_page(context: PageContext, form: Form, preview: str = "", *, status: int = 200, message: str = "") -> Response:
    return _designer(context, form, code=None, preview=preview, status=status, has_logo=False, message=message)


def _edit_page(
    context: PageContext, id: int, form: Form, preview: str = "", *, status: int = 200, message: str = ""
) -> Response:
    def work(tx: Connection) -> tuple[ops.Code, ops.Draft | None, bool]:
        return (
            ops.get_owned(tx, context.account, id),
            ops.saved(tx, context.account, id, context.settings),
            ops.has_logo(tx, context.account, id),
        )

    code, saved, has_logo = context.read_after_ingest(work)
    if saved is not None and not preview and not form.errors:
        preview = render.drawing_data_url(design(saved.text, saved.style, saved.logo), _PREVIEW_SIZE)
    return _designer(context, form, code=code, preview=preview, status=status, has_logo=has_logo, message=message)


def _designer(
    context: PageContext,
    form: Form,
    *,
    code: ops.Code | None,
    preview: str,
    status: int,
    has_logo: bool,
    message: str,
) -> Response:
    is_image = files.c.mime.in_(("image/png", "image/jpeg"))
    query = select(files.c.alias, files.c.name).where(files.c.account == context.account, files.c.purged.is_(None))
    query = query.where(is_image).order_by(files.c.id.desc()).limit(50)

    def read(tx: Connection) -> dict[str, Any]:
        return {
            "own_images": tx.execute(query).all(),
            "former_logos": designer.find_former_logos(tx, context.account),
            "own_styles": presets.listed(tx, context.account, "qr"),
        }

    return context.render(
        "qr/designer.html",
        status=status,
        form=form,
        repair=designer.repair_contrast(form),
        is_applied=designer.is_style_applied,
        code=code,
        preview=preview,
        is_sample=code is None and _is_empty(form),
        short_url=short_url(context.settings.base, "", None, code.alias) if code else "",
        message=message,
        **context.read(read),
        logo=f"{_LIST}/{code.id}/logo?v={code.version}" if code and has_logo else "",
    )
