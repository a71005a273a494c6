"""Dashboard pages of bio pages: list, builder with preview, statistics."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.bios import block_errors, blocks, ops, themes
from waypost.bios.schemas import BioChange, CardBlock, NewBio
from waypost.dashboard import statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, complete_url, parse_id
from waypost.dashboard.routing import Router
from waypost.urls.short_urls import short_url

pages = Router()
SHAPE = Shape(flags=("sensitive",))
_LIST = "/dashboard/bios"
_MAX_BLOCKS = 200
PARTS: Mapping[str, Sequence[str]] = {
    "link": ("title", "url"),
    "heading": ("text",),
    "text": ("text",),
    "image": ("image", "link", "alt"),
    "social": ("network", "url"),
    "vcard": tuple(name for name in CardBlock.model_fields if name not in ("type", "hidden")),
}
"""Parts of each type of block. A block's fields are called `<key>.<part>`; the field `order` lists the keys."""
_URL_PARTS = frozenset({"link.url", "image.image", "image.link", "social.url", "vcard.site"})
# The part without which a block is not shown in the preview.
_REQUIRED_PARTS = {"link": "title", "image": "image", "social": "network", "heading": "text", "text": "text"}
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


@pages.get("/dashboard/bios")
def list_bios(context: PageContext) -> Response:
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render_list("bios/list.html", page, short_url=lambda bio: _short_url(bio, context))


@pages.get("/dashboard/bios/new")
def show_new_form(context: PageContext) -> Response:
    return _builder(context, Form({"base": "default", "blocks": [{"type": "link"}]}))


@pages.post("/dashboard/bios/new")
def create_bio(context: PageContext) -> Response:
    form = _submitted_form(context)
    if _rearrange_blocks(form):
        return _builder(context, form)
    bio = _create(context, form)
    if bio is None:
        return _builder(context, form, status=400)
    return context.redirect(f"{_LIST}/{bio.id}", message="Your page is ready.", copy_text=_short_url(bio, context))


@pages.get("/dashboard/bios/phone")
def preview_empty_bio(context: PageContext) -> Response:
    return _preview(context, Form({}))


@pages.post("/dashboard/bios/phone")
def preview_draft(context: PageContext) -> Response:
    """Return the submitted page as visitors would see it. Nothing is saved."""
    return _preview(context, _submitted_form(context))


@pages.get("/dashboard/bios/{id:int}/phone")
def preview_saved_bio(context: PageContext, id: int) -> Response:
    return _preview(context, Form(context.read(lambda tx: _values(ops.get_owned(tx, context.account, id)))))


@pages.get("/dashboard/bios/{id:int}")
def show_bio(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return _builder(context, Form(_values(bio)), id)


@pages.post("/dashboard/bios/{id:int}")
def update_bio(context: PageContext, id: int) -> Response:
    form = _submitted_form(context, context.read(lambda tx: _values(ops.get_owned(tx, context.account, id))))
    if _rearrange_blocks(form):
        return _builder(context, form, id)
    _update(context, id, form)
    if form.errors:
        return _builder(context, form, id, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.get("/dashboard/bios/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id])


@pages.post("/dashboard/bios/bulk")
def confirm_bulk_deletion(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one page.", tone="bad")
    return _confirmation(context, ids)


@pages.post("/dashboard/bios/delete")
def delete_bios(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The page was deleted.", "%(count)s pages were deleted.")
    return trash.delete(context, "bio", ids, trash.one_by_one(ops.remove), singular=singular, plural=plural)


@pages.get("/dashboard/bios/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "bio", id, title=bio.name, back=f"{_LIST}/{id}", short=_short_url(bio, context))


def _submitted_form(context: PageContext, current: Mapping[str, Value] | None = None) -> Form:
    """Return the submitted form, with its blocks in order and the theme built from its name and color mode."""
    form = context.form(SHAPE, current=current)
    rows = []
    for key in context.fields.get("order", ())[: _MAX_BLOCKS + 1]:
        block_type = (context.fields.get(f"{key}.type") or [""])[-1]
        values = {
            part: (context.fields.get(f"{key}.{part}") or [""])[-1] for part in ("id", *PARTS.get(block_type, ()))
        }
        values = {
            part: complete_url(value) if f"{block_type}.{part}" in _URL_PARTS else value.replace("\r\n", "\n").strip()
            for part, value in values.items()
        }
        rows.append({"type": block_type, **values, **_hidden(f"{key}.hidden" in context.fields)})
    mode = form.text("mode")
    form.values |= {"blocks": rows, "theme": form.text("base") + (f"-{mode}" if mode else "")}
    return form


def _rearrange_blocks(form: Form) -> bool:
    """Add, move or remove a block of the form if one of these buttons was pressed. Nothing is saved.

    Return whether one was; the buttons are used without scripts. `draft` shows a draft that the browser kept.
    """
    action, _, target = form.text("do").partition("-")
    index = parse_id(target)
    rows: Any = form.values["blocks"]
    if action == "add" and target in PARTS:
        rows.append({"type": target})
    elif action in ("up", "down", "remove") and index is not None and index < len(rows):
        block = rows.pop(index)
        if action != "remove":
            rows.insert(max(0, index + (1 if action == "down" else -1)), block)
    else:
        return action == "draft"
    return True


def _create(context: PageContext, form: Form) -> ops.Bio | None:
    """Create the page. Return None if the form is invalid."""

    def work(tx: Connection, fields: dict[str, Any]) -> ops.Bio:
        block_errors.check_urls(tx, form, settings=context.settings)
        return ops.add(tx, context.account, settings=context.settings, **fields)

    bio = context.submit(form, NewBio, work, SHAPE)
    block_errors.assign_to_parts(form)
    return bio


def _update(context: PageContext, id: int, form: Form) -> None:
    """Save the changed fields, unless the form is invalid or the page was changed since the form was shown."""

    def work(tx: Connection, fields: dict[str, Any]) -> None:
        form.reject_stale(_values(ops.get_owned(tx, context.account, id)))
        block_errors.check_urls(tx, form, settings=context.settings)
        ops.change(tx, context.account, id, settings=context.settings, **fields)

    context.submit(form, BioChange, work, SHAPE)
    block_errors.assign_to_parts(form)


def _values(bio: ops.Bio) -> Mapping[str, Value]:
    """Return the values of the builder's fields."""
    base, _, mode = bio.theme.rpartition("-") if bio.theme.endswith(("-light", "-dark")) else (bio.theme, "", "")
    rows = [
        {part: str(block.get(part, "")) for part in ("type", "id", *PARTS[block["type"]])}
        | _hidden(block.get("hidden"))
        for block in bio.blocks
    ]
    fields = {name: getattr(bio, name) for name in ("name", "alias", "title", "description", "theme")}
    return {**fields, "base": base, "mode": mode, "blocks": rows, "sensitive": "on" if bio.sensitive else ""}


def _hidden(hidden: object) -> dict[str, str]:
    """Return the value of a block's switch, which forms send only if it is on."""
    return {"hidden": "on"} if hidden else {}


def _preview(context: PageContext, form: Form) -> Response:
    """Return the page for the builder's frame: without scripts, and with links that cannot be followed."""
    rows: Any = form["blocks"] or []
    complete_blocks = []
    for index, block in enumerate(rows):
        if not block.get("hidden") and block["type"] in PARTS and block.get(_REQUIRED_PARTS.get(block["type"], "type")):
            fields = {part: block.get(part, "") for part in ("type", *PARTS[block["type"]])}
            complete_blocks.append({**fields, "id": index} if blocks.is_clickable(fields) else fields)
    page = context.services.bio_page(
        alias=form.text("alias") or "phone",
        name=form.text("name") or "…",
        title=form.text("title"),
        description=form.text("description"),
        theme=form.text("theme"),
        blocks=complete_blocks,
    ).replace("<body>", "<body inert>")
    style = _STYLE.search(page)
    digest = base64.b64encode(hashlib.sha256((style[1] if style else "").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data: https: http:; base-uri 'none'"
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
    return Response(page, media_type="text/html", headers=headers)


def _builder(context: PageContext, form: Form, id: int | None = None, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Bio | None, Mapping[int, tuple[int, int]]]:
        return (None, {}) if id is None else (ops.get_owned(tx, context.account, id), ops.block_clicks(tx, id))

    bio, clicks = context.read_after_ingest(work)
    return context.render(
        "bios/builder.html",
        status=status,
        allow_frames=True,
        form=form,
        bio=bio,
        themes=themes.THEMES,
        block_clicks={str(block): count for block, (count, _) in clicks.items()},
        short_url=lambda bio: _short_url(bio, context),
    )


def _confirmation(context: PageContext, ids: Sequence[int]) -> Response:
    bios = context.read(lambda tx: [ops.get_owned(tx, context.account, bio) for bio in ids])
    return context.render("bios/delete.html", bios=bios, short_url=lambda bio: _short_url(bio, context))


def _short_url(bio: ops.Bio, context: PageContext) -> str:
    return short_url(context.settings.base, "", None, bio.alias)
