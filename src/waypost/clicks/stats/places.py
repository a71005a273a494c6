"""Visitors by region and city. Places with fewer than five are not named: someone could recognize a person."""

from collections.abc import Mapping

from sqlalchemy import Connection

from waypost.clicks.geo.countries import UNKNOWN
from waypost.clicks.ingest.aggregate import PLACES
from waypost.clicks.ingest.label_limits import OTHER
from waypost.clicks.stats import span_labels
from waypost.clicks.stats.reports import Span
from waypost.clicks.stats.subjects import Subject

MIN_VISITORS = 5
"""Visitors of a place that is named."""
_MAX_PLACES = 40
_NAMELESS = (UNKNOWN, OTHER)


def visitors_by_place(tx: Connection, subject: Subject, span: Span) -> dict[str, dict[str, int]]:
    """Return the visitors of a span by dimension (`PLACES`) and label, most visitors first."""
    counts = span_labels.of_seconds(tx, subject, *span.seconds())
    return {name: hide_rare(counts.get(name, {})) for name in PLACES}


def hide_rare(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the most frequent places, and the visitors of all others as "Other"; most visitors first."""
    frequent = sorted((-n, label) for label, n in counts.items() if n >= MIN_VISITORS and label not in _NAMELESS)
    shown = {label: -n for n, label in frequent[:_MAX_PLACES]}
    if unknown := counts.get(UNKNOWN, 0):
        shown[UNKNOWN] = unknown
    if others := sum(counts.values()) - sum(shown.values()):
        shown[OTHER] = others
    return dict(sorted(shown.items(), key=lambda pair: (-pair[1], pair[0])))
