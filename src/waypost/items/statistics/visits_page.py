"""The page of single visits: filters, new visits as they happen, and CSV."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping
from starlette.responses import Response

from waypost.clicks.stats import stored_visits
from waypost.clicks.stats.stored_visits import DIMENSIONS, VisitFilter, VisitPage
from waypost.core import clock
from waypost.dashboard import downloads, forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import current_language, format_day, gettext
from waypost.dashboard.live_visits import GAP, VISITS
from waypost.dashboard.routing import Router
from waypost.dashboard.statistics import label_text
from waypost.dashboard.visited_item_names import Item, Key, find_items
from waypost.db.item_columns import CLICK_TOTALS
from waypost.http import server_sent_events
from waypost.items.statistics import onboarding

pages = Router()
_KINDS = frozenset({*CLICK_TOTALS, "missing"})
_SORTS = ("click", "bot", "preview", "other", "late")
_ALL_SORTS = "all"
_MAX_MS = 2**62
_REFRESH_SECONDS = 10  # of the page without scripts, if its link for that was followed
_MAX_NAME = 80  # characters of an item in a file name


@pages.get("/dashboard/visits")
def visits(context: PageContext) -> Response:
    visit_filter = _requested_filter(context)
    if context.query("format") == "csv":
        return _csv_response(context, visit_filter)
    before = context.query_id("before")

    def work(tx: Connection) -> tuple[VisitPage, Mapping[Key, Item], bool]:
        page = stored_visits.search(tx, context.account, visit_filter, before=before, after=0)
        keys = {(row["kind"], row["item"]) for row in page.visits}
        if visit_filter.item is not None:
            keys.add((visit_filter.kind, visit_filter.item))
        return page, find_items(tx, context.account, keys), onboarding.has_link(tx, context.account)

    page, items, has_link = context.read_after_ingest(work)
    is_refreshed = before is None and context.query("live") == str(_REFRESH_SECONDS)
    values: dict[str, Any] = {"page": page, "items": items, "before": before, "is_refreshed": is_refreshed}
    values["is_without_link"] = not has_link
    response = context.render("visits.html", **_context(context, visit_filter), **values)
    if is_refreshed:
        response.headers["Refresh"] = str(_REFRESH_SECONDS)
    return response


@pages.get("/dashboard/visits/live", snapshot=False)
def live_visits(context: PageContext) -> Response:
    """Send the rows of new visits as server-sent events, from the visit `after` or that of `Last-Event-ID` on."""
    visit_filter = _requested_filter(context)
    newest = forms.parse_id(context.request.headers.get("last-event-id", "")) or context.query_id("after") or 0

    def render(ids: Collection[int]) -> str:
        return _rows(context, visit_filter, lambda tx: stored_visits.find(tx, context.account, visit_filter, ids))

    def catch_up() -> str:
        page = context.read(
            lambda tx: stored_visits.search(tx, context.account, visit_filter, before=None, after=newest)
        )
        if not page.visits:
            return ""
        last = int(page.visits[0]["id"])
        if len(page.visits) == stored_visits.PAGE_SIZE:  # there can be more
            return server_sent_events.message(GAP, "", id=last)
        rows = _rows(context, visit_filter, lambda _: page.visits)
        return server_sent_events.message(VISITS, rows, id=last)

    shown_alike = (context.language, context.region, context.time_zone.key, _own_query(context))
    return context.services.live_visits.stream(context.account, shown_alike, render=render, catch_up=catch_up)


def _rows(context: PageContext, visit_filter: VisitFilter, find: Callable[[Connection], Sequence[RowMapping]]) -> str:
    """Return the rows of visits as HTML; "" if there are none."""
    current_language.set(context.language)

    def work(tx: Connection) -> tuple[Sequence[RowMapping], Mapping[Key, Item]]:
        visits = find(tx)
        return visits, find_items(tx, context.account, {(row["kind"], row["item"]) for row in visits})

    visits, items = context.read(work)
    if not visits:
        return ""
    values = _context(context, visit_filter)
    return context.services.render_template("live_visits.html", context=context, visits=visits, items=items, **values)


def _own_query(context: PageContext) -> Sequence[tuple[str, str]]:
    """Return the query without the part that differs between equal pages."""
    return tuple(pair for pair in context.request.query_params.multi_items() if pair[0] != "after")


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
