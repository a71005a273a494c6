"""The pages of bio pages: the list, the builder with its phone, statistics."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.bios import blocks, ops, themes
from waypost.bios.api import BioChange, CardBlock, NewBio
from waypost.dashboard import statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import plural
from waypost.dashboard.routing import Router
from waypost.urls.short_urls import short_url

pages = Router()
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
def list_bios(context: PageContext) -> Response:
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render("bios/list.html", page=page, **_told(context))


@pages.get("/dashboard/bios/new")
def blank_bio(context: PageContext) -> Response:
    return _builder(context, Form({"base": "default", "blocks": [{"type": "link"}]}))


@pages.post("/dashboard/bios/new")
def add_bio(context: PageContext) -> Response:
    form = _typed(context)
    if _rearranged(form):
        return _builder(context, form)
    bio = form.attempt(lambda: _add(context, form))
    if bio is None:
        return _builder(context, form, status=400)
    return context.redirect(f"{_LIST}/{bio.id}", said="Your page is there.", also=_url(bio, context))


@pages.get("/dashboard/bios/phone")
def blank_phone(context: PageContext) -> Response:
    return _phone(context, Form({}))


@pages.post("/dashboard/bios/phone")
def draft_phone(context: PageContext) -> Response:
    """What is typed, as visitors would see it; nothing is saved."""
    return _phone(context, _typed(context))


@pages.get("/dashboard/bios/{id:int}/phone")
def saved_phone(context: PageContext, id: int) -> Response:
    return _phone(context, Form(context.read(lambda tx: _values(ops.own(tx, context.account, id)))))


@pages.get("/dashboard/bios/{id:int}")
def edit_bio(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.own(tx, context.account, id))
    return _builder(context, Form(_values(bio)), id)


@pages.post("/dashboard/bios/{id:int}")
def save_bio(context: PageContext, id: int) -> Response:
    form = _typed(context, context.read(lambda tx: _values(ops.own(tx, context.account, id))))
    if _rearranged(form):
        return _builder(context, form, id)
    form.attempt(lambda: _change(context, id, form))
    if form.faults:
        return _builder(context, form, id, status=400)
    return context.redirect(f"{_LIST}/{id}", said="Saved.")


@pages.get("/dashboard/bios/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    return _question(context, [id])


@pages.post("/dashboard/bios/bulk")
def ask_to_delete_many(context: PageContext) -> Response:
    ids = context.selected_ids()
    return (
        _question(context, ids)
        if ids
        else context.redirect(_LIST, said="Tick the pages that you mean first.", tone="bad")
    )


@pages.post("/dashboard/bios/delete")
def delete_bios(context: PageContext) -> Response:
    count = context.delete_selected(ops.remove)
    return context.redirect(_LIST, said=plural(count, "The page is deleted.", "%(count)s pages are deleted."))


@pages.get("/dashboard/bios/{id:int}/stats")
def bio_statistics(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.own(tx, context.account, id))
    return statistics.page(context, "bio", id, title=bio.name, back=f"{_LIST}/{id}", short=_url(bio, context))


def _typed(context: PageContext, now: Mapping[str, Value] | None = None) -> Form:
    """The form that was sent: its blocks in the order in which they stood, its theme of the two choices."""
    form = context.form(SHAPE, now=now)
    found = []
    for key in context.fields.get("order", ())[: _MOST + 1]:
        kind = (context.fields.get(f"{key}.type") or [""])[-1]
        values = {part: (context.fields.get(f"{key}.{part}") or [""])[-1] for part in ("id", *PARTS.get(kind, ()))}
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


def _add(context: PageContext, form: Form) -> ops.Bio:
    fields = form.read(NewBio, context.time_zone, SHAPE).sent()
    return context.write(lambda tx: ops.add(tx, context.account, settings=context.settings, **fields))


def _change(context: PageContext, id: int, form: Form) -> None:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    fields = form.read(BioChange, context.time_zone, SHAPE).sent()
    context.save(
        form,
        lambda tx: _values(ops.own(tx, context.account, id)),
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
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


def _phone(context: PageContext, form: Form) -> Response:
    """The page as on a phone, in a frame of ours: it has no scripts, and nothing in it can be followed."""
    rows: Any = form["blocks"] or []
    found = []
    for place, block in enumerate(rows):
        if block["type"] in PARTS and block.get(_NEEDED.get(block["type"], "type")):
            plain = {part: block.get(part, "") for part in ("type", *PARTS[block["type"]])}
            found.append({**plain, "id": place} if blocks.counts(plain) else plain)
    drawn = context.services.bio_page(
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


def _builder(context: PageContext, form: Form, id: int | None = None, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Bio | None, Mapping[int, tuple[int, int]]]:
        return (None, {}) if id is None else (ops.own(tx, context.account, id), ops.clicks(tx, id))

    bio, clicks = context.read_after_ingest(work)
    wrong = _NUMBER.match(form.faults.get("blocks", ""))
    told: dict[str, Any] = {
        "clicks": {str(block): number for block, (number, _) in clicks.items()},
        "parts": PARTS,
        "bio": bio,
    }
    told["wrong"] = int(wrong[1]) if wrong else 0
    told |= {"form": form, "themes": themes.THEMES}
    return context.render("bios/builder.html", status=status, frames=True, **told, **_told(context))


def _question(context: PageContext, ids: Sequence[int]) -> Response:
    found = context.read(lambda tx: [ops.own(tx, context.account, bio) for bio in ids])
    return context.render("bios/delete.html", bios=found, **_told(context))


def _told(context: PageContext) -> dict[str, Any]:
    return {"short": lambda bio: _url(bio, context)}


def _url(bio: ops.Bio, context: PageContext) -> str:
    return short_url(context.settings.base, "", None, bio.alias)
