"""Find things of an account by names, short URLs and hosts, in all nouns at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, literal, select, union_all

from waypost.db.crud import PageRequest
from waypost.links.quick_search import quick_page
from waypost.search import items
from waypost.search.words import Word

MAX_MATCHES = 5
"""Matches of a kind that are returned."""
_WINDOW = PageRequest(limit=MAX_MATCHES)
_WITHOUT_ALIAS = ("files", "campaigns")
"""Folders of the things that are shown by their names alone."""


@dataclass(frozen=True)
class Match:
    """A thing that matches. `folder` is the folder of its page below /dashboard; `detail` is an alias, or ""."""

    folder: str
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
        *(Match("links", link.id, link.title or link.alias, link.alias if link.title else "") for link in links),
        *(Match(folder, number, name or alias, alias if name else "") for folder, number, name, alias in others),
    )


def _newest_of_each_kind(tx: Connection, account: int, words: Sequence[Word]) -> Iterator[Select[str, int, str, str]]:
    """Select (folder, id, name, alias) of the newest matches."""
    for folder, kind in items.KINDS.items():
        c = kind.table.c
        shown_alias = literal("") if kind.alias is None or folder in _WITHOUT_ALIAS else kind.alias
        query = select(literal(folder), c.id, kind.texts[0], shown_alias)
        matches = query.where(c.account == account, items.matches(tx, kind, words)).order_by(c.id.desc())
        yield matches.limit(MAX_MATCHES).subquery().select()
