"""The pages of QR codes: the pictures, the designer with its preview, statistics."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select
from starlette.responses import Response

from waypost.dashboard import qr_image, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, local, utc
from waypost.dashboard.i18n import plural
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
_PREVIEW = 320  # pixels
_DAY = "YYYY-MM-DD"
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
"""What the form asks for, by type; the fields are called `<type>.<part>`."""
SHAPE = Shape(
    rows={**PARTS, "gradient": ("color", "type", "angle")},
    single=("data", "gradient"),
    flags=("blend", "unlogo"),
)
_STYLE = ("foreground", "background", "modules", "eyes", "level", "caption")


@pages.get("/dashboard/qr")
def list_codes(context: PageContext) -> Response:
    window, q = context.page_request(_PER_PAGE), context.query("q")
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, window, q=q))
    return context.render("qr/list.html", page=page, q=q)


@pages.get("/dashboard/qr/new")
def blank_code(context: PageContext) -> Response:
    wanted = next((one for one in PARTS if one == context.query("type")), "link")
    link = [{"link": context.query("link", most=8192)}]
    return _new_page(context, Form({**_blank(), "type": wanted, "link": link}))


@pages.post("/dashboard/qr/new")
def add_code(context: PageContext) -> Response:
    form = _typed(context)
    code = form.attempt(
        lambda: service.add(context, form.read(NewCode, context.time_zone, SHAPE), service.Logos(context))
    )
    if code is None:
        return _new_page(context, form, status=400)
    return context.redirect(f"{_LIST}/{code.id}", said="Your QR code is ready.")


@pages.post("/dashboard/qr/preview")
def preview_new(context: PageContext) -> Response:
    """The picture of what is typed, without saving it: the whole page, of which a script takes the picture alone."""
    form = _typed(context)
    drawn = form.attempt(
        lambda: _picture(service.draft(context, form.read(NewCode, context.time_zone, SHAPE), service.Logos(context)))
    )
    return _new_page(context, form, drawn or "")


@pages.get("/dashboard/qr/{id:int}")
def edit_code(context: PageContext, id: int) -> Response:
    return _edit_page(context, id, Form(context.read(lambda tx: _values(tx, context, id))))


@pages.post("/dashboard/qr/{id:int}")
def save_code(context: PageContext, id: int) -> Response:
    form = _typed_over(context)
    if form.attempt(lambda: _change(context, id, form)) is None:
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", said="Saved.")


@pages.post("/dashboard/qr/{id:int}/preview")
def preview_change(context: PageContext, id: int) -> Response:
    """The same for a code that there is."""
    form = _typed_over(context)
    drawn = form.attempt(lambda: _picture(context.read(_drafted(context, id, form))))
    return _edit_page(context, id, form, drawn or "")


@pages.get("/dashboard/qr/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    return context.render("qr/delete.html", codes=[context.read(lambda tx: ops.own(tx, context.account, id))])


@pages.post("/dashboard/qr/bulk")
def ask_to_delete_many(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, said="Tick the QR codes that you mean first.", tone="bad")
    return context.render(
        "qr/delete.html", codes=context.read(lambda tx: [ops.own(tx, context.account, code) for code in ids])
    )


@pages.post("/dashboard/qr/delete")
def delete_codes(context: PageContext) -> Response:
    count = context.delete_selected(ops.remove)
    return context.redirect(_LIST, said=plural(count, "The QR code is deleted.", "%(count)s QR codes are deleted."))


@pages.get("/dashboard/qr/{id:int}/stats")
def code_statistics(context: PageContext, id: int) -> Response:
    code = context.read(lambda tx: ops.own(tx, context.account, id))
    return statistics.page(context, "qr", id, title=code.name or code.alias, back=f"{_LIST}/{id}")


def _typed(context: PageContext, now: Mapping[str, Value] | None = None) -> Form:
    """The form that was sent, with `data` made of the fields of its type."""
    form = context.form(SHAPE, now=now)
    given = form[form.text("type")]
    row = dict(given[0]) if given and isinstance(given[0], dict) else {}
    if form.text("type") == "event":
        row |= {
            name: utc(row[name], context.time_zone) for name in ("start", "end") if len(row.get(name, "")) > len(_DAY)
        }
    told = {name: value.replace("\r\n", "\n") for name, value in row.items() if value}
    form.values["data"] = [told["raw"]] if "raw" in told else [told]
    if not form.text("blend"):
        form.values["gradient"] = []
    return form


def _typed_over(context: PageContext) -> Form:
    """The same for a code that there is: a logo that is not typed stays, unless it is taken away."""
    return _typed(context, None if context.fields.get("unlogo") else {"logo": ""})


def _drafted(context: PageContext, id: int, form: Form) -> Callable[[Connection], ops.Draft]:
    """What makes a draft of the form, unless somebody else changed the code meanwhile."""
    context.read(lambda tx: ops.own(tx, context.account, id))  # nothing is fetched for somebody else's
    fields = service.Logos(context).resolved(form.read(CodeChange, context.time_zone, SHAPE))

    def work(tx: Connection) -> ops.Draft:
        form.refuse_stale(_values(tx, context, id))
        return ops.draft_change(tx, context.account, id, settings=context.settings, **fields)

    return work


def _change(context: PageContext, id: int, form: Form) -> bool:
    service.change(context, id, _drafted(context, id, form))
    return True


def _picture(draft: ops.Draft) -> str:
    return qr_image.source(service.prove(draft), _PREVIEW)


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """What the designer shows of a code."""
    code = ops.own(tx, context.account, id)
    blend = code.gradient is not None
    gradient = {**vars(Gradient("#0d6b4f")), **(code.gradient or {})}
    return {
        **{name: getattr(code, name) for name in (*_STYLE, "name", "type")},
        "margin": str(code.margin),
        "blend": "on" if blend else "",
        "gradient": [{name: str(value) for name, value in gradient.items()}],
        "logo": "",
        "unlogo": "",
        code.type: [_parts(code, context)],
    }


def _blank() -> Mapping[str, Value]:
    """What the designer shows at first."""
    return {
        **{name: getattr(PLAIN, name) for name in _STYLE},
        "margin": str(PLAIN.margin),
        "gradient": [{name: str(value) for name, value in vars(Gradient("#0d6b4f")).items()}],
    }


def _parts(code: ops.Code, context: PageContext) -> dict[str, str]:
    """The content of a code by the fields of its type; `raw` where it came as one text that has no such parts."""
    data = code.data
    if not isinstance(data, str):
        told = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in data.items()}
        if code.type == "event":
            told |= {name: _local(told[name], context) for name in ("start", "end") if name in told}
        return told
    if code.type == "sms":
        return dict(zip(PARTS["sms"], sms_parts(data), strict=True))
    if code.type == "wifi":
        return dict(zip(PARTS["wifi"], wifi_parts(data), strict=False))
    if code.type in _WHOLE:
        return {"raw": data}
    return {_ONLY.get(code.type, code.type): data}


_WHOLE = frozenset({"vcard", "event", "geo", "crypto"})
_ONLY = {"whatsapp": "phone", "app": "url"}


def _local(value: str, context: PageContext) -> str:
    """A moment of an event as the browser's field wants it; a day as it is."""
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        return value
    return value if len(value) <= len(_DAY) else local(int(moment.timestamp()), context.time_zone)


def _new_page(context: PageContext, form: Form, preview: str = "", *, status: int = 200) -> Response:
    return _designer(context, form, code=None, preview=preview, status=status, logo=False)


def _edit_page(context: PageContext, id: int, form: Form, preview: str = "", *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Code, ops.Draft | None, bool]:
        return ops.own(tx, context.account, id), ops.saved(tx, id, context.settings), ops.has_logo(tx, id)

    code, saved, logo = context.read_after_ingest(work)
    if saved is not None and not preview and not form.faults:
        preview = qr_image.source(design(saved.text, saved.style, saved.logo), _PREVIEW)
    return _designer(context, form, code=code, preview=preview, status=status, logo=logo)


def _designer(
    context: PageContext, form: Form, *, code: ops.Code | None, preview: str, status: int, **more: Any
) -> Response:
    own = select(files.c.alias, files.c.name).where(files.c.account == context.account, files.c.purged.is_(None))
    mine = own.where(files.c.mime.in_(("image/png", "image/jpeg"))).order_by(files.c.id.desc()).limit(50)
    found = context.read(lambda tx: tx.execute(mine).all())
    short = short_url(context.settings.base, "", None, code.alias) if code else ""
    told = {"code": code, "preview": preview, "short": short, "own_pictures": found, **more}
    return context.render("qr/designer.html", status=status, form=form, **told)
