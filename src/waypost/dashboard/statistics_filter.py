"""The filter of a statistics page, as parameters of its query: a group, labels of visits, and an item.

A group is the one that the page is about, limited by those of its query.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, literal, select, union_all

from waypost.clicks.stats.stored_visits import DIMENSIONS, VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT, UTM, ItemGroup, utm_values
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext_noop
from waypost.dashboard.visited_item_names import VISITED, Item, Key
from waypost.db.item_columns import name_of
from waypost.db.schema.nouns import NOUNS

NOUN_KINDS = ("campaign", "channel", "domain")
"""Kinds of items that have other items, and a statistics page of these."""
GROUP_TITLES = {
    "campaign": gettext_noop("Campaign"),
    "channel": gettext_noop("Channel"),
    "domain": gettext_noop("Domain"),
    "utm_source": gettext_noop("UTM source"),
    "utm_medium": gettext_noop("UTM medium"),
    "utm_campaign": gettext_noop("UTM campaign"),
}
"""Titles of the parameters of the query."""
_MAX_OPTIONS = 100
_READ_LINKS = 1000


class Choice(NamedTuple):
    """A part of the group that a visitor can select: the parameter of the query, its title, and values with names."""

    parameter: str
    title: str
    options: Sequence[tuple[str, str]]


def requested_group(context: PageContext, kind: str, item: int) -> ItemGroup:
    """Return the group of a page, limited by those of its query. Items such as links have none."""
    if kind not in (ACCOUNT, *NOUN_KINDS):
        return ItemGroup()
    ids = {name: item if kind == name else context.query_id(name) for name in NOUN_KINDS}
    return ItemGroup(**ids, utm={name: value for name in UTM if (value := context.query(name))})


def selected_group(group: ItemGroup, kind: str) -> Mapping[str, str]:
    """Return the parameters of the query that select a group, besides the one that the page of `kind` is about."""
    ids = {name: getattr(group, name) for name in NOUN_KINDS if name != kind}
    return {**{name: str(item) for name, item in ids.items() if item is not None}, **group.utm}


def find_group_names(tx: Connection, account: int, group: ItemGroup, kind: str) -> Mapping[str, str]:
    """Return the name of each selected part of a group, by parameter; "" for deleted ones."""
    parts = selected_group(group, kind)
    names = {name: parts[name] if name in UTM else "" for name in parts}
    queries = [
        select(literal(name), name_of(NOUNS[name])).where(c.account == account, c.id == getattr(group, name))
        for name in parts
        if name not in UTM and (c := NOUNS[name].table.c) is not None
    ]
    return names | {name: str(text) for name, text in tx.execute(union_all(*queries))} if queries else names


def find_group_choices(tx: Connection, account: int, group: ItemGroup, kind: str) -> list[Choice]:
    """Return the newest items and values that limit a group, by two statements; those of the group are chosen."""
    queries = []
    for name in NOUN_KINDS:
        c = NOUNS[name].table.c
        newest = select(literal(name).label("kind"), c.id, name_of(NOUNS[name]).label("name"))
        newest = newest.where(c.account == account).order_by(c.id.desc()).limit(_MAX_OPTIONS)
        queries.append(select(newest.subquery(name)))
    options = defaultdict[str, dict[str, str]](dict)
    for name, item, text in tx.execute(union_all(*queries)):
        options[name][str(item)] = str(text)
    for values in utm_values(tx, account, ItemGroup(), _READ_LINKS).values():
        for name, value in values.items():
            if len(options[name]) < _MAX_OPTIONS:
                options[name][value] = value
    for name, value in selected_group(group, kind).items():
        options[name].setdefault(value, value)
    return [
        Choice(name, title, sorted(options[name].items(), key=lambda option: option[1].casefold()))
        for name, title in GROUP_TITLES.items()
        if name != kind and options[name]
    ]


ITEM = "visited"
"""The parameter with the kind and id of an item, on the page of an account or a group."""
LABEL_TITLES = {
    "country": "Country",
    "referrer": "Referrer",
    "device": "Device",
    "browser": "Browser",
    "os": "Operating system",
    "language": "Language",
    "source": "Source",
}
"""Titles of the dimensions of visits that a filter can have."""


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
    groups = [Chip(GROUP_TITLES[name], "", text, name) for name, text in group_names.items()]
    item = [] if key is None else [Chip("Item", "", items[key].name, ITEM)]
    labels = visit_filter.labels
    return [
        *groups,
        *item,
        *(Chip(title, name, labels[name], name) for name, title in LABEL_TITLES.items() if name in labels),
    ]


def visits_query(visit_filter: VisitFilter) -> dict[str, str]:
    """Return the parameters of the page of visits for the same filter."""
    own = {"kind": visit_filter.kind, "item": "" if visit_filter.item is None else str(visit_filter.item)}
    return {name: value for name, value in {**own, **visit_filter.labels}.items() if value}
