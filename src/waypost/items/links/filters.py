"""Filters of lists of links, and the index that serves each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, String, and_, cast, or_, select

from waypost.core import clock
from waypost.db.schema import aliases, channel_items, channels, import_plans, import_rows, links
from waypost.items.links import dead_links
from waypost.items.links.columns import Status
from waypost.urls import alias_namespace

State = Literal["expired", "limit", "password", "targeting", "splash", "overlay", "frame"]
"""`limit`: the click limit is reached; `targeting`: other destinations for some visitors."""


@dataclass(frozen=True)
class LinkFilter:
    """Restricts a list to links that meet every condition.

    `dead`: the destination is dead. `imported`: the last import created or changed the link. `host`: the branded
    domain, "" for the service's own host. `since` and `until`: Unix times of the creation, without the second `until`.
    """

    campaign: int | None = None
    channel: int | None = None
    status: Status | None = None
    dead: bool = False
    imported: bool = False
    host: str | None = None
    state: State | None = None
    since: int | None = None
    until: int | None = None


NO_FILTER = LinkFilter()


def filtered_ids(account: int, link_filter: LinkFilter) -> Select[int]:
    """Select the ids of the account's links that pass the filter.

    Uses the index that contains nothing else: links_campaign, links_account_status, link_checks_dead_account, or the
    keys of channel_items and aliases. A campaign, channel or domain of another account has no links. The other
    conditions test every link.
    """
    if link_filter == LinkFilter(dead=True):
        return dead_links.dead_link_ids(account)
    owned_channel = select(channels.c.id).where(channels.c.id == link_filter.channel, channels.c.account == account)
    in_channel = select(channel_items.c.link).where(
        channel_items.c.channel == owned_channel.scalar_subquery(),
        channel_items.c.account == account,
        channel_items.c.link.is_not(None),
    )
    if link_filter.channel is not None and link_filter == LinkFilter(channel=link_filter.channel):
        return in_channel
    query = select(links.c.id).where(links.c.account == account)
    if link_filter.campaign is not None:
        query = query.where(links.c.campaign == link_filter.campaign)
    if link_filter.dead:
        query = query.where(links.c.id.in_(dead_links.dead_link_ids(account)))
    if link_filter.status is not None:
        query = query.where(links.c.status == link_filter.status)
    query = query.where(*_conditions(account, link_filter))
    if link_filter.channel is None:
        return query
    if link_filter == LinkFilter(channel=link_filter.channel, status="public"):
        # Most links are public, so start from the channel, which has fewer.
        c = links.alias().c
        is_public = select(c.id).where(c.account == account, c.status == "public", c.id == channel_items.c.link)
        return in_channel.where(is_public.exists())
    return query.where(in_channel.where(channel_items.c.link == links.c.id).exists())


def passes(account: int, link_filter: LinkFilter, link: ColumnElement[int]) -> ColumnElement[bool]:
    """The condition that a link passes the filter. `link` must not be a column of the table `links` itself."""
    query = filtered_ids(account, link_filter)
    return query.where(query.selected_columns[0] == link).exists()


def _conditions(account: int, link_filter: LinkFilter) -> Iterator[ColumnElement[bool]]:
    c = links.c
    if link_filter.host == alias_namespace.OWN:
        yield c.host == alias_namespace.OWN
    elif link_filter.host is not None:
        a = aliases.c
        yield c.id.in_(select(a.item).where(a.host == link_filter.host, a.kind == "link", a.account == account))
    if link_filter.imported:
        yield c.id.in_(_imported_ids(account))
    if link_filter.state is not None:
        yield _is_in_state(link_filter.state)
    if link_filter.since is not None:
        yield c.created >= link_filter.since
    if link_filter.until is not None:
        yield c.created < link_filter.until


def _imported_ids(account: int) -> Select[Any]:
    """Select the ids of the links of the last import, by import_rows_plan_rank."""
    applied = select(import_plans.c.id).where(
        import_plans.c.account == account, import_plans.c.state.in_(("applying", "applied"))
    )
    row = import_rows.c
    is_kept = (row.kind == "link", row.fate.in_(("create", "changed")), row.item.is_not(None))
    return select(row.item).where(row.account == account, row.plan.in_(applied), *is_kept)


def _is_in_state(state: State) -> ColumnElement[bool]:
    c = links.c
    if state == "expired":
        return c.expiry < clock.now()
    if state == "limit":
        return and_(c.clicklimit.is_not(None), c.taken >= c.clicklimit)
    if state == "password":
        return c.password.is_not(None)
    if state == "targeting":
        lists = (cast(c[name], String) != "[]" for name in ("geotarget", "devicetarget", "languagetarget"))
        return or_(*lists, cast(c.deeplink, String) != "{}")
    return c.type == state
