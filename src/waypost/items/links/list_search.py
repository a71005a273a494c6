"""Lists of links: filters, search and order, each with the query plan that fits the number of links.

`page` counts every match. On PostgreSQL without a filter, it counts those of frequent texts in `links_search`, whose
rows are narrower. In the table, the account has N links, F of them pass the filter, and A links contain `q` (on SQLite,
of all accounts).

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

`quick_page` finds the newest or most clicked links that match all words, for the dashboard (decision 93). The links
that contain all words are one source of matches. Others are the links that match a word by a group, such as the
campaigns with the word in their name; the rows of each are tested for the other words.

    by date                                the newest of each source                as above                to 1,001
    by clicks, <= 1,000 matches            sort the matches                         key                     matches
    by clicks, F > 10,000                  walk the links until the page is full    links_account_clicks    to the page
    by clicks, F <= 10,000                 sort the matches                         see `filtered_ids`      F
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from waypost.core.text_folding import folded
from waypost.db import page_counters
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import aliases, channel_items, links
from waypost.items.links import search_index
from waypost.items.links.filters import NO_FILTER, LinkFilter, filtered_ids, passes
from waypost.items.links.ops import Link, get_many, newest
from waypost.search.words import Word
from waypost.urls import alias_namespace

Order = Literal["date", "click"]
FEW_LINKS = 10_000
"""Up to this many links, testing each is faster than the trigram index, and sorting is faster than walking an index."""
MAX_INDEX_MATCHES = 5_000
"""Above this many matches in the trigram index, the links that pass the filter are tested instead."""


class _Plan(NamedTuple):
    """A query of ids of links."""

    query: Select[int]
    is_ordered: bool = True
    """A limit ends the query early if it is sorted by id."""
    counted: Select[int] | None = None
    """The same links, in the order that counts them fastest."""


def page(
    tx: Connection,
    account: int,
    window: PageRequest,
    *,
    order: Order = "date",
    q: str = "",
    short: tuple[str, str] | None = None,
    link_filter: LinkFilter = NO_FILTER,
) -> Page[Link]:
    """Return a page of the account's links, newest or most clicked first, that contain `q` and pass the filter.

    `short`: the (host, alias) of a short URL that is `q`; links match it, too, if it begins theirs.
    """
    if folded(q) or link_filter != NO_FILTER:
        word = Word(account, folded(q), short=short)
        return _page_of_matches(tx, account, window, order=order, q=word, link_filter=link_filter)
    total = page_counters.total(tx, account, links.name)
    if window.offset >= total:
        return Page((), total, window)
    if order == "click":
        owned = select(links.c.id).where(links.c.account == account)
        ids = _ids_from_nearer_end(tx, owned, window, total, links.c.clicks, links.c.id)
        return Page(get_many(tx, account, ids), total, window)
    ceiling, skip = page_counters.start_of_page(tx, account, links.name, window.offset)
    return Page(newest(tx, account, ceiling=ceiling, limit=window.limit, offset=skip), total, window)


def has_more_than(tx: Connection, query: Select[int], limit: int) -> bool:
    """Return whether the query has more than `limit` rows, without counting further."""
    rows = query.limit(limit + 1).subquery()
    return int(tx.execute(select(func.count()).select_from(rows)).scalar_one()) > limit


def matching_ids(
    tx: Connection, account: int, *, words: Sequence[str], link_filter: LinkFilter, limit: int | None = None
) -> Select[int]:
    """Select the ids of the links that contain all words (folded) and pass the filter, by the plan in the table.

    `limit`: the plan for so many of the newest, instead of all. With many matches, the filtered links are tested one by
    one, since the newest matches come early.
    """
    return _plan(tx, account, words, link_filter, limit).query


def _plan(
    tx: Connection, account: int, words: Sequence[str], link_filter: LinkFilter, limit: int | None = None
) -> _Plan:
    filtered = filtered_ids(account, link_filter)
    if not words:
        return _Plan(filtered)
    has_trigram = any(len(word) >= search_index.MIN_LENGTH for word in words)
    if has_trigram and (total := page_counters.total(tx, account, links.name)) > FEW_LINKS:
        is_sqlite, texts = tx.dialect.name == "sqlite", search_index.sample(tx, account)
        is_selective = is_sqlite or search_index.is_selective(words, texts, total, limit)
        search_index.allow_large_result(tx, total)
        if is_selective and link_filter == NO_FILTER:
            return _Plan(search_index.owned_matches(tx, account, words, texts), is_ordered=is_sqlite)
        if limit is not None and link_filter == NO_FILTER:
            return _Plan(search_index.newest_matches(account, words))
        matches = search_index.matches(tx, account, words, texts)
        if is_selective and not has_more_than(tx, matches, MAX_INDEX_MATCHES):
            return _Plan(matches.where(passes(account, link_filter, matches.selected_columns[0])))
    link = filtered.selected_columns[0]
    if link is not links.c.id:
        filtered = filtered.join(links, (links.c.id == link) & (links.c.account == account))
    is_counted_apart = link_filter == NO_FILTER and tx.dialect.name == "postgresql"
    counted = search_index.tested_matches(account, words) if is_counted_apart else None
    return _Plan(filtered.where(*(links.c.search.contains(word, autoescape=True) for word in words)), counted=counted)


def literal_ids(
    tx: Connection, account: int, *, q: str, short: tuple[str, str] | None, link_filter: LinkFilter
) -> Select[int]:
    """Select the ids of the links of `page`."""
    return _literal_plan(tx, account, Word(account, folded(q), short=short), link_filter).query


def _literal_plan(tx: Connection, account: int, q: Word, link_filter: LinkFilter) -> _Plan:
    if q.short is None:
        return _plan(tx, account, (q.text,) if q.text else (), link_filter)
    # The text of a link contains its alias, and so does `q`.
    plan = _plan(tx, account, (folded(q.short[1]),), link_filter)
    link = links.alias()
    is_match = or_(link.c.search.contains(q.text, autoescape=True), q.begins_short_url(link.c.host, link.c.alias))
    is_same = (link.c.id == plan.query.selected_columns[0]) & (link.c.account == account)
    return plan._replace(query=plan.query.where(select(link.c.id).where(is_same, is_match).exists()), counted=None)


def _page_of_matches(
    tx: Connection, account: int, window: PageRequest, *, order: Order, q: Word, link_filter: LinkFilter
) -> Page[Link]:
    matching, is_ordered, counted = _literal_plan(tx, account, q, link_filter)
    counted = matching if counted is None else counted
    if order == "date" and not is_ordered:
        return _page_of_unordered(tx, account, window, matching)
    if order == "date" and window.offset == 0:
        return _first_page(tx, account, window, matching, counted)
    total = _count(tx, counted)
    if order == "date":
        ids = _ids_from_nearer_end(tx, matching, window, total, *matching.selected_columns)
    else:
        # More than a few are found by a walk over the index by clicks instead of sorting.
        is_walk = total > FEW_LINKS and matching.selected_columns[0] is links.c.id and link_filter.campaign is None
        owned = select(links.c.id).where(links.c.account == account)
        ranked = matching if is_walk else owned.where(links.c.id.in_(matching))
        ids = _ids_from_nearer_end(tx, ranked, window, total, links.c.clicks, links.c.id)
    return Page(get_many(tx, account, ids), total, window)


def _first_page(
    tx: Connection, account: int, window: PageRequest, matching: Select[int], counted: Select[int]
) -> Page[Link]:
    """Return the newest matches. If they do not fill the page, evaluates the query once."""
    latest = matching.order_by(*(id_column.desc() for id_column in matching.selected_columns)).limit(window.limit)
    ids = tx.execute(latest).scalars().all()
    total = len(ids) if len(ids) < window.limit else _count(tx, counted)
    return Page(get_many(tx, account, ids), total, window)


def _count(tx: Connection, matching: Select[int]) -> int:
    return int(tx.execute(select(func.count()).select_from(matching.subquery())).scalar_one())


def _page_of_unordered(tx: Connection, account: int, window: PageRequest, matching: Select[int]) -> Page[Link]:
    """Count and sort the matches in one statement, which evaluates the query once. For PostgreSQL."""
    matches = matching.cte("matches")
    (link,) = matches.columns
    latest = select(link).order_by(link.desc()).limit(window.limit).offset(window.offset)
    total = select(func.count()).select_from(matches).scalar_subquery()
    match_count, ids = tx.execute(select(total, func.array(latest.scalar_subquery()))).one()
    return Page(get_many(tx, account, ids), match_count, window)


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


MAX_MATCHES = 1_000
"""Matches that a list shows; its `result` is one more if there are others."""


def quick_page(
    tx: Connection,
    account: int,
    window: PageRequest,
    *,
    order: Order = "date",
    words: Sequence[Word] = (),
    link_filter: LinkFilter = NO_FILTER,
) -> Page[Link]:
    """Like `search.page`, but with words only the MAX_MATCHES newest or most clicked matches, not counted further."""
    if not words:
        return page(tx, account, window, order=order, link_filter=link_filter)
    ids = newest_ids(tx, account, words, link_filter, limit=MAX_MATCHES + 1)
    match_count = len(ids)
    if order == "click":
        ids = _most_clicked(tx, account, window, words, link_filter, ids)
    return Page(
        get_many(tx, account, ids[:MAX_MATCHES][window.offset : window.offset + window.limit]), match_count, window
    )


def newest_ids(
    tx: Connection,
    account: int,
    words: Sequence[Word],
    link_filter: LinkFilter,
    *,
    limit: int,
    below: int | None = None,
) -> Sequence[int]:
    """Return the ids of the newest links that match, `limit` of those with ids under `below`."""
    ids: set[int] = set()
    for source in _sources(tx, account, words, link_filter, limit):
        (link,) = source.selected_columns
        query = source if below is None else source.where(link < below)
        ids.update(tx.execute(query.order_by(link.desc()).limit(limit)).scalars())
    return sorted(ids, reverse=True)[:limit]


def _sources(
    tx: Connection, account: int, words: Sequence[Word], link_filter: LinkFilter, limit: int
) -> Iterator[Select[int]]:
    """Select the matches: each link is in one or more of the queries."""
    texts = [word.text for word in words]
    yield matching_ids(tx, account, words=texts, link_filter=link_filter, limit=limit)
    for word in words:
        others = [other for other in words if other is not word]
        for group in _groups(account, word):
            yield _restricted(account, group, others, link_filter)
        if word.short:
            # The text of a link contains its alias.
            query = matching_ids(tx, account, words=[folded(word.short[1])], link_filter=link_filter)
            link = links.alias()
            is_match = (
                word.begins_short_url(link.c.host, link.c.alias),
                *(other.link_condition(link) for other in others),
            )
            is_same = (link.c.id == query.selected_columns[0]) & (link.c.account == account)
            yield query.where(select(link.c.id).where(is_same, *is_match).exists())


def _groups(account: int, word: Word) -> Iterator[Select[int]]:
    """Select the links of each kind of group."""
    c, owned = links.c, select(links.c.id).where(links.c.account == account)
    if word.campaigns:
        yield owned.where(c.campaign.in_(word.campaigns))
    if word.channels:
        yield owned.where(c.id.in_(word.items_of_channels(channel_items.c.link)))
    branded = [host for host in word.hosts if host != alias_namespace.OWN]
    if branded:
        a = aliases.c
        yield owned.where(c.id.in_(select(a.item).where(a.host.in_(branded), a.kind == "link", a.account == account)))
    if len(branded) < len(word.hosts):
        yield owned.where(c.host == alias_namespace.OWN)


def _restricted(account: int, query: Select[int], words: Sequence[Word], link_filter: LinkFilter) -> Select[int]:
    """Restrict a query of `links` to those that match the words and pass the filter."""
    query = query.where(*(word.link_condition(links) for word in words))
    if link_filter == NO_FILTER:
        return query
    return query.where(links.c.id.in_(filtered_ids(account, link_filter).correlate(None)))


def _most_clicked(
    tx: Connection,
    account: int,
    window: PageRequest,
    words: Sequence[Word],
    link_filter: LinkFilter,
    newest: Sequence[int],
) -> Sequence[int]:
    """Return the ids of the most clicked matches, at least to the end of the page."""
    link = links.alias()  # an alias, because the filter also reads from `links`
    c = link.c
    ranked = select(c.id).order_by(c.clicks.desc(), c.id.desc()).limit(MAX_MATCHES)
    ranked = ranked.where(c.account == account)
    if len(newest) <= MAX_MATCHES:
        return tx.execute(ranked.where(c.id.in_(newest))).scalars().all()
    ranked = ranked.where(*(word.link_condition(link) for word in words))
    if link_filter == NO_FILTER or has_more_than(tx, filtered_ids(account, link_filter), FEW_LINKS):
        # With so many matches, a walk over all links by clicks soon finds enough of them.
        ranked = ranked if link_filter == NO_FILTER else ranked.where(passes(account, link_filter, c.id))
        ranked = ranked.limit(min(MAX_MATCHES, window.offset + window.limit))
    else:
        ranked = ranked.where(c.id.in_(filtered_ids(account, link_filter)))
    return tx.execute(ranked).scalars().all()
