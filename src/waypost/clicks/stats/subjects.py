"""Subjects of statistics: an item, an account, or a group of items.

The visits of a group are counted together: by campaign, channel, branded domain and UTM parameters.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, cast, false, literal, or_, select, union_all

from waypost.db.schema import channel_items, domains, files, links
from waypost.db.statements import is_one_of
from waypost.urls.url_parts import utm_values_of

ACCOUNT = "account"
"""The kind of the statistics of a whole account."""
Members = Mapping[str, AbstractSet[int]]
"""Ids of items by kind."""
UTM = ("utm_source", "utm_medium", "utm_campaign")
"""The parameters of destinations that make a group."""
_TAGGED = select(links.c.id, links.c.url, links.c.parameters).where(
    or_(links.c.url.contains("utm_"), cast(links.c.parameters, Text).contains("utm_"))
)


@dataclass(frozen=True)
class Subject:
    """An item, an account as the item of kind `account`, or with `members` these items of the account together.

    A group is a `kind` and `item`, too, such as the campaign 7.
    """

    account: int
    kind: str
    item: int
    members: Members | None = None

    def condition(self, columns: Any) -> ColumnElement[bool]:
        """Return the condition on the columns `account`, `kind` and `item` of a table of totals (its primary key)."""
        if self.members is None:
            own = and_(columns.kind == self.kind, columns.item == self.item)
        else:
            own = is_member(columns, self.members)
        return and_(columns.account == self.account, own)


def is_member(columns: Any, members: Members) -> ColumnElement[bool]:
    """Return the condition that the columns `kind` and `item` are those of a member."""
    kinds = (and_(columns.kind == kind, is_one_of(columns.item, ids)) for kind, ids in members.items() if ids)
    return or_(false(), *kinds)


@dataclass(frozen=True)
class ItemGroup:
    """The items of an account that meet every condition, by ids and by values of `UTM`.

    A campaign has links, a domain links and files, a channel links, bio pages and QR codes, a UTM parameter links.
    """

    campaign: int | None = None
    channel: int | None = None
    domain: int | None = None
    utm: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_set(self) -> bool:
        """Return whether there is a condition."""
        return bool(self.utm) or any(part is not None for part in (self.campaign, self.channel, self.domain))


def find_members(tx: Connection, account: int, group: ItemGroup) -> Members:
    """Return the items of a group, by one statement. Groups of other accounts have none."""
    if group.utm:
        return {"link": set(utm_values(tx, account, group))}
    queries = [_select("link", links.c.id).where(*_link_conditions(account, group))]
    if group.campaign is None and group.channel is None:
        queries.append(
            _select("file", files.c.id).where(files.c.account == account, files.c.host == _host(account, group))
        )
    if group.campaign is None and group.domain is None:
        queries += [
            _select(kind, channel_items.c[kind]).where(*_in_channel(account, group, kind)) for kind in ("bio", "qr")
        ]
    members = defaultdict[str, set[int]](set)
    for kind, item in tx.execute(union_all(*queries)):
        members[kind].add(item)
    return members


def utm_values(
    tx: Connection, account: int, group: ItemGroup, limit: int | None = None
) -> Mapping[int, Mapping[str, str]]:
    """Return the UTM parameters of each link of a group that has some, newest first, by one statement.

    With a `limit`, only so many of the newest links are read, however few of them have parameters.
    """
    is_in_group = _link_conditions(account, group)
    query = _TAGGED.where(*is_in_group, *map(_can_have, group.utm.values())).order_by(links.c.id.desc())
    if limit is not None:
        query = query.where(
            links.c.id.in_(select(links.c.id).where(*is_in_group).order_by(links.c.id.desc()).limit(limit))
        )
    return {link: values for link, values in _read_values(tx, query) if group.utm.items() <= values.items()}


def count_utm(tx: Connection, account: int, clicks: Mapping[tuple[str, int], int]) -> Mapping[str, Mapping[str, int]]:
    """Return the clicks by parameter and value, most clicks first, from the clicks by item."""
    of_links = {item: n for (kind, item), n in clicks.items() if kind == "link"}
    counts: dict[str, Counter[str]] = {name: Counter() for name in UTM}
    if not of_links:
        return counts
    query = _TAGGED.where(links.c.account == account, is_one_of(links.c.id, of_links))
    for link, values in _read_values(tx, query):
        for name, value in values.items():
            counts[name][value] += of_links[link]
    return {name: dict(counter.most_common()) for name, counter in counts.items()}


def _read_values(tx: Connection, query: Select[int, str, Any]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the links of a query with their parameters of `UTM`. Parameters of a link replace those of its URL."""
    for link, url, parameters in tx.execute(query):
        own = {parameter["name"]: parameter.get("value", "") for parameter in parameters}
        values = {**utm_values_of(url), **own}
        if shown := {name: values[name] for name in UTM if values.get(name)}:
            yield link, shown


def _can_have(value: str) -> ColumnElement[bool]:
    """Return the condition that a link can have the value of a parameter: it is written out, or something is escaped.

    It leaves out most links of a large account before their URLs are parsed.
    """
    url, parameters, start = links.c.url, cast(links.c.parameters, Text), value.partition("\0")[0]
    escapes = (url.contains("%", autoescape=True), url.contains("+"), parameters.contains("\\", autoescape=True))
    return or_(url.contains(start, autoescape=True), parameters.contains(start, autoescape=True), *escapes)


def _link_conditions(account: int, group: ItemGroup) -> list[ColumnElement[bool]]:
    c = links.c
    conditions = [c.account == account]
    if group.campaign is not None:
        conditions.append(c.campaign == group.campaign)
    if group.channel is not None:
        conditions.append(c.id.in_(select(channel_items.c.link).where(*_in_channel(account, group, "link"))))
    if group.domain is not None:
        conditions.append(c.host == _host(account, group))
    return conditions


def _in_channel(account: int, group: ItemGroup, kind: str) -> list[ColumnElement[bool]]:
    c = channel_items.c
    return [c.channel == group.channel, c.account == account, c[kind].is_not(None)]


def _host(account: int, group: ItemGroup) -> ColumnElement[str]:
    return select(domains.c.host).where(domains.c.id == group.domain, domains.c.account == account).scalar_subquery()


def _select(kind: str, id: ColumnElement[int]) -> Select[str, int]:
    return select(literal(kind).label("kind"), id.label("id"))
