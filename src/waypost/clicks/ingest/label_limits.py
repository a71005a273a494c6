"""Limit the labels that visitors can invent: each label of an item and day is a row that is never deleted.

The first labels of a day keep their own rows; further ones are counted as "Other", so sums stay exact. Well-known sites
and languages always keep their rows. Several nodes at once keep at most their number times the limits (decision 75).
"""

from collections.abc import Iterable, Mapping, Sequence, Set

from sqlalchemy import Connection

from waypost.clicks.classify import label_tables
from waypost.clicks.classify.classifier import DIRECT, UNKNOWN
from waypost.clicks.ingest.aggregate import ALL_DAYS, DIMENSIONS, PLACES, LabelCounts
from waypost.clicks.ingest.bulk_upsert import count_by_keys, select_by_keys, transpose
from waypost.db.schema import click_labels

OTHER = "Other"
MAX_LABELS_OF_DAY = 200
MAX_LABELS_OF_ALL_DAYS = 1000
WELL_KNOWN: Mapping[str, frozenset[str]] = {
    "referrer": frozenset(
        {"", OTHER, DIRECT, *label_tables.HOSTS.values(), *label_tables.DOMAINS.values(), *label_tables.APPS.values()}
    ),
    "language": frozenset({"", OTHER, UNKNOWN, *label_tables.COMMON_LANGUAGES}),
    **dict.fromkeys(PLACES, frozenset({OTHER, UNKNOWN})),
}
"""The limited dimensions. The labels of the others come from tables of this program, or from the account's links."""

_INDEXES = {dimension: DIMENSIONS.index(dimension) for dimension in WELL_KNOWN}
_KEY = ("kind", "item", "day", "dimension", "account")
_Key = tuple[str, int, int, str, int]


def limit_labels(tx: Connection, label_counts: Iterable[LabelCounts]) -> list[LabelCounts]:
    """Return the counts with the labels above the limits replaced by "Other"."""
    rows = list(label_counts)
    unusual: dict[_Key, int] = {}
    for position, (kind, item, day, account, counters) in enumerate(rows):
        for dimension, index in _INDEXES.items():
            if index < len(counters) and not counters[index].keys() <= WELL_KNOWN[dimension]:
                unusual[kind, item, day, dimension, account] = position
    for key, stored in _labels_near_limit(tx, rows, unusual).items():
        index, position = _INDEXES[key[3]], unusual[key]
        counters = rows[position].counters
        limited = fold(counters[index], stored, dimension=key[3], day=key[2])
        rows[position] = rows[position]._replace(counters=(*counters[:index], limited, *counters[index + 1 :]))
    return rows


def _labels_near_limit(
    tx: Connection, rows: Sequence[LabelCounts], unusual: Mapping[_Key, int]
) -> Mapping[_Key, set[str]]:
    """Return the stored labels of each key that may exceed its limit. Most keys are far from it: these are counted."""
    counts = {tuple(row[:-1]): row[-1] for row in count_by_keys(tx, click_labels, transpose(_KEY, unusual))}
    near: dict[_Key, set[str]] = {}
    for key, position in unusual.items():
        added = len(rows[position].counters[_INDEXES[key[3]]])
        if counts.get(key, 0) + added > _limit(key[2]):
            near[key] = set()
    for row in select_by_keys(tx, click_labels, transpose(_KEY, near), "label"):
        near[row[0], row[1], row[2], row[3], row[4]].add(row[5])
    return near


def fold(counts: Mapping[str, int], stored: Set[str], *, dimension: str, day: int) -> dict[str, int]:
    """Add the counts of labels for which there is no row left to "Other"; the most frequent labels get the last rows.

    `stored` are the labels that have a row.
    """
    if dimension not in WELL_KNOWN:
        return dict(counts)
    known = WELL_KNOWN[dimension]
    free = _limit(day) - len(stored - known)
    new = counts.keys() - known - stored
    if len(new) <= free:
        return dict(counts)
    kept = set(sorted(new, key=lambda label: (-counts[label], label))[: max(0, free)])
    folded = {label: n for label, n in counts.items() if label not in new or label in kept}
    folded[OTHER] = folded.get(OTHER, 0) + sum(counts[label] for label in new - kept)
    return folded


def _limit(day: int) -> int:
    return MAX_LABELS_OF_ALL_DAYS if day == ALL_DAYS else MAX_LABELS_OF_DAY
