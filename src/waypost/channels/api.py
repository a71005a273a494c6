"""`/channels` and `/channel/…` (API document, section Channels; decision 37)."""

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost import clock
from waypost.aliases.urls import short_url
from waypost.api import lists
from waypost.api.answers import Done
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came
from waypost.api.fields import Color, Name, Paragraph, PathId
from waypost.channels import ops

router = APIRouter(route_class=JsonRoute, tags=["Channels"])


class ChannelOut(BaseModel):
    """A channel, as the API document shows it."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    description: str
    color: str
    starred: bool


class ChannelDone(ChannelOut, Done):
    """What create and update answer: the message and the whole channel."""


class ItemOut(BaseModel):
    """A thing on a channel."""

    type: ops.ItemType
    id: int
    title: str
    preview: str
    link: str
    date: str = Field(examples=["2026-11-21"])


class NewChannel(Body):
    name: Name
    description: Paragraph | None = None
    color: Color | None = None
    starred: bool | None = None


class ChannelChange(Body):
    name: Name = ""
    description: Paragraph | None = None
    color: Color | None = None
    starred: bool | None = None


@router.get("/channels", response_model=lists.envelope("channels", ChannelOut))
def list_channels(door: Came, asked: lists.Asked) -> Any:
    page = door.read(lambda tx: ops.page(tx, door.account, asked))
    return lists.answer("channels", page, ChannelOut.model_validate)


@router.get("/channel/{id}", response_model=lists.envelope("items", ItemOut))
def list_channel_items(door: Came, id: PathId, asked: lists.Asked) -> Any:
    page = door.read(lambda tx: ops.items(tx, door.account, id, asked))
    return lists.answer("items", page, lambda item: item_out(item, door.settings.base))


@router.post("/channel/add")
def add_channel(door: Came, body: NewChannel) -> ChannelDone:
    channel = door.write(lambda tx: ops.add(tx, door.account, **body.sent()))
    return _done("Channel has been created successfully.", channel)


@router.put("/channel/{id}/update")
def update_channel(door: Came, id: PathId, body: ChannelChange) -> ChannelDone:
    channel = door.write(lambda tx: ops.change(tx, door.account, id, **body.sent()))
    return _done("Channel has been updated successfully.", channel)


@router.delete("/channel/{id}/delete")
def delete_channel(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Channel has been deleted successfully.")


@router.post("/channel/{channelid}/assign/{type}/{itemid}")
def assign_to_channel(door: Came, channelid: PathId, type: Literal["links", "bio", "qr"], itemid: PathId) -> Done:
    door.write(lambda tx: ops.assign(tx, door.account, channelid, type, itemid))
    return Done(message="Item successfully added to the channel.")


def _done(message: str, channel: ops.Channel) -> ChannelDone:
    return ChannelDone(message=message, **ChannelOut.model_validate(channel).model_dump())


def item_out(item: ops.Item, base: str) -> ItemOut:
    link = short_url(base, item.host, item.scheme, item.alias)
    preview = f"{base}/qr/{item.alias}" if item.type == "qr" else f"{link}/qr"
    title = item.title or link
    return ItemOut(type=item.type, id=item.id, title=title, preview=preview, link=link, date=clock.day(item.assigned))
