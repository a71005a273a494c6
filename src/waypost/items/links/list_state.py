"""The state of a list of links: its query, and the tags and groups of the links that it shows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.errors import not_found
from waypost.dashboard import list_periods
from waypost.dashboard.context import PageContext
from waypost.dashboard.list_periods import ListPeriod
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import campaigns, channels, links
from waypost.items.links import dead_links, list_search
from waypost.items.links.columns import Status
from waypost.items.links.filters import NO_FILTER, LinkFilter, State
from waypost.items.links.ops import Link
from waypost.search.words import Word
from waypost.urls import alias_namespace

MAX_SELECTED = 10_000
"""Links that one action changes, up to 1,000 in one transaction."""


@dataclass(frozen=True)
class ListQuery:
    """`status` is that of the filter: a status, a state, `dead` or `imported`."""

    q: str
    order: list_search.Order
    link_filter: LinkFilter
    status: str
    created: ListPeriod

    @property
    def is_filtered(self) -> bool:
        """The list does not have all links."""
        return bool(self.q) or self.link_filter != NO_FILTER

    def page(self, tx: Connection, context: PageContext, window: PageRequest) -> Page[Link]:
        """Return a page of the links that match."""
        return list_search.quick_page(
            tx, context.account, window, order=self.order, words=self.words(tx, context), link_filter=self.link_filter
        )

    def first_links(self, tx: Connection, context: PageContext) -> Sequence[Link]:
        """Return the first links that match, as many as one action changes."""
        return self.page(tx, context, PageRequest(limit=MAX_SELECTED)).items

    def words(self, tx: Connection, context: PageContext) -> Sequence[Word]:
        """Return the words of the search."""
        return context.search_words(tx, self.q)


def parse(context: PageContext) -> ListQuery:
    """Return the query; invalid values restrict nothing."""
    status, host = context.query("status"), context.query("domain")
    created = list_periods.requested(context)
    link_filter = LinkFilter(
        campaign=context.query_id("campaign"),
        channel=context.query_id("channel"),
        status=next((value for value in get_args(Status) if value == status), None),
        dead=status == "dead",
        imported=status == "imported",
        host=alias_namespace.OWN if host == context.settings.own_host else host or None,
        state=next((value for value in get_args(State) if value == status), None),
        since=created.since,
        until=created.until,
    )
    return ListQuery(
        q=context.query("q").strip(),
        order="click" if context.query("order") == "click" else "date",
        link_filter=link_filter,
        status=status,
        created=created,
    )


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
