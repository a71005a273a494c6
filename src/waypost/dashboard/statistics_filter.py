"""The filter of a statistics page: labels of visits, and an item, as parameters of the query."""

from collections.abc import Mapping
from typing import NamedTuple

from waypost.clicks.ingest.aggregate import label_of
from waypost.clicks.stats.visit_search import DIMENSIONS, VisitFilter
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import parse_id
from waypost.dashboard.visited_item_names import VISITED, Item, Key

ACCOUNT = "account"
"""The kind of a report of a whole account."""
_CAMPAIGN, _SOURCE = "campaign", "source"
ITEM = "visited"
"""The parameter with the kind and id of an item, on the page of an account."""
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


def requested(context: PageContext, kind: str, item: int) -> VisitFilter:
    """Return the visits that the query asks for, of an item or of the account; invalid parts are ignored."""
    labels = {name: value for name in DIMENSIONS if (value := context.query(name))}
    if kind != ACCOUNT:
        return VisitFilter(kind=kind, item=item, labels=labels)
    visited_kind, _, number = context.query(ITEM).partition("-")
    if visited_kind not in VISITED or not (number.isdecimal() and number.isascii() and len(number) < 16):
        return VisitFilter(labels=labels)
    return VisitFilter(kind=visited_kind, item=int(number), labels=labels)


def is_set(visit_filter: VisitFilter, kind: str) -> bool:
    """Return whether the filter leaves out visits of the page."""
    return bool(visit_filter.labels) or (kind == ACCOUNT and bool(visit_filter.kind))


def item_key(visit_filter: VisitFilter, kind: str) -> Key | None:
    """Return the kind and id of the item in the filter of an account, or of the link in that of a campaign."""
    if kind == _CAMPAIGN:
        link = parse_id(visit_filter.labels.get(_SOURCE, "").rpartition(" ")[2])
        return None if link is None or visit_filter.labels[_SOURCE] != label_of(link) else ("link", link)
    return (visit_filter.kind, visit_filter.item) if kind == ACCOUNT and visit_filter.item is not None else None


def link_filter(link: int) -> dict[str, str]:
    """Return the parameters that filter the statistics of a campaign by a link."""
    return {_SOURCE: label_of(link)}


def chips(visit_filter: VisitFilter, kind: str, items: Mapping[Key, Item]) -> list[Chip]:
    """Return the parts of the filter, each of which can be removed."""
    key = item_key(visit_filter, kind)
    is_link = key is not None and kind == _CAMPAIGN
    parts = [
        Chip(title, name, visit_filter.labels[name], name)
        for name, title in _TITLES.items()
        if name in visit_filter.labels and not (is_link and name == _SOURCE)
    ]
    if key is None:
        return parts
    first = Chip("Link", "", items[key].name, _SOURCE) if is_link else Chip("Item", "", items[key].name, ITEM)
    return [first, *parts]


def visits_query(visit_filter: VisitFilter) -> dict[str, str]:
    """Return the parameters of the page of visits for the same filter."""
    own = {"kind": visit_filter.kind, "item": "" if visit_filter.item is None else str(visit_filter.item)}
    return {name: value for name, value in {**own, **visit_filter.labels}.items() if value}
