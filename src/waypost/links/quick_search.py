"""Searches of the dashboard: the newest or most clicked links that match all words (decision 93).

The links that contain all words are one source of matches. Others are the links that match a word by a group, such as
the campaigns with the word in their name; the rows of each are tested for the other words. As in `search`, the account
has N links, F of them pass the filter.

    list                            plan                                     index                   rows read
    ------------------------------  ---------------------------------------  ----------------------  ---------
    by date                         the newest of each source                see `search`            to 1,001
    by clicks, <= 1,000 matches     sort the matches                         key                     matches
    by clicks, F > 10,000           walk the links until the page is full    links_account_clicks    to the page
    by clicks, F <= 10,000          sort the matches                         see `filtered_ids`      F
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Select, select

from waypost.db.crud import Page, PageRequest
from waypost.db.schema import aliases, channel_items, links
from waypost.links import search
from waypost.links.filters import NO_FILTER, LinkFilter, filtered_ids, passes
from waypost.links.ops import Link, get_many
from waypost.search.words import Word
from waypost.text_folding import folded
from waypost.urls import alias_namespace

MAX_MATCHES = 1_000
"""Matches that a list shows; its `result` is one more if there are others."""


def quick_page(
    tx: Connection,
    account: int,
    window: PageRequest,
    *,
    order: search.Order = "date",
    words: Sequence[Word] = (),
    link_filter: LinkFilter = NO_FILTER,
) -> Page[Link]:
    """Like `search.page`, but with words only the MAX_MATCHES newest or most clicked matches, not counted further."""
    if not words:
        return search.page(tx, account, window, order=order, link_filter=link_filter)
    ids = newest_ids(tx, account, words, link_filter, limit=MAX_MATCHES + 1)
    match_count = len(ids)
    if order == "click":
        ids = _most_clicked(tx, account, window, words, link_filter, ids)
    return Page(get_many(tx, ids[:MAX_MATCHES][window.offset : window.offset + window.limit]), match_count, window)


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
    yield search.matching_ids(tx, account, words=texts, link_filter=link_filter, limit=limit)
    for word in words:
        others = [other for other in words if other is not word]
        for group in _groups(account, word):
            yield _restricted(account, group, others, link_filter)
        if word.short:
            # The text of a link contains its alias.
            query = search.matching_ids(tx, account, words=[folded(word.short[1])], link_filter=link_filter)
            link = links.alias()
            is_match = (
                word.begins_short_url(link.c.host, link.c.alias),
                *(other.link_condition(link) for other in others),
            )
            yield query.where(select(link.c.id).where(link.c.id == query.selected_columns[0], *is_match).exists())


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
    if len(newest) <= MAX_MATCHES:
        return tx.execute(ranked.where(c.id.in_(newest))).scalars().all()
    ranked = ranked.where(c.account == account, *(word.link_condition(link) for word in words))
    if link_filter == NO_FILTER or search.has_more_than(tx, filtered_ids(account, link_filter), search.FEW_LINKS):
        # With so many matches, a walk over all links by clicks soon finds enough of them.
        ranked = ranked if link_filter == NO_FILTER else ranked.where(passes(account, link_filter, c.id))
        ranked = ranked.limit(min(MAX_MATCHES, window.offset + window.limit))
    else:
        ranked = ranked.where(c.id.in_(filtered_ids(account, link_filter)))
    return tx.execute(ranked).scalars().all()
