"""Find things of an account by their names, in all nouns at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import CompoundSelect, Connection, Table, bindparam, literal, select, union_all

from waypost.db.crud import PageRequest
from waypost.db.schema import bios, campaigns, channels, domains, overlays, pixels, qrs, splashes, utm_templates
from waypost.files import ops as files
from waypost.links import words
from waypost.links.quick_search import quick_page
from waypost.settings import Settings

MAX_MATCHES = 5
"""Matches of a kind that are returned."""
_MAX_NAMES = 2_000
_WINDOW = PageRequest(limit=MAX_MATCHES)


@dataclass(frozen=True)
class Match:
    """A thing that matches. `folder` is the folder of its page below /dashboard; `detail` is an alias, or ""."""

    folder: str
    id: int
    name: str
    detail: str = ""


_TABLES: dict[str, tuple[Table, str, str | None]] = {
    "qr": (qrs, "name", "alias"),
    "bios": (bios, "name", "alias"),
    "campaigns": (campaigns, "name", None),
    "channels": (channels, "name", None),
    "splash": (splashes, "name", None),
    "overlays": (overlays, "name", None),
    "pixels": (pixels, "name", None),
    "utm": (utm_templates, "name", None),
    "domains": (domains, "host", None),
}
"""By folder: the table, its column with the name, and the one with the alias."""


def _newest_names() -> CompoundSelect[str, int, str, str]:
    """Select (folder, id, name, alias) of the newest rows of each table."""
    newest = []
    for folder, (table, name, alias) in _TABLES.items():
        detail = table.c[alias] if alias else literal("")
        query = select(literal(folder), table.c.id, table.c[name], detail)
        owned = query.where(table.c.account == bindparam("account_id")).order_by(table.c.id.desc())
        newest.append(owned.limit(_MAX_NAMES).subquery().select())
    return union_all(*newest)


_NAMES = _newest_names()


def find(tx: Connection, account: int, q: str, *, settings: Settings) -> Sequence[Match]:
    """Return the newest things that match all words, at most MAX_MATCHES of a kind; nothing without a word.

    Links match as in the list of links (decision 93), files by the whole text, others by name or alias among the
    2,000 newest of each kind.
    """
    parsed = words.parse(tx, account, q, settings=settings)
    if not parsed:
        return ()
    links = quick_page(tx, account, _WINDOW, words=parsed).items
    return (
        *(Match("links", link.id, link.title or link.alias, link.alias if link.title else "") for link in links),
        *(Match("files", file.id, file.name) for file in files.page(tx, account, _WINDOW, name=q.strip()).items),
        *_find_named(tx, account, [text.casefold() for text in q.split()]),
    )


def _find_named(tx: Connection, account: int, texts: Sequence[str]) -> Sequence[Match]:
    """Compare in Python, because SQLite folds the case of ASCII only."""
    matches: dict[str, list[Match]] = {folder: [] for folder in _TABLES}
    for folder, number, name, detail in tx.execute(_NAMES, {"account_id": account}):
        content = f"{name} {detail}".casefold()
        if len(matches[folder]) < MAX_MATCHES and all(text in content for text in texts):
            matches[folder].append(Match(folder, number, name or detail, detail if name else ""))
    return [match for folder in _TABLES for match in matches[folder]]
