"""`/channels` and `/channel/…` (API document, section Channels; decision 37)."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse
from waypost.api.types import Color, Id, Name, Paragraph, PathId, ShortUrl
from waypost.core import clock
from waypost.items.channels import ops
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["Channels"])
_NAME = Field(description="Name, unique among your channels.", examples=["Print"])
_DESCRIPTION = Field(description="Text for yourself.", examples=["Flyers and posters"])
_COLOR = Field(description="Color of the badge, `#RRGGBB`.", examples=["#12AB34"])
_STARRED = Field(description="True to highlight the channel.", examples=[False])


class ChannelOut(BaseModel):
    """A channel."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str = _NAME
    description: str = _DESCRIPTION
    color: str = _COLOR
    starred: bool = _STARRED


class ChannelDone(ChannelOut, MessageResponse):
    """The response to create and update: a message and the channel."""


class ItemOut(BaseModel):
    """An item of a channel."""

    type: ops.ItemType = Field(description="Kind of the item.", examples=["links"])
    id: Id
    title: str = Field(description="Title or name of the item, or its short URL.", examples=["Spring sale"])
    preview: str = Field(description="URL of its QR code.", examples=["https://go.example.com/spring/qr"])
    link: ShortUrl
    date: str = Field(description="Day on which the item was assigned, in UTC.", examples=["2026-11-21"])


class NewChannel(Body):
    """A new channel."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Print", "color": "#12AB34"}]})

    name: Annotated[Name, _NAME]
    description: Annotated[Paragraph | None, _DESCRIPTION] = None
    color: Annotated[Color | None, _COLOR] = None
    starred: Annotated[bool | None, _STARRED] = None


class ChannelChange(NewChannel):
    """The fields of a channel. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"starred": True}]})

    name: Annotated[Name, _NAME] = ""


@router.get("/channels", response_model=pagination.list_model("channels", ChannelOut))
def list_channels(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List channels, newest first."""
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("channels", page, ChannelOut.model_validate)


@router.get("/channel/{id}", response_model=pagination.list_model("items", ItemOut))
def list_channel_items(context: Context, id: PathId, page_request: pagination.RequestedPage) -> Any:
    """List the items of a channel: links, bio pages and QR codes."""
    page = context.read(lambda tx: ops.items(tx, context.account, id, page_request))
    return pagination.list_response("items", page, lambda item: item_out(item, context.settings.base))


@router.post("/channel/add")
def create_channel(context: Context, body: NewChannel) -> Change[ChannelDone]:
    """Create a channel."""
    return Change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda channel: _done("Channel has been created successfully.", channel),
    )


@router.put("/channel/{id}/update")
def update_channel(context: Context, id: PathId, body: Partial[ChannelChange]) -> Change[ChannelDone]:
    """Update a channel.

    Fields that are not sent keep their values; `null` sets the default.
    """
    return Change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda channel: _done("Channel has been updated successfully.", channel),
    )


@router.delete("/channel/{id}/delete")
def delete_channel(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a channel. Its items are kept."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Channel has been deleted successfully."),
    )


@router.post("/channel/{channelid}/assign/{type}/{itemid}")
def assign_to_channel(
    context: Context,
    channelid: Annotated[PathId, Path(description="Id of the channel.")],
    type: Annotated[Literal["links", "bio", "qr"], Path(description="Kind of the item.", examples=["links"])],
    itemid: Annotated[PathId, Path(description="Id of the item.")],
) -> Change[MessageResponse]:
    """Add an item to a channel. Adding it again changes nothing."""
    return Change(
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
