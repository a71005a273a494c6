"""The list of links as CSV, with the list's search and filters."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core import clock, csv_export
from waypost.dashboard import downloads
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext
from waypost.items.links import list_search, list_state, ops
from waypost.items.links.list_state import ListQuery

_BATCH = 500
_COLUMNS = (
    *("id", "shorturl", "url", "title", "description", "status", "expiry", "clicklimit", "campaign", "channels"),
    *("clicks", "uniqueclicks", "created"),
)


def response(content: Iterator[str]) -> Response:
    """Return lines of CSV as a download."""
    return downloads.csv_file(gettext("Links"), content)


def lines(context: PageContext, query: ListQuery) -> Iterator[str]:
    """Yield all links that match, newest first, in batches.

    Each batch is a transaction of its own, so that a slow client holds no snapshot.
    """
    yield csv_export.lines([_COLUMNS])
    below: int | None = None
    while rows := context.read(partial(_rows, context=context, query=query, below=below)):
        below = rows[-1][0]
        yield csv_export.lines(rows)


def lines_of(context: PageContext, ids: Sequence[int]) -> Iterator[str]:
    """Yield the links of the account with these ids, in this order, in batches as `lines`."""
    yield csv_export.lines([_COLUMNS])
    for start in range(0, len(ids), _BATCH):
        part = ids[start : start + _BATCH]
        yield csv_export.lines(context.read(partial(_rows_of, context=context, ids=part)))


def _rows(tx: Connection, context: PageContext, query: ListQuery, below: int | None) -> Sequence[Sequence[Any]]:
    ids = list_search.newest_ids(
        tx, context.account, query.words(tx, context), query.link_filter, limit=_BATCH, below=below
    )
    return _rows_of(tx, context, ids)


def _rows_of(tx: Connection, context: PageContext, ids: Sequence[int]) -> Sequence[Sequence[Any]]:
    listed = ops.get_many(tx, context.account, ids)
    details = list_state.read(tx, context.account, listed, with_dead=False)
    return [_row(context, link, details) for link in listed if link.id in details.states]


def _row(context: PageContext, link: ops.Link, details: list_state.ListDetails) -> Sequence[Any]:
    state = details.states[link.id]
    return (
        link.id,
        context.short_url(link),
        link.url,
        link.title,
        link.description,
        state.status,
        "" if state.expiry is None else clock.text(state.expiry),
        "" if state.clicklimit is None else state.clicklimit,
        details.campaigns.get(link.campaign or 0, ""),
        ", ".join(details.channels[channel][0] for channel in link.channel if channel in details.channels),
        link.clicks,
        link.uniqueclicks,
        clock.text(link.created),
    )
