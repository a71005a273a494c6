"""Dashboard pages of channels: list, editor, items."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core.errors import not_found
from waypost.dashboard import statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.db import channel_colors
from waypost.items.channels import ops
from waypost.items.channels.api import ChannelChange, NewChannel, item_out

pages = Router()
_SHAPE = Shape(flags=("starred",))
_LIST = "/dashboard/channels"
_MAX_CANDIDATES = 25
_TYPES: tuple[ops.ItemType, ...] = get_args(ops.ItemType)


@pages.get("/dashboard/channels")
def list_channels(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, ops.Totals]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.totals(tx, context.account, [channel.id for channel in page.items])

    page, totals = context.read(work)
    # Starred channels come first on their page.
    channels = sorted(page.items, key=lambda channel: not channel.starred)
    return context.render_list("channels/list.html", page, channels=channels, totals=totals)


@pages.get("/dashboard/channels/new")
def show_new_form(context: PageContext) -> Response:
    color = context.read(lambda tx: next(channel_colors.in_turn(tx, context.account)))
    return context.render("channels/new.html", form=Form({"color": color}))


@pages.post("/dashboard/channels/new", resumable=True)
def create_channel(context: PageContext) -> Response:
    form = context.form(_SHAPE)
    channel = context.create(form, NewChannel, ops.add, _SHAPE)
    if channel is None:
        return context.render("channels/new.html", status=400, form=form)
    return context.redirect(f"{_LIST}/{channel.id}", message="Your channel is ready.")


@pages.get("/dashboard/channels/{id:int}")
def show_channel(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Channel, Any]:
        return ops.get_owned(tx, context.account, id), ops.items(tx, context.account, id, context.page_request())

    channel, page = context.read(work)
    return context.render_list(
        "channels/show.html",
        page,
        channel=channel,
        item_details=lambda item: item_out(item, context.settings.base),
    )


@pages.get("/dashboard/channels/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    channel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return statistics.page(context, "channel", id, title=channel.name, back=f"{_LIST}/{id}")


@pages.get("/dashboard/channels/{id:int}/edit")
def show_editor(context: PageContext, id: int) -> Response:
    channel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("channels/edit.html", channel=channel, form=Form(_values(channel)))


@pages.post("/dashboard/channels/{id:int}", resumable=True)
def update_channel(context: PageContext, id: int) -> Response:
    channel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    form = context.form(_SHAPE, current=_values(channel))

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, ChannelChange, ops.change, id, stored, _SHAPE):
        return context.render("channels/edit.html", status=400, channel=channel, form=form)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.post("/dashboard/channels/{id:int}/star")
def update_star(context: PageContext, id: int) -> Response:
    starred = context.form().text("starred") == "on"
    context.write(lambda tx: ops.change(tx, context.account, id, starred=starred))
    return context.redirect(_LIST)


@pages.get("/dashboard/channels/{id:int}/add")
def show_candidates(context: PageContext, id: int) -> Response:
    q = context.query("q")
    item_type: ops.ItemType = next((name for name in _TYPES if name == context.query("type")), "links")

    def work(tx: Connection) -> tuple[ops.Channel, list[ops.Candidate]]:
        parsed = context.search_words(tx, q)
        candidates = ops.candidates(tx, context.account, id, item_type, _MAX_CANDIDATES, words=parsed)
        return ops.get_owned(tx, context.account, id), candidates

    channel, candidates = context.read(work)
    return context.render(
        "channels/add.html",
        channel=channel,
        candidates=candidates,
        q=q,
        type=item_type,
        limit=_MAX_CANDIDATES,
        short_url=context.short_url,
    )


@pages.post("/dashboard/channels/{id:int}/add")
def add_items(context: PageContext, id: int) -> Response:
    return _for_selected(context, id, ops.assign, "The item was added.", "%(count)s items were added.")


@pages.post("/dashboard/channels/{id:int}/remove")
def remove_items(context: PageContext, id: int) -> Response:
    return _for_selected(context, id, ops.unassign, "The item was removed.", "%(count)s items were removed.")


@pages.get("/dashboard/channels/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    account = context.account
    channel, totals = context.read(lambda tx: (ops.get_owned(tx, account, id), ops.totals(tx, account, [id])))
    return context.render("channels/delete.html", channel=channel, item_count=totals.get(id, ops.Totals()).items)


@pages.post("/dashboard/channels/{id:int}/delete")
def delete_channel(context: PageContext, id: int) -> Response:
    message = "The channel was deleted. Its items were kept."
    return trash.delete(context, "channel", [id], trash.one_by_one(ops.remove), singular=message)


def _for_selected(context: PageContext, id: int, change: Any, singular: str, plural: str) -> Response:
    """Run `change` (assign or unassign) for the selected items, all or none. `links-7` is the link 7."""
    selected = [name.partition("-") for name in context.fields.get("item", ())]
    if not selected:
        return context.redirect(f"{_LIST}/{id}", message="Select at least one item.", tone="bad")
    if not all(name in _TYPES and number.isdecimal() and len(number) < 16 for name, _, number in selected):
        raise not_found()

    def work(tx: Connection) -> None:
        for name, _, number in sorted(selected):
            change(tx, context.account, id, name, int(number))

    context.write(work)
    return context.redirect(f"{_LIST}/{id}", message=ngettext(singular, plural, len(selected)))


def _values(channel: ops.Channel) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    fields = {name: getattr(channel, name) for name in ("name", "description", "color")}
    return {**fields, "starred": "on" if channel.starred else ""}
