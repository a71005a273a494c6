"""The states of links that a list shows as tags, and the campaigns and channels that it shows as chips."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from waypost import clock
from waypost.db.schema import campaigns, channels, links
from waypost.errors import not_found
from waypost.links import dead_links
from waypost.links.columns import Status
from waypost.links.ops import Link

GROUPS = {"campaign": campaigns, "channel": channels}
_SHOWN = ("status", "type", "expiry", "clicklimit", "taken")
_TARGETS = ("geotarget", "devicetarget", "languagetarget", "deeplink")


@dataclass(frozen=True)
class LinkState:
    """The settings of a link that decide about a visit. `type` is `direct`, `frame`, `splash` or `overlay`."""

    status: Status
    type: str
    expiry: int | None
    clicklimit: int | None
    taken: int
    has_password: bool
    has_targets: bool
    is_dead: bool
    is_expired: bool

    @property
    def is_used_up(self) -> bool:
        """The click limit is reached."""
        return self.clicklimit is not None and self.taken >= self.clicklimit


@dataclass(frozen=True)
class ListDetails:
    """States by link id, names of campaigns by id, and (name, color) of channels by id."""

    states: Mapping[int, LinkState]
    campaigns: Mapping[int, str]
    channels: Mapping[int, tuple[str, str]]


def read(tx: Connection, account: int, listed: Sequence[Link], *, with_dead: bool) -> ListDetails:
    """Return the details of the links of a page, with at most four statements for any number of links."""
    ids = [link.id for link in listed]
    dead = dead_links.dead_among(tx, account, ids) if with_dead else set()
    names = _SHOWN + _TARGETS
    query = select(links.c.id, links.c.password.is_not(None).label("locked"), *(links.c[name] for name in names))
    now = clock.now()
    states = {}
    for row in tx.execute(query.where(links.c.account == account, links.c.id.in_(ids))).mappings():
        states[row["id"]] = LinkState(
            **{name: row[name] for name in _SHOWN},
            has_password=row["locked"],
            has_targets=any(row[name] for name in _TARGETS),
            is_dead=row["id"] in dead,
            is_expired=row["expiry"] is not None and row["expiry"] < now,
        )
    campaign_ids = {link.campaign for link in listed if link.campaign is not None}
    channel_ids = {channel for link in listed for channel in link.channel}
    return ListDetails(
        states,
        {row.id: row.name for row in _rows(tx, campaigns, account, campaign_ids, "name")},
        {row.id: (row.name, row.color) for row in _rows(tx, channels, account, channel_ids, "name", "color")},
    )


def group_name(tx: Connection, account: int, kind: str, group: int) -> str:
    """Return the name of a group of this kind. Raises NOT_FOUND."""
    rows = _rows(tx, GROUPS[kind], account, [group], "name")
    if not rows:
        raise not_found(kind)
    return str(rows[0].name)


def _rows(tx: Connection, table: Any, account: int, ids: Collection[int], *names: str) -> Sequence[Any]:
    if not ids:
        return ()
    query = select(table.c.id, *(table.c[name] for name in names))
    return tx.execute(query.where(table.c.account == account, table.c.id.in_(ids))).all()
