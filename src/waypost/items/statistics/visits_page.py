"""The page of single visits: filters, new visits without reloading, and CSV."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.stats import stored_visits
from waypost.clicks.stats.stored_visits import DIMENSIONS, VisitFilter, VisitPage
from waypost.core import clock
from waypost.dashboard import downloads
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import format_day, gettext
from waypost.dashboard.routing import Router
from waypost.dashboard.statistics import label_text
from waypost.dashboard.visited_item_names import Item, Key, find_items
from waypost.db.item_columns import CLICK_TOTALS

pages = Router()
_KINDS = frozenset({*CLICK_TOTALS, "missing"})
_SORTS = ("click", "bot", "preview", "other", "late")
_ALL_SORTS = "all"
_MAX_MS = 2**62
_MAX_NAME = 80  # characters of an item in a file name


@pages.get("/dashboard/visits")
def visits(context: PageContext) -> Response:
    visit_filter = _requested_filter(context)
    if context.query("format") == "csv":
        return _csv_response(context, visit_filter)
    before, after = context.query_id("before"), context.query_id("after") or 0

    def work(tx: Connection) -> tuple[VisitPage, Mapping[Key, Item]]:
        page = stored_visits.search(tx, context.account, visit_filter, before=before, after=after)
        keys = {(row["kind"], row["item"]) for row in page.visits}
        if visit_filter.item is not None:
            keys.add((visit_filter.kind, visit_filter.item))
        return page, find_items(tx, context.account, keys)

    page, items = context.read_after_ingest(work)
    return context.render("visits.html", **_context(context, visit_filter), page=page, items=items, before=before)


def _requested_filter(context: PageContext) -> VisitFilter:
    """Return the filter of the query. Unknown values are ignored, like those of other lists."""
    kind, sort = context.query("kind"), context.query("sort", "click")
    labels = {name: value for name in DIMENSIONS if (value := context.query(name))}
    return VisitFilter(
        kind=kind if kind in _KINDS else "",
        item=context.query_id("item") if kind in _KINDS else None,
        sort="" if sort == _ALL_SORTS else sort if sort in _SORTS else "click",
        labels=labels,
    )


def _context(context: PageContext, visit_filter: VisitFilter) -> dict[str, Any]:
    return {
        "filter": visit_filter,
        "sort": visit_filter.sort or _ALL_SORTS,
        "days": context.settings.events_days,
        "label_text": label_text,
    }


def _csv_response(context: PageContext, visit_filter: VisitFilter) -> Response:
    """Return all visits that match, oldest first, without holding them in memory."""
    context.wait_for_ingest()
    lines = stored_visits.export(
        context.database, context.account, form="csv", first=0, after=_MAX_MS // 1000, where=visit_filter.condition()
    )
    return downloads.csv_file(", ".join(_file_name(context, visit_filter)), lines)


def _file_name(context: PageContext, visit_filter: VisitFilter) -> Iterator[str]:
    """Yield the parts of the name of a file with visits: their item, the values of the filter, and the day."""
    key = (visit_filter.kind, visit_filter.item or 0)
    item = context.read(lambda tx: find_items(tx, context.account, {key})).get(key)
    yield gettext("Visits")
    if item is not None and item.name:
        yield item.name[:_MAX_NAME]
    for name, value in visit_filter.labels.items():
        yield label_text(name, value)
    yield format_day(clock.local(clock.now(), context.time_zone).date())
