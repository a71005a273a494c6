"""`/channels` and `/channel/…` (API document, section Channels; decision 37)."""

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost import clock
from waypost.api import pagination
from waypost.api.context import Context
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse
from waypost.api.types import Color, Name, Paragraph, PathId
from waypost.channels import ops
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["Channels"])


class ChannelOut(BaseModel):
    """A channel, as the API document shows it."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    description: str
    color: str
    starred: bool


class ChannelDone(ChannelOut, MessageResponse):
    """The response to create and update: a message and the channel."""


class ItemOut(BaseModel):
    """An item of a channel."""

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


class ChannelChange(NewChannel):
    name: Name = ""


@router.get("/channels", response_model=pagination.list_model("channels", ChannelOut))
def list_channels(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("channels", page, ChannelOut.model_validate)


@router.get("/channel/{id}", response_model=pagination.list_model("items", ItemOut))
def list_channel_items(context: Context, id: PathId, page_request: pagination.RequestedPage) -> Any:
    page = context.read(lambda tx: ops.items(tx, context.account, id, page_request))
    return pagination.list_response("items", page, lambda item: item_out(item, context.settings.base))


@router.post("/channel/add")
def add_channel(context: Context, body: NewChannel) -> ChannelDone:
    return context.change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda channel: _done("Channel has been created successfully.", channel),
    )


@router.put("/channel/{id}/update")
def update_channel(context: Context, id: PathId, body: ChannelChange) -> ChannelDone:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda channel: _done("Channel has been updated successfully.", channel),
    )


@router.delete("/channel/{id}/delete")
def delete_channel(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Channel has been deleted successfully."),
    )


@router.post("/channel/{channelid}/assign/{type}/{itemid}")
def assign_to_channel(
    context: Context, channelid: PathId, type: Literal["links", "bio", "qr"], itemid: PathId
) -> MessageResponse:
    return context.change(
        lambda tx: ops.assign(tx, context.account, channelid, type, itemid),
        lambda _: MessageResponse(message="Item successfully added to the channel."),
    )


def _done(message: str, channel: ops.Channel) -> ChannelDone:
    return ChannelDone(message=message, **ChannelOut.model_validate(channel).model_dump())


def item_out(item: ops.Item, base: str) -> ItemOut:
    link = short_url(base, item.host, item.scheme, item.alias)
    preview = f"{base}/qr/{item.alias}" if item.type == "qr" else f"{link}/qr"
    title = item.title or link
    return ItemOut(type=item.type, id=item.id, title=title, preview=preview, link=link, date=clock.day(item.assigned))
