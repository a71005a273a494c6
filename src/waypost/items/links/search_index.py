"""The search index `links_search`: links that contain a literal, without reading every link (decision 81).

SQLite has an FTS5 table, in which a phrase of trigrams is the literal. It covers all accounts and yields links in
order. PostgreSQL has a table with a GIN index over each row's trigrams and account. It compares the text of the rows,
yields links in no order, and is slower than testing links one by one if many contain the literal.

Both read the list of every trigram they are asked for, so each literal is reduced to its rarest part, and the texts
with all parts are tested. If these are many, SQLite reads the lists of all trigrams instead of the texts.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, bindparam, column, func, select, table, text

from waypost.db import distribution
from waypost.db.schema import links

MIN_LENGTH = 3
"""A shorter literal has no trigram."""

_PART = 10
"""Characters of the rarest part of one literal; several ones share them."""
_MAX_TESTED = 5_000
"""SQLite tests up to so many texts for several words. For one, reading all lists takes less."""
_SAMPLE = 500
_MATCH_COST = 8
"""A match of the GIN index costs as much as testing so many links."""
_SQLITE = table("links_search", column("rowid"))
_SQLITE_MATCHES = "links_search MATCH :phrase"
# Without the hint SQLite reads the whole row of each match to compare its account.
_SQLITE_IS_OWNED = """
    EXISTS (SELECT 1 FROM links INDEXED BY links_account_id WHERE account = :account AND id = links_search.rowid)"""
_SQLITE_CONTAINS = "EXISTS (SELECT 1 FROM links WHERE id = links_search.rowid AND account = :account{})"
_NEWEST_ID = text("SELECT coalesce(max(id), 0) FROM links")
_IS_ONLY_ACCOUNT = text(
    "SELECT (SELECT min(account) FROM links) = :account AND (SELECT max(account) FROM links) = :account"
)
_POSTGRESQL = table("links_search", column("account"), column("link"), column("search"))
# A bitmap of the default 4 MB keeps the rows of 60,000 pages. Above that it keeps pages only, and the function is
# called for each of their rows.
_ALLOW_LARGE_BITMAP = text("SET LOCAL work_mem = '64MB'")
_SMALL_BITMAP = 100_000
"""A bitmap of so many links is kept in 4 MB."""


def _newest(search: ColumnElement[str], account: ColumnElement[int], link: ColumnElement[int]) -> Select[str]:
    return select(search).where(account == bindparam("account")).order_by(link.desc()).limit(_SAMPLE)


_NEWEST = {
    "sqlite": _newest(links.c.search, links.c.account, links.c.id),
    "postgresql": _newest(*(_POSTGRESQL.c[name] for name in ("search", "account", "link"))),
}


def sample(tx: Connection, account: int) -> Sequence[str]:
    """Return the texts of the newest links, by which the functions below estimate numbers of matches."""
    return tx.execute(_NEWEST[tx.dialect.name], {"account": account}).scalars().all()


def newest_matches(account: int, words: Sequence[str]) -> Select[int]:
    """PostgreSQL: select the ids of the account's links that contain all words, without the index, but newest first.

    A limit ends the query early. OFFSET keeps PostgreSQL from a plan that tests all links if it expects few matches.
    """
    c = _POSTGRESQL.c
    newest = select(c.link, c.search).where(c.account == account).order_by(c.link.desc()).offset(0).subquery()
    return select(newest.c.link).where(*(newest.c.search.contains(word, autoescape=True) for word in words))


def tested_matches(account: int, words: Sequence[str]) -> Select[int]:
    """PostgreSQL: select the ids of the account's links that contain all words, without the index, in any order.

    Rows of the index's table are narrower than those of `links`, so testing them takes half the time.
    """
    c = _POSTGRESQL.c
    is_match = (c.search.contains(word, autoescape=True) for word in words)
    return select(c.link).where(c.account == account, *is_match)


def is_selective(words: Sequence[str], texts: Sequence[str], total: int, limit: int | None) -> bool:
    """Return whether a GIN index finds the `limit` newest matches, or all of them, for less than testing the links.

    `texts`: the sample of the `total` links.
    """
    matching = sum(all(word in content for word in words) for content in texts)
    if not matching:
        return True
    tested = total if limit is None else min(total, limit * len(texts) / matching)
    return total * matching / len(texts) * _MATCH_COST <= tested


def matches(tx: Connection, account: int, words: Sequence[str], texts: Sequence[str]) -> Select[int]:
    """Select the ids of the links that contain all words (case-folded, one of MIN_LENGTH) by the index.

    `texts`: the sample. On SQLite, links of other accounts may be among them.
    """
    indexed = [word for word in words if len(word) >= MIN_LENGTH]
    parts = [_rarest_part(word, texts, max(MIN_LENGTH, _PART // len(indexed))) for word in indexed]
    if tx.dialect.name == "sqlite":
        with_parts = sum(all(part in content for part in parts) for content in texts)
        max_tested = _MAX_TESTED if len(words) > 1 else 0
        is_tested = with_parts * tx.execute(_NEWEST_ID).scalar_one() <= max_tested * len(texts)
        return _sqlite_matches(account, words, parts if is_tested else indexed)
    c = _POSTGRESQL.c
    contains_keys = func.links_search_keys(c.search, c.account).bool_op("@>")
    has_keys = (contains_keys(func.links_search_keys(part, account)) for part in parts)
    query = select(c.link).where(*has_keys, *(c.search.contains(word, autoescape=True) for word in words))
    # The keys contain the account. Its condition is for a cluster: without statistics, PostgreSQL would read all texts
    # of the account for it.
    return query.where(c.account == account) if distribution.are_items_distributed(tx) else query


def _sqlite_matches(account: int, words: Sequence[str], phrases: Sequence[str]) -> Select[int]:
    phrase = " AND ".join('"' + part.replace('"', '""') + '"' for part in phrases)
    query = select(_SQLITE.c.rowid).where(text(_SQLITE_MATCHES).bindparams(phrase=phrase))
    tested = {f"q{n}": word for n, word in enumerate(words) if word not in phrases}
    if not tested:
        return query
    contains = "".join(f" AND instr(search, :{name})" for name in tested)
    return query.where(text(_SQLITE_CONTAINS.format(contains)).bindparams(account=account, **tested))


def owned_matches(tx: Connection, account: int, words: Sequence[str], texts: Sequence[str]) -> Select[int]:
    """Like `matches`, but only links of the account."""
    query = matches(tx, account, words, texts)
    if tx.dialect.name == "sqlite" and not tx.execute(_IS_ONLY_ACCOUNT, {"account": account}).scalar_one():
        return query.where(text(_SQLITE_IS_OWNED).bindparams(account=account))
    return query


def allow_large_result(tx: Connection, total: int) -> None:
    """Let PostgreSQL search an account with `total` links within this transaction."""
    if tx.dialect.name == "postgresql" and total > _SMALL_BITMAP:
        tx.execute(_ALLOW_LARGE_BITMAP)


def _rarest_part(word: str, texts: Sequence[str], length: int) -> str:
    """Return the part of a word that the fewest of the texts contain, with `length` characters or fewer."""
    if len(word) <= length:
        return word
    joined, counts = "\n".join(texts), dict[str, int]()
    for start in range(len(word) - MIN_LENGTH + 1):
        trigram = word[start : start + MIN_LENGTH]
        counts[trigram] = counts.get(trigram) or joined.count(trigram)

    def rank(part: str) -> tuple[int, int]:
        trigrams = [counts[part[start : start + MIN_LENGTH]] for start in range(length - MIN_LENGTH + 1)]
        return joined.count(part) if all(trigrams) else 0, sum(trigrams)

    return min((word[start : start + length] for start in range(len(word) - length + 1)), key=rank)
