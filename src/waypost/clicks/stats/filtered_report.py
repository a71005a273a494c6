"""Reports of the single visits that match a filter, with the clicks by item."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from waypost.clicks.blocks.visit_counts import ALL_PARTS, Counts, Parts
from waypost.clicks.ingest.aggregate import DAY, QUARTER
from waypost.clicks.ingest.ingester import EVENTS_COMPLETE_SINCE
from waypost.clicks.stats.reports import Report, Span, Times, compose
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.core import clock, module_loading
from waypost.db.schema import installation

_FILTERED = "waypost.clicks.blocks.filtered_counts"
MAX_ITEMS = 50
_ONLY_ITEMS: Parts = frozenset({"items"})


@dataclass(frozen=True)
class FilteredReport:
    """A report; `times` are its counts by quarter of an hour, `items` the clicks by kind and id, most clicks first."""

    report: Report
    times: Times
    items: Mapping[tuple[str, int], int]


def kept_since(tx: Connection, events_days: int) -> int | None:
    """Return the second since which single visits are kept without a gap; None if none are kept."""
    query = select(installation.c.value).where(installation.c.name == EVENTS_COMPLETE_SINCE)
    stored = tx.execute(query).scalar_one_or_none()
    if not events_days:
        return None
    return max(int(stored or 0), clock.now() - events_days * DAY)


def read(tx: Connection, account: int, visit_filter: VisitFilter, span: Span, since: int) -> FilteredReport:
    """Return the report of the visits of a span that match and are kept since a second.

    A visitor of a day counts as unique if the first click of the day matches, as in reports without filter.
    """
    counts = count_span(tx, account, visit_filter, span, since)
    labels = {
        name: {label: n for label, n in counter.most_common() if label} for name, counter in counts.labels.items()
    }
    return FilteredReport(compose(span, counts.times, labels), counts.times, dict(counts.items.most_common()))


def clicks_by_item(tx: Connection, account: int, span: Span, since: int) -> Mapping[tuple[str, int], int]:
    """Return the clicks of each clicked item of an account in a span, most clicks first."""
    counts = count_span(tx, account, VisitFilter(), span, since, parts=_ONLY_ITEMS)
    return dict(counts.items.most_common())


def counts_until(tx: Connection, account: int, visit_filter: VisitFilter, span: Span, after: int) -> Counts:
    """Return the counts by time and item of a span whose visits are all kept, before the second `after`."""
    return count_span(tx, account, visit_filter, span, 0, after=after, parts=_ONLY_ITEMS)


def count_span(
    tx: Connection,
    account: int,
    visit_filter: VisitFilter,
    span: Span,
    since: int,
    *,
    after: int | None = None,
    parts: Parts = ALL_PARTS,
) -> Counts:
    """Count the visits of a span before `after`, with the precision of a quarter of an hour."""
    first, end = span.seconds()
    first = max(first, -(-since // QUARTER) * QUARTER)
    end = end if after is None else -(-min(after, end) // QUARTER) * QUARTER
    counts: Counts = module_loading.load(_FILTERED).count(tx, account, visit_filter, first, end, parts=parts)
    return counts
