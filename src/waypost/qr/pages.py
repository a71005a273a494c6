"""The pages of QR codes: the pictures, the designer with its preview, statistics."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select
from starlette.responses import Response

from waypost.aliases.urls import short_url
from waypost.dashboard import pictures, statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value, local, utc
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural
from waypost.qr import cards, make, ops
from waypost.qr.draw import design
from waypost.qr.fields import CodeChange, NewCode
from waypost.qr.parts import sms_parts, wifi_parts
from waypost.qr.styles import PLAIN, Gradient
from waypost.schema import files

pages = Pages()
_LIST = "/dashboard/qr"
_PER_PAGE = 24
_PREVIEW = 320  # pixels
_DAY = "YYYY-MM-DD"
PARTS: Mapping[str, tuple[str, ...]] = {
    "link": ("link",),
    "text": ("text",),
    "vcard": (*cards.CARD_FIELDS, "raw"),
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
def list_codes(desk: Desk) -> Response:
    window, q = desk.window(_PER_PAGE), desk.asked("q")
    page = desk.read_counts(lambda tx: ops.page(tx, desk.account, window, q=q))
    return desk.page("qr/list.html", page=page, q=q)


@pages.get("/dashboard/qr/new")
def blank_code(desk: Desk) -> Response:
    wanted = next((one for one in PARTS if one == desk.asked("type")), "link")
    link = [{"link": desk.asked("link", most=8192)}]
    return _new_page(desk, Form({**_blank(), "type": wanted, "link": link}))


@pages.post("/dashboard/qr/new")
def add_code(desk: Desk) -> Response:
    form = _typed(desk)
    code = form.attempt(lambda: make.add(desk, form.read(NewCode, desk.zone, SHAPE), make.Logos(desk)))
    if code is None:
        return _new_page(desk, form, status=400)
    return desk.go(f"{_LIST}/{code.id}", said="Your QR code is ready.")


@pages.post("/dashboard/qr/preview")
def preview_new(desk: Desk) -> Response:
    """The picture of what is typed, without saving it: the whole page, of which a script takes the picture alone."""
    form = _typed(desk)
    drawn = form.attempt(lambda: _picture(make.draft(desk, form.read(NewCode, desk.zone, SHAPE), make.Logos(desk))))
    return _new_page(desk, form, drawn or "")


@pages.get("/dashboard/qr/{id:int}")
def edit_code(desk: Desk, id: int) -> Response:
    return _edit_page(desk, id, Form(desk.read(lambda tx: _values(tx, desk, id))))


@pages.post("/dashboard/qr/{id:int}")
def save_code(desk: Desk, id: int) -> Response:
    form = _typed_over(desk)
    if form.attempt(lambda: _change(desk, id, form)) is None:
        return _edit_page(desk, id, form, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved.")


@pages.post("/dashboard/qr/{id:int}/preview")
def preview_change(desk: Desk, id: int) -> Response:
    """The same for a code that there is."""
    form = _typed_over(desk)
    drawn = form.attempt(lambda: _picture(desk.read(_drafted(desk, id, form))))
    return _edit_page(desk, id, form, drawn or "")


@pages.get("/dashboard/qr/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    return desk.page("qr/delete.html", codes=[desk.read(lambda tx: ops.own(tx, desk.account, id))])


@pages.post("/dashboard/qr/bulk")
def ask_to_delete_many(desk: Desk) -> Response:
    ids = desk.picked()
    if not ids:
        return desk.go(_LIST, said="Tick the QR codes that you mean first.", tone="bad")
    return desk.page("qr/delete.html", codes=desk.read(lambda tx: [ops.own(tx, desk.account, code) for code in ids]))


@pages.post("/dashboard/qr/delete")
def delete_codes(desk: Desk) -> Response:
    count = desk.remove_ticked(ops.remove)
    return desk.go(_LIST, said=plural(count, "The QR code is deleted.", "%(count)s QR codes are deleted."))


@pages.get("/dashboard/qr/{id:int}/stats")
def code_statistics(desk: Desk, id: int) -> Response:
    code = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return statistics.page(desk, "qr", id, title=code.name or code.alias, back=f"{_LIST}/{id}")


def _typed(desk: Desk, now: Mapping[str, Value] | None = None) -> Form:
    """The form that was sent, with `data` made of the fields of its type."""
    form = desk.typed(SHAPE, now=now)
    given = form[form.text("type")]
    row = dict(given[0]) if given and isinstance(given[0], dict) else {}
    if form.text("type") == "event":
        row |= {name: utc(row[name], desk.zone) for name in ("start", "end") if len(row.get(name, "")) > len(_DAY)}
    told = {name: value.replace("\r\n", "\n") for name, value in row.items() if value}
    form.values["data"] = [told["raw"]] if "raw" in told else [told]
    if not form.text("blend"):
        form.values["gradient"] = []
    return form


def _typed_over(desk: Desk) -> Form:
    """The same for a code that there is: a logo that is not typed stays, unless it is taken away."""
    return _typed(desk, None if desk.fields.get("unlogo") else {"logo": ""})


def _drafted(desk: Desk, id: int, form: Form) -> Callable[[Connection], ops.Draft]:
    """What makes a draft of the form, unless somebody else changed the code meanwhile."""
    desk.read(lambda tx: ops.own(tx, desk.account, id))  # nothing is fetched for somebody else's
    fields = make.Logos(desk).resolved(form.read(CodeChange, desk.zone, SHAPE))

    def work(tx: Connection) -> ops.Draft:
        form.refuse_stale(_values(tx, desk, id))
        return ops.draft_change(tx, desk.account, id, settings=desk.settings, **fields)

    return work


def _change(desk: Desk, id: int, form: Form) -> bool:
    make.change(desk, id, _drafted(desk, id, form))
    return True


def _picture(draft: ops.Draft) -> str:
    return pictures.source(make.prove(draft), _PREVIEW)


def _values(tx: Connection, desk: Desk, id: int) -> Mapping[str, Value]:
    """What the designer shows of a code."""
    code = ops.own(tx, desk.account, id)
    blend = code.gradient is not None
    gradient = {**vars(Gradient("#0d6b4f")), **(code.gradient or {})}
    return {
        **{name: getattr(code, name) for name in (*_STYLE, "name", "type")},
        "margin": str(code.margin),
        "blend": "on" if blend else "",
        "gradient": [{name: str(value) for name, value in gradient.items()}],
        "logo": "",
        "unlogo": "",
        code.type: [_parts(code, desk)],
    }


def _blank() -> Mapping[str, Value]:
    """What the designer shows at first."""
    return {
        **{name: getattr(PLAIN, name) for name in _STYLE},
        "margin": str(PLAIN.margin),
        "gradient": [{name: str(value) for name, value in vars(Gradient("#0d6b4f")).items()}],
    }


def _parts(code: ops.Code, desk: Desk) -> dict[str, str]:
    """The content of a code by the fields of its type; `raw` where it came as one text that has no such parts."""
    data = code.data
    if not isinstance(data, str):
        told = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in data.items()}
        if code.type == "event":
            told |= {name: _local(told[name], desk) for name in ("start", "end") if name in told}
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


def _local(value: str, desk: Desk) -> str:
    """A moment of an event as the browser's field wants it; a day as it is."""
    try:
        moment = datetime.fromisoformat(value.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        return value
    return value if len(value) <= len(_DAY) else local(int(moment.timestamp()), desk.zone)


def _new_page(desk: Desk, form: Form, preview: str = "", *, status: int = 200) -> Response:
    return _designer(desk, form, code=None, preview=preview, status=status, logo=False)


def _edit_page(desk: Desk, id: int, form: Form, preview: str = "", *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Code, ops.Draft | None, bool]:
        return ops.own(tx, desk.account, id), ops.saved(tx, id, desk.settings), ops.has_logo(tx, id)

    code, saved, logo = desk.read_counts(work)
    if saved is not None and not preview and not form.faults:
        preview = pictures.source(design(saved.text, saved.style, saved.logo), _PREVIEW)
    return _designer(desk, form, code=code, preview=preview, status=status, logo=logo)


def _designer(desk: Desk, form: Form, *, code: ops.Code | None, preview: str, status: int, **more: Any) -> Response:
    own = select(files.c.alias, files.c.name).where(files.c.account == desk.account, files.c.purged.is_(None))
    mine = own.where(files.c.mime.in_(("image/png", "image/jpeg"))).order_by(files.c.id.desc()).limit(50)
    found = desk.read(lambda tx: tx.execute(mine).all())
    short = short_url(desk.settings.base, "", None, code.alias) if code else ""
    told = {"code": code, "preview": preview, "short": short, "own_pictures": found, **more}
    return desk.page("qr/designer.html", status=status, form=form, **told)
