"""The group of a statistics page: the one that the page is about and those of its query, their names and choices."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, literal, select, union_all

from waypost.clicks.stats.subjects import ACCOUNT, UTM, ItemGroup, utm_values
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext_noop
from waypost.db.item_columns import name_of
from waypost.db.schema.nouns import NOUNS

NOUN_KINDS = ("campaign", "channel", "domain")
"""Kinds of items that have other items, and a statistics page of these."""
TITLES = {
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


def requested(context: PageContext, kind: str, item: int) -> ItemGroup:
    """Return the group of a page, limited by those of its query. Items such as links have none."""
    if kind not in (ACCOUNT, *NOUN_KINDS):
        return ItemGroup()
    ids = {name: item if kind == name else context.query_id(name) for name in NOUN_KINDS}
    return ItemGroup(**ids, utm={name: value for name in UTM if (value := context.query(name))})


def selected(group: ItemGroup, kind: str) -> Mapping[str, str]:
    """Return the parameters of the query that select a group, besides the one that the page of `kind` is about."""
    ids = {name: getattr(group, name) for name in NOUN_KINDS if name != kind}
    return {**{name: str(item) for name, item in ids.items() if item is not None}, **group.utm}


def find_names(tx: Connection, account: int, group: ItemGroup, kind: str) -> Mapping[str, str]:
    """Return the name of each selected part of a group, by parameter; "" for deleted ones."""
    parts = selected(group, kind)
    names = {name: parts[name] if name in UTM else "" for name in parts}
    queries = [
        select(literal(name), name_of(NOUNS[name])).where(c.account == account, c.id == getattr(group, name))
        for name in parts
        if name not in UTM and (c := NOUNS[name].table.c) is not None
    ]
    return names | {name: str(text) for name, text in tx.execute(union_all(*queries))} if queries else names


def find_choices(tx: Connection, account: int, group: ItemGroup, kind: str) -> list[Choice]:
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
    for name, value in selected(group, kind).items():
        options[name].setdefault(value, value)
    return [
        Choice(name, title, sorted(options[name].items(), key=lambda option: option[1].casefold()))
        for name, title in TITLES.items()
        if name != kind and options[name]
    ]
