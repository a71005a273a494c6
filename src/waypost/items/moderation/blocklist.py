"""The administrator's blocklist: hosts and words that no destination may contain."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, true

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid
from waypost.core.text_folding import folded
from waypost.core.uris import url_host
from waypost.db import audit_log, change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import blocklist_entries
from waypost.urls import alias_namespace, blocklist

_MIN_WORD_LENGTH = 3


@dataclass(frozen=True)
class Block:
    """A blocked host, which includes its subdomains, or a blocked word; `created` is a Unix timestamp."""

    kind: str
    value: str
    created: int


def block(tx: Connection, value: str, *, kind: str) -> Block:
    """Block a host or a word, also for existing items. Raises INVALID on `value`."""
    entry = Block(kind, _normalized(value, kind), clock.now())
    new = upsert(tx, blocklist_entries).values(vars(entry)).on_conflict_do_nothing()
    change_log.record(tx, alias_namespace.OWN)  # every cached response may lead there
    if tx.execute(new.returning(blocklist_entries.c.value)).first() is not None:
        audit_log.record(tx, None, "block.created", label=entry.value)
    return entry


def unblock(tx: Connection, value: str, *, kind: str) -> Block:
    """Remove a host or a word from the list. Raises NOT_FOUND."""
    normalized = _normalized(value, kind)
    c = blocklist_entries.c
    removal = delete(blocklist_entries).where(c.kind == kind, c.value == normalized).returning(c.created)
    created = tx.execute(removal).scalar_one_or_none()
    if created is None:
        raise Problem(Kind.NOT_FOUND, f"The {kind} {normalized} is not blocked.")
    change_log.record(tx, alias_namespace.OWN)
    audit_log.record(tx, None, "block.deleted", label=normalized)
    return Block(kind, normalized, created)


def list_all(tx: Connection) -> list[Block]:
    """Return the whole list: hosts before words, by name."""
    c = blocklist_entries.c
    query = crud.select_columns(blocklist_entries, Block).order_by(c.kind, c.value)
    return [Block(**row) for row in tx.execute(query).mappings()]


def page(tx: Connection, window: PageRequest, *, q: str = "") -> Page[Block]:
    """Return a page of the list, newest first; with `q`, of the entries that contain it."""
    c = blocklist_entries.c
    is_match = c.value.contains(folded(q), autoescape=True) if q else true()
    query = crud.select_columns(blocklist_entries, Block).where(is_match)
    return crud.counted_page(tx, query.order_by(c.created.desc(), c.kind, c.value), window, Block)


def _normalized(value: str, kind: str) -> str:
    """Normalize a host (from a URL or a name, in IDNA form) or a word. Raises INVALID."""
    if kind == blocklist.WORD:
        word = blocklist.normalize_word(value)
        if len(word) < _MIN_WORD_LENGTH:
            message = f"A word must have at least {_MIN_WORD_LENGTH} characters. Shorter words block too much."
            raise invalid("value", message)
        return word
    try:
        parts = urlsplit(value.strip() if "://" in value else f"//{value.strip()}")
        host = url_host((parts.hostname or "").removeprefix("*."))
    except ValueError:
        host = None
    if host is None:
        raise invalid("value", f"{value} is not a host name, such as bad.example.")
    return host
