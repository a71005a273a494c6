"""The pages of bio pages: the list, the builder with its phone, statistics."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.aliases.urls import short_url
from waypost.bios import blocks, ops, themes
from waypost.bios.api import BioChange, CardBlock, NewBio
from waypost.dashboard import statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural

pages = Pages()
SHAPE = Shape(flags=("sensitive",))
_LIST = "/dashboard/bios"
_MOST = 200
PARTS: Mapping[str, Sequence[str]] = {
    "link": ("title", "url"),
    "heading": ("text",),
    "text": ("text",),
    "image": ("image", "link", "alt"),
    "social": ("network", "url"),
    "vcard": tuple(name for name in CardBlock.model_fields if name != "type"),
}
"""What the form asks for, by type of block. A block's fields are called `<key>.<part>`, and `order` lists the keys."""
_NEEDED = {"link": "title", "image": "image", "social": "network", "heading": "text", "text": "text"}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_NUMBER = re.compile(r"blocks (\d+)")


@pages.get("/dashboard/bios")
def list_bios(desk: Desk) -> Response:
    page = desk.read_counts(lambda tx: ops.page(tx, desk.account, desk.window()))
    return desk.page("bios/list.html", page=page, **_told(desk))


@pages.get("/dashboard/bios/new")
def blank_bio(desk: Desk) -> Response:
    return _builder(desk, Form({"base": "default", "blocks": [{"type": "link"}]}))


@pages.post("/dashboard/bios/new")
def add_bio(desk: Desk) -> Response:
    form = _typed(desk)
    if _rearranged(form):
        return _builder(desk, form)
    bio = form.attempt(lambda: _add(desk, form))
    if bio is None:
        return _builder(desk, form, status=400)
    return desk.go(f"{_LIST}/{bio.id}", said="Your page is there.", also=_url(bio, desk))


@pages.get("/dashboard/bios/phone")
def blank_phone(desk: Desk) -> Response:
    return _phone(desk, Form({}))


@pages.post("/dashboard/bios/phone")
def draft_phone(desk: Desk) -> Response:
    """What is typed, as visitors would see it; nothing is saved."""
    return _phone(desk, _typed(desk))


@pages.get("/dashboard/bios/{id:int}/phone")
def saved_phone(desk: Desk, id: int) -> Response:
    return _phone(desk, Form(desk.read(lambda tx: _values(ops.own(tx, desk.account, id)))))


@pages.get("/dashboard/bios/{id:int}")
def edit_bio(desk: Desk, id: int) -> Response:
    bio = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return _builder(desk, Form(_values(bio)), id)


@pages.post("/dashboard/bios/{id:int}")
def save_bio(desk: Desk, id: int) -> Response:
    form = _typed(desk, desk.read(lambda tx: _values(ops.own(tx, desk.account, id))))
    if _rearranged(form):
        return _builder(desk, form, id)
    form.attempt(lambda: _change(desk, id, form))
    if form.faults:
        return _builder(desk, form, id, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved.")


@pages.get("/dashboard/bios/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    return _question(desk, [id])


@pages.post("/dashboard/bios/bulk")
def ask_to_delete_many(desk: Desk) -> Response:
    ids = desk.picked()
    return _question(desk, ids) if ids else desk.go(_LIST, said="Tick the pages that you mean first.", tone="bad")


@pages.post("/dashboard/bios/delete")
def delete_bios(desk: Desk) -> Response:
    count = desk.remove_ticked(ops.remove)
    return desk.go(_LIST, said=plural(count, "The page is deleted.", "%(count)s pages are deleted."))


@pages.get("/dashboard/bios/{id:int}/stats")
def bio_statistics(desk: Desk, id: int) -> Response:
    bio = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return statistics.page(desk, "bio", id, title=bio.name, back=f"{_LIST}/{id}", short=_url(bio, desk))


def _typed(desk: Desk, now: Mapping[str, Value] | None = None) -> Form:
    """The form that was sent: its blocks in the order in which they stood, its theme of the two choices."""
    form = desk.typed(SHAPE, now=now)
    found = []
    for key in desk.fields.get("order", ())[: _MOST + 1]:
        kind = (desk.fields.get(f"{key}.type") or [""])[-1]
        values = {part: (desk.fields.get(f"{key}.{part}") or [""])[-1] for part in ("id", *PARTS.get(kind, ()))}
        found.append({"type": kind, **{part: value.replace("\r\n", "\n").strip() for part, value in values.items()}})
    mode = form.text("mode")
    form.values |= {"blocks": found, "theme": form.text("base") + (f"-{mode}" if mode else "")}
    return form


def _rearranged(form: Form) -> bool:
    """Add, move or remove a block, as the button that was pressed says; nothing is saved by that."""
    verb, _, what = form.text("do").partition("-")
    found: Any = form.values["blocks"]
    if verb == "add" and what in PARTS:
        found.append({"type": what})
    elif verb in ("up", "down", "remove") and what.isdecimal() and int(what) < len(found):
        block = found.pop(int(what))
        if verb != "remove":
            found.insert(max(0, int(what) + (1 if verb == "down" else -1)), block)
    else:
        return False
    return True


def _add(desk: Desk, form: Form) -> ops.Bio:
    fields = form.read(NewBio, desk.zone, SHAPE).sent()
    return desk.write(lambda tx: ops.add(tx, desk.account, settings=desk.settings, **fields))


def _change(desk: Desk, id: int, form: Form) -> None:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    fields = form.read(BioChange, desk.zone, SHAPE).sent()
    desk.save(
        form,
        lambda tx: _values(ops.own(tx, desk.account, id)),
        lambda tx: ops.change(tx, desk.account, id, settings=desk.settings, **fields),
    )


def _values(bio: ops.Bio) -> Mapping[str, Value]:
    """What the builder shows of a page."""
    base, _, mode = bio.theme.rpartition("-") if bio.theme.endswith(("-light", "-dark")) else (bio.theme, "", "")
    rows = [
        {"type": str(block["type"]), **{part: str(block.get(part, "")) for part in ("id", *PARTS[block["type"]])}}
        for block in bio.blocks
    ]
    same = {name: getattr(bio, name) for name in ("name", "alias", "title", "description", "theme")}
    return {**same, "base": base, "mode": mode, "blocks": rows, "sensitive": "on" if bio.sensitive else ""}


def _phone(desk: Desk, form: Form) -> Response:
    """The page as on a phone, in a frame of ours: it has no scripts, and nothing in it can be followed."""
    rows: Any = form["blocks"] or []
    found = []
    for place, block in enumerate(rows):
        if block["type"] in PARTS and block.get(_NEEDED.get(block["type"], "type")):
            plain = {part: block.get(part, "") for part in ("type", *PARTS[block["type"]])}
            found.append({**plain, "id": place} if blocks.counts(plain) else plain)
    drawn = desk.kit.bio_page(
        alias=form.text("alias") or "phone",
        name=form.text("name") or "…",
        title=form.text("title"),
        description=form.text("description"),
        theme=form.text("theme"),
        blocks=found,
    ).replace("<body>", "<body inert>")
    style = _STYLE.search(drawn)
    digest = base64.b64encode(hashlib.sha256((style[1] if style else "").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data: https: http:; base-uri 'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
    return Response(drawn, media_type="text/html", headers=headers)


def _builder(desk: Desk, form: Form, id: int | None = None, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Bio | None, Mapping[int, tuple[int, int]]]:
        return (None, {}) if id is None else (ops.own(tx, desk.account, id), ops.clicks(tx, id))

    bio, clicks = desk.read_counts(work)
    wrong = _NUMBER.match(form.faults.get("blocks", ""))
    told: dict[str, Any] = {
        "clicks": {str(block): number for block, (number, _) in clicks.items()},
        "parts": PARTS,
        "bio": bio,
    }
    told["wrong"] = int(wrong[1]) if wrong else 0
    told |= {"form": form, "themes": themes.THEMES}
    return desk.page("bios/builder.html", status=status, frames=True, **told, **_told(desk))


def _question(desk: Desk, ids: Sequence[int]) -> Response:
    found = desk.read(lambda tx: [ops.own(tx, desk.account, bio) for bio in ids])
    return desk.page("bios/delete.html", bios=found, **_told(desk))


def _told(desk: Desk) -> dict[str, Any]:
    return {"short": lambda bio: _url(bio, desk)}


def _url(bio: ops.Bio, desk: Desk) -> str:
    return short_url(desk.settings.base, "", None, bio.alias)
