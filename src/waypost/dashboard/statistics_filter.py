"""The filter of a statistics page: labels of visits, and an item, as parameters of the query."""

from collections.abc import Mapping
from typing import NamedTuple

from waypost.clicks.stats.stored_visits import DIMENSIONS, VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT, ItemGroup
from waypost.dashboard.context import PageContext
from waypost.dashboard.statistics_groups import TITLES
from waypost.dashboard.visited_item_names import VISITED, Item, Key

ITEM = "visited"
"""The parameter with the kind and id of an item, on the page of an account or a group."""
_TITLES = {
    "country": "Country",
    "referrer": "Referrer",
    "device": "Device",
    "browser": "Browser",
    "os": "Operating system",
    "language": "Language",
    "source": "Source",
}


class Chip(NamedTuple):
    """A part of the filter: its title, the dimension and label, and the parameter that removes it."""

    title: str
    dimension: str
    label: str
    parameter: str


def requested(context: PageContext, kind: str, item: int, group: ItemGroup) -> VisitFilter:
    """Return the visits that the query asks for, of an item, an account or a group; invalid parts are ignored."""
    labels = {name: value for name in DIMENSIONS if (value := context.query(name))}
    if kind != ACCOUNT and not group.is_set:
        return VisitFilter(kind=kind, item=item, labels=labels)
    visited_kind, _, number = context.query(ITEM).partition("-")
    if visited_kind not in VISITED or not (number.isdecimal() and number.isascii() and len(number) < 16):
        return VisitFilter(labels=labels)
    return VisitFilter(kind=visited_kind, item=int(number), labels=labels)


def item_key(visit_filter: VisitFilter, kind: str, group: ItemGroup) -> Key | None:
    """Return the kind and id of the item in the filter of an account or a group."""
    has_items = kind == ACCOUNT or group.is_set
    return (visit_filter.kind, visit_filter.item) if has_items and visit_filter.item is not None else None


def chips(
    visit_filter: VisitFilter, key: Key | None, items: Mapping[Key, Item], group_names: Mapping[str, str]
) -> list[Chip]:
    """Return the parts of the filter, each of which can be removed. `key` is the result of `item_key`."""
    groups = [Chip(TITLES[name], "", text, name) for name, text in group_names.items()]
    item = [] if key is None else [Chip("Item", "", items[key].name, ITEM)]
    labels = visit_filter.labels
    return [
        *groups,
        *item,
        *(Chip(title, name, labels[name], name) for name, title in _TITLES.items() if name in labels),
    ]


def visits_query(visit_filter: VisitFilter) -> dict[str, str]:
    """Return the parameters of the page of visits for the same filter."""
    own = {"kind": visit_filter.kind, "item": "" if visit_filter.item is None else str(visit_filter.item)}
    return {name: value for name, value in {**own, **visit_filter.labels}.items() if value}
