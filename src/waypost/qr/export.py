"""QR images of a campaign or channel: its links, bio pages and QR codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from waypost.db import crud
from waypost.db.schema import bios, campaigns, channel_items, channels, domains, links, qrs
from waypost.qr import ops
from waypost.qr.ops import Draft
from waypost.qrcode.styles import PLAIN
from waypost.settings import Settings
from waypost.urls.short_urls import short_url


@dataclass(frozen=True)
class Member:
    """A thing with a picture: `host` is "" on the service's own, `code` the id of a QR code."""

    host: str
    scheme: str | None
    alias: str
    code: int | None = None

    @property
    def name(self) -> str:
        """The unique file name without extension."""
        return f"{self.host}_{self.alias}" if self.host else self.alias


def of_campaign(tx: Connection, account: int, campaign: int) -> Sequence[Member]:
    """The links of a campaign (index links_campaign). Raises INVALID on `campaign`."""
    crud.require_reference(tx, campaigns, account, campaign, field="campaign")
    query = select(links.c.host, domains.c.scheme, links.c.alias).outerjoin(domains, domains.c.host == links.c.host)
    return _members(tx, query.where(links.c.campaign == campaign).order_by(links.c.id))


def of_channel(tx: Connection, account: int, channel: int) -> Sequence[Member]:
    """Return the items of a channel (index channel_items_channel_id). Raises INVALID on `channel`."""
    crud.require_reference(tx, channels, account, channel, field="channel")
    c = channel_items.c
    alias = func.coalesce(links.c.alias, bios.c.alias, qrs.c.alias).label("alias")
    query = (
        select(func.coalesce(links.c.host, "").label("host"), domains.c.scheme, alias, c.qr.label("code"))
        .outerjoin(links, links.c.id == c.link)
        .outerjoin(domains, domains.c.host == links.c.host)
        .outerjoin(bios, bios.c.id == c.bio)
        .outerjoin(qrs, qrs.c.id == c.qr)
        .where(c.channel == channel)
        .order_by(c.id)
    )
    return _members(tx, query)


def to_draw(tx: Connection, member: Member, settings: Settings) -> Draft | None:
    """Return the data to render a member; None if it was deleted."""
    if member.code is not None:
        return ops.saved(tx, member.code, settings)
    url = short_url(settings.base, member.host, member.scheme, member.alias)
    return Draft(member.alias, {}, url, PLAIN, None)


def _members(tx: Connection, selected: Select[Any]) -> Sequence[Member]:
    return [Member(**row) for row in tx.execute(selected).mappings()]
