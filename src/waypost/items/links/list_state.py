"""The state of a list of links: its query, and the tags and groups of the links that it shows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, get_args

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.errors import not_found
from waypost.dashboard import periods
from waypost.dashboard.context import PageContext
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import campaigns, channels, links
from waypost.items.links import dead_links, list_search
from waypost.items.links.columns import Status
from waypost.items.links.filters import NO_FILTER, LinkFilter, State
from waypost.items.links.ops import Link
from waypost.search.words import Word
from waypost.urls import alias_namespace

PERIODS = tuple(pair for pair in periods.PRESETS if pair[0] != periods.ALL)
"""Presets of the creation with their labels."""
MAX_SELECTED = 10_000
"""Links that one action changes, up to 1,000 in one transaction."""


@dataclass(frozen=True)
class ListQuery:
    """`status` is that of the filter: a status, a state, `dead` or `imported`.

    `period` is a preset of the creation, "days" with `first` or `last`, or "".
    """

    q: str
    order: list_search.Order
    link_filter: LinkFilter
    status: str
    period: str
    first: str
    last: str

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
    period, first, last = _period(context)
    since, until = _created_between(context, period, first, last)
    link_filter = LinkFilter(
        campaign=context.query_id("campaign"),
        channel=context.query_id("channel"),
        status=next((value for value in get_args(Status) if value == status), None),
        dead=status == "dead",
        imported=status == "imported",
        host=alias_namespace.OWN if host == context.settings.own_host else host or None,
        state=next((value for value in get_args(State) if value == status), None),
        since=since,
        until=until,
    )
    return ListQuery(
        q=context.query("q").strip(),
        order="click" if context.query("order") == "click" else "date",
        link_filter=link_filter,
        status=status,
        period=period,
        first=first.isoformat() if first else "",
        last=last.isoformat() if last else "",
    )


def has_days(parameters: Mapping[str, str]) -> bool:
    """Return whether the days `from` and `to` restrict a list. Addresses of earlier versions have no `period`."""
    return parameters.get("period", "days") == "days"


def _period(context: PageContext) -> tuple[str, date | None, date | None]:
    """Return the period of the query, and its days if the user chose them."""
    preset = context.query("period")
    if preset in dict(PERIODS):
        return preset, None, None
    if not has_days(context.request.query_params):
        return "", None, None
    first, last = _day(context.query("from")), _day(context.query("to"))
    return "days" if first or last else "", first, last


def _created_between(
    context: PageContext, period: str, first: date | None, last: date | None
) -> tuple[int | None, int | None]:
    """Return the first second of a period and the second after it; None does not restrict."""
    if period in dict(PERIODS):
        return periods.preset_seconds(context, period)
    return (
        None if first is None else _start(context, first),
        None if last is None else _start(context, last + timedelta(days=1)),
    )


def _day(value: str) -> date | None:
    """Return a day that has a day before and after it in every time zone, or None."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if 1 < day.year < 9999 else None


def _start(context: PageContext, day: date) -> int:
    """Return the Unix time at which a day begins in the viewer's time zone."""
    return int(datetime(day.year, day.month, day.day, tzinfo=context.time_zone).timestamp())


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
