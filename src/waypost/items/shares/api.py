"""`/shares` and `/share/…`: share links of statistics (decision 118)."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import (
    CreatedAt,
    Expiry,
    ExpiryText,
    HasPassword,
    Id,
    ItemId,
    Line,
    NewPassword,
    PathId,
    whole_number,
)
from waypost.core import clock, credentials
from waypost.core.errors import invalid
from waypost.items.shares import ops
from waypost.items.shares.ops import ItemType, Share

router = APIRouter(tags=["Share links"])

_MAX_DAYS = 3660
_TYPE = Field(description="Kind of the item; `account` for the whole account.", examples=["link"])
_ITEM = Field(description="Id of the item whose statistics are shared, or of your account.", examples=[1])
_TITLE = Field(
    description="Heading of the page; by default the short URL, or the name of the campaign.", examples=["Spring sale"]
)
_SLUG = Field(
    description="Makes the address public and readable: 3 to 50 letters, digits, `-` and `_`; the id follows. Without"
    " it the address is secret.",
    examples=["spring-sale"],
)
_FIRST = Field(description="First day that is shown, `YYYY-MM-DD`.", examples=["2026-11-01"])
_LAST = Field(description="Last day that is shown, `YYYY-MM-DD`.", examples=["2026-11-30"])
_DAYS = Field(description="Only so many days until today are shown, instead of fixed days.", examples=[30])
_ZONE = Field(description="Time zone of the days.", examples=["Europe/Berlin"])


class ShareOut(BaseModel):
    """A share link."""

    id: Id
    type: ItemType = _TYPE
    itemid: int = _ITEM
    url: str = Field(
        description="Address of the page. A secret one must not be published.",
        examples=["https://go.example.com/stats/spring-sale-1"],
    )
    title: str = _TITLE
    slug: str = _SLUG
    haspassword: HasPassword
    firstday: str = _FIRST
    lastday: str = _LAST
    days: int | None = _DAYS
    timezone: str = _ZONE
    expiry: ExpiryText
    date: CreatedAt


class ShareDetails(Success):
    """One share link."""

    details: ShareOut = Field(description="The share link.")


class ShareDone(ShareOut, MessageResponse):
    """The response to create and update: a message and the share link."""


class ShareChange(Body):
    """The fields of a share link. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Spring sale", "days": 30}]})

    title: Annotated[Line | None, _TITLE] = None
    slug: Annotated[Line | None, _SLUG] = None
    password: NewPassword | None = None
    firstday: Annotated[Line | None, _FIRST] = None
    lastday: Annotated[Line | None, _LAST] = None
    days: Annotated[Annotated[int, Field(ge=1, le=_MAX_DAYS)] | None, _DAYS] = None
    timezone: Annotated[Line | None, _ZONE] = None
    expiry: Expiry | None = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains, the password hashed."""
        fields = super().sent()
        if self.password is not None:
            fields["password"] = credentials.hash_password(self.password)
        return fields


class NewShare(ShareChange):
    """A new share link."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"type": "link", "itemid": 1, "days": 30}]})

    type: Annotated[ItemType, _TYPE]
    itemid: Annotated[ItemId, _ITEM]


@router.get("/shares", response_model=pagination.list_model("shares", ShareOut))
def list_shares(
    context: Context,
    page_request: pagination.RequestedPage,
    type: Annotated[ItemType | None, Query(description="Only those of this kind of item.", examples=["link"])] = None,
    itemid: Annotated[
        ItemId | None,
        BeforeValidator(whole_number),
        Query(description="Only those of this item; requires `type`.", examples=[1]),
    ] = None,
) -> Any:
    """List the share links of statistics, newest first."""
    if itemid is not None and type is None:
        raise invalid("type", "type is required with itemid.")
    page = context.read(lambda tx: ops.page(tx, context.account, page_request, kind=type, item=itemid))
    return pagination.list_response("shares", page, lambda share: share_out(share, context.settings.dashboard))


@router.get("/share/{id}")
def read_share(context: Context, id: PathId) -> ShareDetails:
    """Read a share link."""
    share = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ShareDetails(details=share_out(share, context.settings.dashboard))


@router.post("/share/add")
def create_share(context: Context, body: NewShare) -> Change[ShareDone]:
    """Share the statistics of a link, QR code, bio page or campaign, or of the whole account.

    The page needs no account. It shows the statistics of this item only; those of an account without its items.
    """
    fields = {name: value for name, value in body.sent().items() if name not in ("type", "itemid")}
    return Change(
        lambda tx: ops.add(tx, context.account, body.type, body.itemid, **fields),
        lambda share: _done("Share link has been created successfully.", share, context.settings.dashboard),
    )


@router.put("/share/{id}/update")
def update_share(context: Context, id: PathId, body: Partial[ShareChange]) -> Change[ShareDone]:
    """Update a share link.

    Fields that are not sent keep their values; `null` sets the default.
    """
    fields = body.sent()
    return Change(
        lambda tx: ops.change(tx, context.account, id, **fields),
        lambda share: _done("Share link has been updated successfully.", share, context.settings.dashboard),
    )


@router.delete("/share/{id}/delete")
def delete_share(context: Context, id: PathId) -> Change[MessageResponse]:
    """Revoke a share link: its page is gone at once."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Share link has been deleted successfully."),
    )


def share_out(share: Share, base: str) -> ShareOut:
    """Return a share link as the API shows it. `base` is the origin of the dashboard, which has its page."""
    kind, item = share.key
    return ShareOut(
        id=share.id,
        type=kind,
        itemid=item,
        url=base + share.path,
        title=share.title,
        slug=share.slug,
        haspassword=share.password is not None,
        firstday=share.firstday,
        lastday=share.lastday,
        days=share.days,
        timezone=share.timezone,
        expiry="" if share.expiry is None else clock.text(share.expiry),
        date=clock.text(share.created),
    )


def _done(message: str, share: Share, base: str) -> ShareDone:
    return ShareDone(message=message, **share_out(share, base).model_dump())
