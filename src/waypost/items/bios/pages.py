"""Dashboard pages of bio pages: list, builder, statistics."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext_noop
from waypost.dashboard.routing import Router
from waypost.items.bios import form_blocks, kept_blocks, ops, pictures, themes
from waypost.items.bios.form import (
    SHAPE,
    assign_block_errors,
    check_blocks,
    check_design,
    copy_pictures,
    design_values_of,
    is_empty,
    lacks_form,
    local_time,
    rearrange_blocks,
    saved_message,
    submitted_form,
    values_of,
)
from waypost.items.bios.preview_pages import PICTURES
from waypost.items.bios.schemas import BioChange, NewBio
from waypost.urls.short_urls import short_url

pages = Router()
_LIST = "/dashboard/bios"


@pages.get("/dashboard/bios")
def list_bios(context: PageContext) -> Response:
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, context.page_request()))
    return context.render_list("bios/list.html", page, short_url=lambda bio: _short_url(bio, context))


@pages.get("/dashboard/bios/new")
def show_new_form(context: PageContext) -> Response:
    return _builder(context, Form({"base": "default", "blocks": [], **design_values_of(None)}))


@pages.post("/dashboard/bios/new", files=True, resumable=True)
def create_bio(context: PageContext) -> Response:
    form = submitted_form(context)
    if rearrange_blocks(form):
        return _builder(context, form)
    bio = _create(context, form)
    if bio is None:
        return _builder(context, form, status=400)
    message = saved_message(context, form, gettext_noop("Your page is ready."))
    return context.redirect(f"{_LIST}/{bio.id}", message=message, copy_text=_short_url(bio, context))


@pages.get("/dashboard/bios/{id:int}")
def show_bio(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return _builder(context, Form(values_of(bio)), id)


@pages.post("/dashboard/bios/{id:int}", files=True, resumable=True)
def update_bio(context: PageContext, id: int) -> Response:
    form = submitted_form(context, context.read(lambda tx: values_of(ops.get_owned(tx, context.account, id))))
    if rearrange_blocks(form):
        return _builder(context, form, id)
    _update(context, id, form)
    if form.errors:
        return _builder(context, form, id, status=400)
    return context.redirect(f"{_LIST}/{id}", message=saved_message(context, form, gettext_noop("Saved.")))


@pages.get("/dashboard/bios/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id], ())


@pages.post("/dashboard/bios/bulk")
def confirm_bulk_deletion(context: PageContext) -> Response:
    ids = context.selected_ids()
    if not ids:
        return context.redirect(_LIST, message="Select at least one page.", tone="bad")
    return trash.confirm(context, "bio", partial(_confirmation, context))


@pages.post("/dashboard/bios/delete")
def delete_bios(context: PageContext) -> Response:
    ids, (singular, plural) = context.selected_ids(), ("The page was deleted.", "%(count)s pages were deleted.")
    return trash.delete(context, "bio", ids, trash.one_by_one(ops.remove), singular=singular, plural=plural)


@pages.get("/dashboard/bios/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    bio = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "bio", id, title=bio.name, back=f"{_LIST}/{id}", short=_short_url(bio, context))


def _create(context: PageContext, form: Form) -> ops.Bio | None:
    """Create the page. Return None if the form is invalid."""
    copy_pictures(context, form)
    check_design(form)

    def work(tx: Connection, fields: dict[str, Any]) -> ops.Bio:
        check_blocks(tx, context.account, form, settings=context.settings)
        return ops.add(tx, context.account, settings=context.settings, **fields)

    bio = context.submit(form, NewBio, work, SHAPE)
    assign_block_errors(form)
    return bio


def _update(context: PageContext, id: int, form: Form) -> None:
    """Save the changed fields, unless the form is invalid or the page was changed since the form was shown."""
    copy_pictures(context, form)
    check_design(form)
    rows: Any = form["blocks"]

    def work(tx: Connection, fields: dict[str, Any]) -> None:
        stored = ops.get_owned(tx, context.account, id)
        form.reject_stale(values_of(stored))
        check_blocks(tx, context.account, form, settings=context.settings)
        if "blocks" in fields:
            fields["blocks"] = kept_blocks.put_back(fields["blocks"], rows, stored.blocks)
        ops.change(tx, context.account, id, settings=context.settings, **fields)

    placeholders: Any = kept_blocks.with_placeholders(rows)
    form.values["blocks"] = placeholders
    context.submit(form, BioChange, work, SHAPE)
    form.values["blocks"] = rows
    assign_block_errors(form)


def _builder(context: PageContext, form: Form, id: int | None = None, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[Mapping[int, str], ops.Bio | None, Mapping[int, tuple[int, int]]]:
        forms = form_blocks.own_forms(tx, context.account)
        if id is None:
            return forms, None, {}
        return forms, ops.get_owned(tx, context.account, id), ops.block_clicks(tx, context.account, id)

    forms, bio, clicks = context.read_after_ingest(work)
    return context.render(
        "bios/builder.html",
        status=status,
        allow_frames=True,
        form=form,
        bio=bio,
        themes=themes.THEMES,
        own_forms=forms,
        is_empty=is_empty,
        lacks_form=lacks_form,
        block_clicks={str(block): count for block, (count, _) in clicks.items()},
        local_time=partial(local_time, zone=context.time_zone),
        picture_url=partial(pictures.url_of, url=PICTURES),
        short_url=lambda bio: _short_url(bio, context),
    )


def _confirmation(context: PageContext, ids: Sequence[int], vanished: Sequence[int]) -> Response:
    bios = context.read(lambda tx: [ops.get_owned(tx, context.account, bio) for bio in ids])
    return context.render(
        "bios/delete.html", bios=bios, vanished=vanished, short_url=lambda bio: _short_url(bio, context)
    )


def _short_url(bio: ops.Bio, context: PageContext) -> str:
    return short_url(context.settings.base, "", None, bio.alias)
