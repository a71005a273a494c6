"""Find things of an account by names, short URLs and hosts, in all nouns at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, literal, select, union_all

from waypost.db.crud import PageRequest
from waypost.db.item_columns import name_of
from waypost.db.schema.nouns import NOUNS
from waypost.items.links.list_search import quick_page
from waypost.search import items
from waypost.search.words import Word

MAX_MATCHES = 5
"""Matches of a kind that are returned."""
_WINDOW = PageRequest(limit=MAX_MATCHES)
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
    """Return the newest things that match all words, at most MAX_MATCHES of a kind; nothing without a word.

    They match as in the lists (decision 93). One statement for links, one for all other kinds.
    """
    if not words:
        return ()
    links = quick_page(tx, account, _WINDOW, words=words).items
    others = tx.execute(union_all(*_newest_of_each_kind(tx, account, words)))
    return (
        *(Match("link", link.id, link.title or link.alias, link.alias if link.title else "") for link in links),
        *(Match(kind, number, name or alias, alias if name else "") for kind, number, name, alias in others),
    )


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
        yield matches.limit(MAX_MATCHES).subquery().select()
