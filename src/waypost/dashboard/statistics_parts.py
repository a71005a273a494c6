"""Parts of a statistics page that are drawn: the world map, the heat map of the week, and the visited items."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from waypost.clicks.geo import countries
from waypost.clicks.stats.filtered_report import MAX_ITEMS
from waypost.clicks.stats.reports import Span, Times, clicks_by_hour_of_week
from waypost.dashboard.templating import manifest
from waypost.dashboard.visit_items import Item, Key

_LEVELS = (1, 5, 15, 30)
"""Shares in per cent at which a color of the map begins; the first color is below."""
_HEAT_LEVELS = 5


class Shape(NamedTuple):
    """A country on the map: its code, name, clicks and their share in per cent, and the number of its color."""

    code: str
    name: str
    clicks: int
    share: float
    level: int


class Hour(NamedTuple):
    """An hour of a weekday: its clicks, and the number of its color, 0 without clicks."""

    clicks: int
    level: int


def world_map(clicks: Mapping[str, int]) -> list[Shape]:
    """Return the countries with clicks that are on the map, by the clicks of each country."""
    on_map, total = set(manifest()["world"]["codes"]), sum(clicks.values())
    shapes = []
    for name, n in clicks.items():
        code, share = countries.code_of(name), 100 * n / total
        if code in on_map:
            shapes.append(Shape(code, name, n, share, 1 + sum(share >= level for level in _LEVELS)))
    return shapes


def heat_map(times: Times, span: Span) -> list[tuple[int, list[Hour]]]:
    """Return each weekday, 0 for Monday, in the order of the span's weeks, and its 24 hours; nothing without clicks."""
    hours = clicks_by_hour_of_week(times, span.zone)
    most = max(map(max, hours))
    if not most:
        return []
    weekdays = [(span.first_weekday + number) % len(hours) for number in range(len(hours))]
    return [(day, [Hour(n, -(-n * _HEAT_LEVELS // most)) for n in hours[day]]) for day in weekdays]


def visited(clicks: Mapping[Key, int], items: Mapping[Key, Item], total: int) -> dict[str, Any]:
    """Return the list of the most visited items: rows of key, item and clicks. `total` are the clicks of all items."""
    rows = [(key, items[key], n) for key, n in clicks.items()]
    listed = sum(clicks.values())
    whole = max(listed, total) if len(rows) >= MAX_ITEMS else listed
    return {"rows": rows, "sum": whole, "others": whole - listed, "most": max(clicks.values(), default=0)}
