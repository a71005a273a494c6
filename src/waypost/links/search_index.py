"""The search index `links_search`: links that contain a literal, without reading every link (decision 81).

SQLite has an FTS5 table, in which a phrase of trigrams is the literal. It covers all accounts and yields links in
order. PostgreSQL has a table with a GIN index over each row's trigrams and account. It compares the text of the rows,
yields links in no order, and is slower than testing links one by one if many contain the literal.

Both read the list of every trigram they are asked for, so a long literal is reduced to its rarest part.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, bindparam, column, func, select, table, text

from waypost.db.schema import links

MIN_LENGTH = 3
"""A shorter literal has no trigram."""

_PART = 10
"""Characters of the rarest part."""
_SAMPLE = 500
_MATCH_COST = 8
"""A match of the GIN index costs as much as testing so many links."""
_SQLITE = table("links_search", column("rowid"))
_SQLITE_MATCHES = "links_search MATCH :phrase"
# Without the hint SQLite reads the whole row of each match to compare its account.
_SQLITE_IS_OWNED = """
    EXISTS (SELECT 1 FROM links INDEXED BY links_account_id WHERE account = :account AND id = links_search.rowid)"""
_SQLITE_CONTAINS = """
    EXISTS (SELECT 1 FROM links WHERE id = links_search.rowid AND account = :account AND instr(search, :q))"""
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
    parts = {word: _rarest_part(word, texts) for word in words if len(word) >= MIN_LENGTH}
    if tx.dialect.name == "sqlite":
        # The whole literal is cheaper than reading the text of many links.
        phrases = [word if is_in_sample else part for word, (part, is_in_sample) in parts.items()]
        phrase = " AND ".join('"' + part.replace('"', '""') + '"' for part in phrases)
        query = select(_SQLITE.c.rowid).where(text(_SQLITE_MATCHES).bindparams(phrase=phrase))
        for n, word in enumerate(word for word in words if word not in phrases):
            contains = text(_SQLITE_CONTAINS.replace(":q", f":q{n}")).bindparams(**{f"q{n}": word, "account": account})
            query = query.where(contains)
        return query
    c = _POSTGRESQL.c
    contains_keys = func.links_search_keys(c.search, c.account).bool_op("@>")
    has_keys = (contains_keys(func.links_search_keys(part, account)) for part, _ in parts.values())
    return select(c.link).where(*has_keys, *(c.search.contains(word, autoescape=True) for word in words))


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


def _rarest_part(q: str, texts: Sequence[str]) -> tuple[str, bool]:
    """Return the part of `q` that the fewest of the texts contain, and whether any does."""
    if len(q) <= _PART:
        return q, False
    joined, counts = "\n".join(texts), dict[str, int]()
    for start in range(len(q) - MIN_LENGTH + 1):
        trigram = q[start : start + MIN_LENGTH]
        counts[trigram] = counts.get(trigram) or joined.count(trigram)

    def rank(part: str) -> tuple[int, int]:
        trigrams = [counts[part[start : start + MIN_LENGTH]] for start in range(_PART - MIN_LENGTH + 1)]
        return joined.count(part) if all(trigrams) else 0, sum(trigrams)

    part = min((q[start : start + _PART] for start in range(len(q) - _PART + 1)), key=rank)
    return part, part in joined
