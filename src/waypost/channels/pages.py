"""The pages of channels: the shelf of them, what stands on each, and the way there and off again."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.channels import ops
from waypost.channels.api import ChannelChange, NewChannel, item_out
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import plural
from waypost.dashboard.routing import Router
from waypost.errors import not_found

pages = Router()
_SHAPE = Shape(flags=("starred",))
_LIST = "/dashboard/channels"
_FOUND = 25
_KINDS: tuple[ops.ItemType, ...] = get_args(ops.ItemType)


@pages.get("/dashboard/channels")
def list_channels(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.sizes(tx, [one.id for one in page.items])

    page, sizes = context.read(work)
    # The starred ones of this page come first.
    shown = sorted(page.items, key=lambda channel: not channel.starred)
    return context.render("channels/list.html", page=page, channels=shown, sizes=sizes)


@pages.get("/dashboard/channels/new")
def blank_channel(context: PageContext) -> Response:
    return context.render("channels/new.html", form=Form({"color": "#0d6b4f"}))


@pages.post("/dashboard/channels/new")
def add_channel(context: PageContext) -> Response:
    form = context.form(_SHAPE)

    def add() -> ops.Channel:
        fields = form.read(NewChannel, context.time_zone, _SHAPE).sent()
        return context.write(lambda tx: ops.add(tx, context.account, **fields))

    channel = form.attempt(add)
    if channel is None:
        return context.render("channels/new.html", status=400, form=form)
    return context.redirect(f"{_LIST}/{channel.id}", said="Your channel is ready.")


@pages.get("/dashboard/channels/{id:int}")
def show_channel(context: PageContext, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Channel, Any]:
        return ops.own(tx, context.account, id), ops.items(tx, context.account, id, context.page_request())

    channel, page = context.read(work)
    return context.render(
        "channels/show.html", channel=channel, page=page, shown=lambda item: item_out(item, context.settings.base)
    )


@pages.get("/dashboard/channels/{id:int}/edit")
def edit_channel(context: PageContext, id: int) -> Response:
    channel = context.read(lambda tx: ops.own(tx, context.account, id))
    return context.render("channels/edit.html", channel=channel, form=Form(_values(channel)))


@pages.post("/dashboard/channels/{id:int}")
def save_channel(context: PageContext, id: int) -> Response:
    before = context.read(lambda tx: ops.own(tx, context.account, id))
    form = context.form(_SHAPE, now=_values(before))

    def change() -> None:
        fields = form.read(ChannelChange, context.time_zone, _SHAPE).sent()
        context.save(
            form,
            lambda tx: _values(ops.own(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return context.render("channels/edit.html", status=400, channel=before, form=form)
    return context.redirect(f"{_LIST}/{id}", said="Saved.")


@pages.post("/dashboard/channels/{id:int}/star")
def star_channel(context: PageContext, id: int) -> Response:
    starred = context.form().text("starred") == "on"
    context.write(lambda tx: ops.change(tx, context.account, id, starred=starred))
    return context.redirect(_LIST)


@pages.get("/dashboard/channels/{id:int}/add")
def choose_items(context: PageContext, id: int) -> Response:
    q = context.query("q")
    kind: ops.ItemType = next((one for one in _KINDS if one == context.query("type")), "links")

    def work(tx: Connection) -> tuple[ops.Channel, list[ops.Candidate]]:
        return ops.own(tx, context.account, id), ops.candidates(tx, context.account, id, kind, _FOUND, q=q)

    channel, found = context.read(work)
    told: dict[str, Any] = {"q": q, "kind": kind, "most": _FOUND, "own": context.settings.own_host}
    return context.render("channels/add.html", channel=channel, found=found, **told)


@pages.post("/dashboard/channels/{id:int}/add")
def assign_items(context: PageContext, id: int) -> Response:
    return _moved(context, id, ops.assign, "It is on the channel.", "%(count)s things are on the channel.")


@pages.post("/dashboard/channels/{id:int}/remove")
def unassign_items(context: PageContext, id: int) -> Response:
    return _moved(context, id, ops.unassign, "It is off the channel.", "%(count)s things are off the channel.")


@pages.get("/dashboard/channels/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    channel, sizes = context.read(lambda tx: (ops.own(tx, context.account, id), ops.sizes(tx, [id])))
    return context.render("channels/delete.html", channel=channel, size=sizes.get(id, 0))


@pages.post("/dashboard/channels/{id:int}/delete")
def delete_channel(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, said="The channel is deleted. What stood on it stays.")


def _moved(context: PageContext, id: int, move: Any, one: str, more: str) -> Response:
    """Assign or unassign what was ticked: `links-7` is the link 7."""
    ticked = [name.partition("-") for name in context.fields.get("item", ())]
    if not ticked:
        return context.redirect(f"{_LIST}/{id}", said="Tick the things that you mean first.", tone="bad")
    if not all(kind in _KINDS and number.isdecimal() and len(number) < 16 for kind, _, number in ticked):
        raise not_found()

    def work(tx: Connection) -> None:
        for kind, _, number in ticked:
            move(tx, context.account, id, kind, int(number))

    context.write(work)
    return context.redirect(f"{_LIST}/{id}", said=plural(len(ticked), one, more))


def _values(channel: ops.Channel) -> Mapping[str, Value]:
    """What the editor shows of a channel."""
    told = {name: getattr(channel, name) for name in ("name", "description", "color")}
    return {**told, "starred": "on" if channel.starred else ""}
