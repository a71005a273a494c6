"""Counts of the single visits that match a filter."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

SORTS = ("click", "uniques", "bot", "preview", "other", "late")
"""In the order of the counts of reports; unique clicks are those with the flag `first`."""
Parts = frozenset[Literal["items", "labels"]]
"""The counts of a request besides the times."""
ALL_PARTS: Parts = frozenset({"items", "labels"})


@dataclass(frozen=True)
class Counts:
    """Visits that match: `times` by quarter of an hour (its first second), clicks by dimension and label, by item."""

    times: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * len(SORTS)))
    labels: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    items: Counter[tuple[str, int]] = field(default_factory=Counter)
