"""Find things of an account by names, short URLs and hosts, in all nouns at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, literal, select, union_all

from waypost.core.text_folding import folded
from waypost.db.item_columns import name_of
from waypost.db.schema import links
from waypost.db.schema.nouns import NOUNS
from waypost.items.links.filters import NO_FILTER
from waypost.items.links.list_search import newest_ids
from waypost.search import items
from waypost.search.words import Word

MAX_MATCHES = 5
"""Matches of a kind that are returned."""
_MAX_RANKED = 1_000
"""The newest matches of a kind, of which the best are returned."""
_WITHOUT_ALIAS = ("file", "campaign")
"""Kinds of the things that are shown by their names alone."""


@dataclass(frozen=True)
class Match:
    """A thing that matches; `detail` is its alias, or ""."""

    kind: str
    id: int
    name: str
    detail: str = ""


def find(tx: Connection, account: int, words: Sequence[Word]) -> Sequence[Match]:
    """Return the best things that match all words, at most MAX_MATCHES of a kind; nothing without a word.

    They match as in the lists (decision 93). Things whose name or alias begins with the first word precede those with
    all words in name and alias; links with words only in their destination, or in a group, are last. The newest of each
    come first. Two statements for links, one for all other kinds.
    """
    if not words:
        return ()
    others = tx.execute(union_all(*_newest_of_each_kind(tx, account, words)))
    matches = [*_newest_links(tx, account, words)]
    matches += [Match(kind, number, name or alias, alias if name else "") for kind, number, name, alias in others]
    return [match for kind in NOUNS for match in _best([match for match in matches if match.kind == kind], words)]


def _best(matches: Sequence[Match], words: Sequence[Word]) -> Sequence[Match]:
    return sorted(matches, key=lambda match: _rank(match, words))[:MAX_MATCHES]


def _rank(match: Match, words: Sequence[Word]) -> int:
    """Return 0 for the best matches, and 2 for those by something else than name and alias."""
    texts = [folded(word.short[1]) if word.short else word.text for word in words]
    names = [folded(match.name), folded(match.detail)]
    if not all(any(text in name for name in names) for text in texts):
        return 2
    return 0 if any(name.startswith(texts[0]) for name in names) else 1


def _newest_links(tx: Connection, account: int, words: Sequence[Word]) -> Iterator[Match]:
    ids = newest_ids(tx, account, words, NO_FILTER, limit=_MAX_RANKED)
    c = links.c
    rows = tx.execute(select(c.id, c.title, c.alias).where(c.account == account, c.id.in_(ids)).order_by(c.id.desc()))
    for number, title, alias in rows:
        yield Match("link", number, title or alias, alias if title else "")


def _newest_of_each_kind(tx: Connection, account: int, words: Sequence[Word]) -> Iterator[Select[str, int, str, str]]:
    """Select (kind, id, name, alias) of the newest matches."""
    for kind, noun in NOUNS.items():
        if kind == "link":  # which has a search index
            continue
        c = noun.table.c
        has_alias = noun.alias is not None and kind not in _WITHOUT_ALIAS
        shown = (c[noun.names[0]], c.alias) if has_alias else (name_of(noun), literal(""))
        query = select(literal(kind), c.id, *shown)
        matches = query.where(c.account == account, items.matches(tx, noun, words)).order_by(c.id.desc())
        yield matches.limit(_MAX_RANKED).subquery().select()
