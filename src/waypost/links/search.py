"""Lists of links: filters, search and order, each with the query plan that fits the number of links.

`page` counts every match. `quick_page` serves the searches of the dashboard: it stops after MAX_MATCHES matches.
In the table, the account has N links, F of them pass the filter, and A links contain `q` (on SQLite, of all accounts).

    list                                   plan                                     index                   rows read
    -------------------------------------  ---------------------------------------  ----------------------  ---------
    no filter, by date                     jump to the page                         page counters, key      the page
    no filter, by clicks                   walk from the nearer end                 links_account_clicks    up to N/2
    filter                                 read the index of the filter             see `filtered_ids`      F
    q: N <= 10,000 or under 3 characters   test every link that passes the filter   see `filtered_ids`      F
    q of many links, on PostgreSQL         test every link that passes the filter   see `filtered_ids`      F
    other q, no filter                     trigram index, then the owner            see `search_index`      A
    other q and filter, A <= 5,000         trigram index, then the filter           see `filtered_ids`      A
    other q and filter, A > 5,000          test every link that passes the filter   see `filtered_ids`      F

    `page` by clicks, <= 10,000 matches    sort the matches                         key                     matches
    `page` by clicks, > 10,000 matches     walk the links from the nearer end       links_account_clicks    up to N/2
    `quick_page` by date                   as for q above, newest first             as above                to 1,001
    `quick_page` by clicks, <= 1,000       sort the matches                         key                     matches
    `quick_page` by clicks, F > 10,000     walk the links until the page is full    links_account_clicks    to the page
    `quick_page` by clicks, F <= 10,000    sort the matches                         see `filtered_ids`      F
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, select

from waypost.db import page_counters
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import campaigns, channel_items, channels, links
from waypost.links import dead_links, search_index
from waypost.links.columns import Status
from waypost.links.ops import Link, get_many, newest

Order = Literal["date", "click"]
FEW_LINKS = 10_000
"""Up to this many links, testing each is faster than the trigram index, and sorting is faster than walking an index."""
MAX_INDEX_MATCHES = 5_000
"""Above this many matches in the trigram index, the links that pass the filter are tested instead."""
MAX_MATCHES = 1_000
"""Matches that `quick_page` shows; its `result` is one more if there are others."""


@dataclass(frozen=True)
class LinkFilter:
    """Restricts a list to links of a campaign, in a channel, with a status, or with a dead destination."""

    campaign: int | None = None
    channel: int | None = None
    status: Status | None = None
    dead: bool = False


class _Plan(NamedTuple):
    """A query of ids of links."""

    query: Select[int]
    is_ordered: bool = True
    """A limit ends the query early if it is sorted by id."""


NO_FILTER = LinkFilter()


def page(
    tx: Connection,
    account: int,
    window: PageRequest,
    *,
    order: Order = "date",
    q: str = "",
    link_filter: LinkFilter = NO_FILTER,
) -> Page[Link]:
    """Return a page of the account's links, newest or most clicked first, that contain `q` and pass the filter."""
    if q or link_filter != NO_FILTER:
        return _page_of_matches(tx, account, window, order=order, q=q.casefold(), link_filter=link_filter)
    total = page_counters.total(tx, account, links.name)
    if window.offset >= total:
        return Page((), total, window)
    if order == "click":
        owned = select(links.c.id).where(links.c.account == account)
        ids = _ids_from_nearer_end(tx, owned, window, total, links.c.clicks, links.c.id)
        return Page(get_many(tx, ids), total, window)
    ceiling, skip = page_counters.start_of_page(tx, account, links.name, window.offset)
    return Page(newest(tx, account, ceiling=ceiling, limit=window.limit, offset=skip), total, window)


def quick_page(
    tx: Connection,
    account: int,
    window: PageRequest,
    *,
    order: Order = "date",
    q: str = "",
    link_filter: LinkFilter = NO_FILTER,
) -> Page[Link]:
    """Like `page`, but with `q` only the MAX_MATCHES newest or most clicked matches, which are not counted further."""
    if not q:
        return page(tx, account, window, order=order, link_filter=link_filter)
    matching = matching_ids(tx, account, q=q.casefold(), link_filter=link_filter, limit=MAX_MATCHES + 1)
    latest = matching.order_by(*(id_column.desc() for id_column in matching.selected_columns)).limit(MAX_MATCHES + 1)
    ids = tx.execute(latest).scalars().all()
    match_count = len(ids)
    if order == "click":
        c = links.alias().c  # an alias, because the filter also reads from `links`
        ranked = select(c.id).order_by(c.clicks.desc(), c.id.desc()).limit(MAX_MATCHES)
        if match_count <= MAX_MATCHES:
            ranked = ranked.where(c.id.in_(ids))
        elif link_filter == NO_FILTER or has_more_than(tx, filtered_ids(account, link_filter), FEW_LINKS):
            # With so many matches, a walk over all links by clicks soon finds enough of them.
            ranked = ranked.where(c.account == account, c.search.contains(q.casefold(), autoescape=True))
            ranked = ranked if link_filter == NO_FILTER else ranked.where(passes(account, link_filter, c.id))
            ranked = ranked.limit(min(MAX_MATCHES, window.offset + window.limit))
        else:
            ranked = ranked.where(c.id.in_(matching))
        ids = tx.execute(ranked).scalars().all()
    return Page(get_many(tx, ids[:MAX_MATCHES][window.offset : window.offset + window.limit]), match_count, window)


def filtered_ids(account: int, link_filter: LinkFilter) -> Select[int]:
    """Select the ids of the account's links that pass the filter.

    Uses the index that contains nothing else: links_campaign, links_account_status, link_checks_dead_account, or the
    key of channel_items. A campaign or channel of another account has no links.
    """
    if link_filter == LinkFilter(dead=True):
        return dead_links.dead_link_ids(account)
    owned_channel = select(channels.c.id).where(channels.c.id == link_filter.channel, channels.c.account == account)
    in_channel = select(channel_items.c.link).where(
        channel_items.c.channel == owned_channel.scalar_subquery(), channel_items.c.link.is_not(None)
    )
    if link_filter.channel is not None and link_filter == LinkFilter(channel=link_filter.channel):
        return in_channel
    query = select(links.c.id)
    if link_filter.campaign is not None:
        is_owned = (campaigns.c.id == link_filter.campaign, campaigns.c.account == account)
        query = query.where(links.c.campaign == select(campaigns.c.id).where(*is_owned).scalar_subquery())
    else:
        query = query.where(links.c.account == account)
    if link_filter.dead:
        query = query.where(links.c.id.in_(dead_links.dead_link_ids(account)))
    if link_filter.status is not None:
        query = query.where(links.c.status == link_filter.status)
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


def has_more_than(tx: Connection, query: Select[int], limit: int) -> bool:
    """Return whether the query has more than `limit` rows, without counting further."""
    rows = query.limit(limit + 1).subquery()
    return int(tx.execute(select(func.count()).select_from(rows)).scalar_one()) > limit


def matching_ids(
    tx: Connection, account: int, *, q: str, link_filter: LinkFilter, limit: int | None = None
) -> Select[int]:
    """Select the ids of the links that contain `q` (case-folded) and pass the filter, by the plan in the table above.

    `limit`: the plan for so many of the newest, instead of all. With many matches, the filtered links are tested one by
    one, since the newest matches come early.
    """
    return _plan(tx, account, q, link_filter, limit).query


def _plan(tx: Connection, account: int, q: str, link_filter: LinkFilter, limit: int | None) -> _Plan:
    filtered = filtered_ids(account, link_filter)
    if not q:
        return _Plan(filtered)
    if len(q) >= search_index.MIN_LENGTH and (total := page_counters.total(tx, account, links.name)) > FEW_LINKS:
        is_sqlite, texts = tx.dialect.name == "sqlite", search_index.sample(tx, account)
        is_selective = is_sqlite or search_index.is_selective(q, texts, total, limit)
        search_index.allow_large_result(tx, total)
        if is_selective and link_filter == NO_FILTER:
            return _Plan(search_index.owned_matches(tx, account, q, texts), is_ordered=is_sqlite)
        if limit is not None and link_filter == NO_FILTER:
            return _Plan(search_index.newest_matches(account, q))
        matches = search_index.matches(tx, account, q, texts)
        if is_selective and not has_more_than(tx, matches, MAX_INDEX_MATCHES):
            return _Plan(matches.where(passes(account, link_filter, matches.selected_columns[0])))
    link = filtered.selected_columns[0]
    if link is not links.c.id:
        filtered = filtered.join(links, links.c.id == link)
    return _Plan(filtered.where(links.c.search.contains(q, autoescape=True)))


def _page_of_matches(
    tx: Connection, account: int, window: PageRequest, *, order: Order, q: str, link_filter: LinkFilter
) -> Page[Link]:
    matching, is_ordered = _plan(tx, account, q, link_filter, None)
    if order == "date" and not is_ordered:
        return _page_of_unordered(tx, window, matching)
    if order == "date" and window.offset == 0:
        return _first_page(tx, window, matching)
    total = _count(tx, matching)
    if order == "date":
        ids = _ids_from_nearer_end(tx, matching, window, total, *matching.selected_columns)
    else:
        ranked = select(links.c.id).where(links.c.id.in_(matching))
        if total > FEW_LINKS:  # walk the index by clicks instead of sorting
            is_walk = matching.selected_columns[0] is links.c.id and link_filter.campaign is None
            ranked = matching if is_walk else ranked.where(links.c.account == account)
        ids = _ids_from_nearer_end(tx, ranked, window, total, links.c.clicks, links.c.id)
    return Page(get_many(tx, ids), total, window)


def _first_page(tx: Connection, window: PageRequest, matching: Select[int]) -> Page[Link]:
    """Return the newest matches. If they do not fill the page, evaluates the query once."""
    latest = matching.order_by(*(id_column.desc() for id_column in matching.selected_columns)).limit(window.limit)
    ids = tx.execute(latest).scalars().all()
    total = len(ids) if len(ids) < window.limit else _count(tx, matching)
    return Page(get_many(tx, ids), total, window)


def _count(tx: Connection, matching: Select[int]) -> int:
    return int(tx.execute(select(func.count()).select_from(matching.subquery())).scalar_one())


def _page_of_unordered(tx: Connection, window: PageRequest, matching: Select[int]) -> Page[Link]:
    """Count and sort the matches in one statement, which evaluates the query once. For PostgreSQL."""
    matches = matching.cte("matches")
    (link,) = matches.columns
    latest = select(link).order_by(link.desc()).limit(window.limit).offset(window.offset)
    total = select(func.count()).select_from(matches).scalar_subquery()
    match_count, ids = tx.execute(select(total, func.array(latest.scalar_subquery()))).one()
    return Page(get_many(tx, ids), match_count, window)


def _ids_from_nearer_end(
    tx: Connection, query: Select[int], window: PageRequest, total: int, *order: ColumnElement[int]
) -> Sequence[int]:
    """Return the page's ids, greatest first, reading the query's `total` rows from whichever end is nearer."""
    length = min(window.limit, total - window.offset)
    behind = total - window.offset - length
    if length <= 0:
        return ()
    if window.offset <= behind:
        descending = query.order_by(*(sort_key.desc() for sort_key in order)).limit(length).offset(window.offset)
        return tx.execute(descending).scalars().all()
    return tx.execute(query.order_by(*order).limit(length).offset(behind)).scalars().all()[::-1]
