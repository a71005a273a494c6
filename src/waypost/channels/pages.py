"""The pages of channels: the shelf of them, what stands on each, and the way there and off again."""

from collections.abc import Mapping
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.channels import ops
from waypost.channels.api import ChannelChange, NewChannel, item_out
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural
from waypost.errors import not_found

pages = Pages()
_SHAPE = Shape(flags=("starred",))
_LIST = "/dashboard/channels"
_FOUND = 25
_KINDS: tuple[ops.ItemType, ...] = get_args(ops.ItemType)


@pages.get("/dashboard/channels")
def list_channels(desk: Desk) -> Response:
    def work(tx: Connection) -> tuple[Any, Mapping[int, int]]:
        page = ops.page(tx, desk.account, desk.window())
        return page, ops.sizes(tx, [one.id for one in page.items])

    page, sizes = desk.read(work)
    # The starred ones of this page come first.
    shown = sorted(page.items, key=lambda channel: not channel.starred)
    return desk.page("channels/list.html", page=page, channels=shown, sizes=sizes)


@pages.get("/dashboard/channels/new")
def blank_channel(desk: Desk) -> Response:
    return desk.page("channels/new.html", form=Form({"color": "#0d6b4f"}))


@pages.post("/dashboard/channels/new")
def add_channel(desk: Desk) -> Response:
    form = desk.typed(_SHAPE)

    def add() -> ops.Channel:
        fields = form.read(NewChannel, desk.zone, _SHAPE).sent()
        return desk.write(lambda tx: ops.add(tx, desk.account, **fields))

    channel = form.attempt(add)
    if channel is None:
        return desk.page("channels/new.html", status=400, form=form)
    return desk.go(f"{_LIST}/{channel.id}", said="Your channel is ready.")


@pages.get("/dashboard/channels/{id:int}")
def show_channel(desk: Desk, id: int) -> Response:
    def work(tx: Connection) -> tuple[ops.Channel, Any]:
        return ops.own(tx, desk.account, id), ops.items(tx, desk.account, id, desk.window())

    channel, page = desk.read(work)
    return desk.page(
        "channels/show.html", channel=channel, page=page, shown=lambda item: item_out(item, desk.settings.base)
    )


@pages.get("/dashboard/channels/{id:int}/edit")
def edit_channel(desk: Desk, id: int) -> Response:
    channel = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return desk.page("channels/edit.html", channel=channel, form=Form(_values(channel)))


@pages.post("/dashboard/channels/{id:int}")
def save_channel(desk: Desk, id: int) -> Response:
    before = desk.read(lambda tx: ops.own(tx, desk.account, id))
    form = desk.typed(_SHAPE, now=_values(before))

    def change() -> None:
        fields = form.read(ChannelChange, desk.zone, _SHAPE).sent()
        desk.save(
            form,
            lambda tx: _values(ops.own(tx, desk.account, id)),
            lambda tx: ops.change(tx, desk.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return desk.page("channels/edit.html", status=400, channel=before, form=form)
    return desk.go(f"{_LIST}/{id}", said="Saved.")


@pages.post("/dashboard/channels/{id:int}/star")
def star_channel(desk: Desk, id: int) -> Response:
    starred = desk.typed().text("starred") == "on"
    desk.write(lambda tx: ops.change(tx, desk.account, id, starred=starred))
    return desk.go(_LIST)


@pages.get("/dashboard/channels/{id:int}/add")
def choose_items(desk: Desk, id: int) -> Response:
    q = desk.asked("q")
    kind: ops.ItemType = next((one for one in _KINDS if one == desk.asked("type")), "links")

    def work(tx: Connection) -> tuple[ops.Channel, list[ops.Candidate]]:
        return ops.own(tx, desk.account, id), ops.candidates(tx, desk.account, id, kind, _FOUND, q=q)

    channel, found = desk.read(work)
    told: dict[str, Any] = {"q": q, "kind": kind, "most": _FOUND, "own": desk.settings.own_host}
    return desk.page("channels/add.html", channel=channel, found=found, **told)


@pages.post("/dashboard/channels/{id:int}/add")
def assign_items(desk: Desk, id: int) -> Response:
    return _moved(desk, id, ops.assign, "It is on the channel.", "%(count)s things are on the channel.")


@pages.post("/dashboard/channels/{id:int}/remove")
def unassign_items(desk: Desk, id: int) -> Response:
    return _moved(desk, id, ops.unassign, "It is off the channel.", "%(count)s things are off the channel.")


@pages.get("/dashboard/channels/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    channel, sizes = desk.read(lambda tx: (ops.own(tx, desk.account, id), ops.sizes(tx, [id])))
    return desk.page("channels/delete.html", channel=channel, size=sizes.get(id, 0))


@pages.post("/dashboard/channels/{id:int}/delete")
def delete_channel(desk: Desk, id: int) -> Response:
    desk.write(lambda tx: ops.remove(tx, desk.account, id))
    return desk.go(_LIST, said="The channel is deleted. What stood on it stays.")


def _moved(desk: Desk, id: int, move: Any, one: str, more: str) -> Response:
    """Assign or unassign what was ticked: `links-7` is the link 7."""
    ticked = [name.partition("-") for name in desk.fields.get("item", ())]
    if not ticked:
        return desk.go(f"{_LIST}/{id}", said="Tick the things that you mean first.", tone="bad")
    if not all(kind in _KINDS and number.isdecimal() and len(number) < 16 for kind, _, number in ticked):
        raise not_found()

    def work(tx: Connection) -> None:
        for kind, _, number in ticked:
            move(tx, desk.account, id, kind, int(number))

    desk.write(work)
    return desk.go(f"{_LIST}/{id}", said=plural(len(ticked), one, more))


def _values(channel: ops.Channel) -> Mapping[str, Value]:
    """What the editor shows of a channel."""
    told = {name: getattr(channel, name) for name in ("name", "description", "color")}
    return {**told, "starred": "on" if channel.starred else ""}
