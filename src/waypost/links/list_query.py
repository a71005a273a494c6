"""The query of the dashboard's list of links: search, order and filters, as its URL has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import get_args

from sqlalchemy import Connection

from waypost.dashboard.context import PageContext
from waypost.db.crud import Page, PageRequest
from waypost.links import quick_search, search
from waypost.links.columns import Status
from waypost.links.filters import NO_FILTER, LinkFilter, State
from waypost.links.ops import Link
from waypost.search.words import Word
from waypost.urls import alias_namespace

MAX_SELECTED = 10_000
"""Links that one action changes, up to 1,000 in one transaction."""


@dataclass(frozen=True)
class ListQuery:
    """`status` is that of the filter: a status, a state or `dead`. `first` and `last` are days of the creation."""

    q: str
    order: search.Order
    link_filter: LinkFilter
    status: str
    first: str
    last: str

    @property
    def is_filtered(self) -> bool:
        """The list does not have all links."""
        return bool(self.q) or self.link_filter != NO_FILTER

    def page(self, tx: Connection, context: PageContext, window: PageRequest) -> Page[Link]:
        """Return a page of the links that match."""
        return quick_search.quick_page(
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
    first, last = _day(context.query("from")), _day(context.query("to"))
    link_filter = LinkFilter(
        campaign=context.query_id("campaign"),
        channel=context.query_id("channel"),
        status=next((value for value in get_args(Status) if value == status), None),
        dead=status == "dead",
        host=alias_namespace.OWN if host == context.settings.own_host else host or None,
        state=next((value for value in get_args(State) if value == status), None),
        since=None if first is None else _start(context, first),
        until=None if last is None else _start(context, last + timedelta(days=1)),
    )
    return ListQuery(
        q=context.query("q").strip(),
        order="click" if context.query("order") == "click" else "date",
        link_filter=link_filter,
        status=status,
        first=first.isoformat() if first else "",
        last=last.isoformat() if last else "",
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
