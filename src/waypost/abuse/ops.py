"""What the operator blocks, and what visitors report."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, func, insert, literal, select, update

from waypost import changes, clock
from waypost.aliases import namespace
from waypost.db import upsert
from waypost.errors import Kind, Problem, invalid
from waypost.net import blocked
from waypost.net.targets import ascii_host
from waypost.schema import blocks, reports

Reason = Literal["phishing", "malware", "spam", "illegal", "other"]
_SHORTEST_WORD = 3
_HOUR = 3600
MOST_AN_HOUR = 5
"""Reports that are taken from one network in an hour."""
_MOST_OPEN = 20  # about one name: by then the operator knows


@dataclass(frozen=True)
class Block:
    """A host, with everything below it, or a word; since when, in seconds, UTC."""

    kind: str
    value: str
    created: int


@dataclass(frozen=True)
class Report:
    """What somebody says of a name; `closed` once the operator has looked at it. Times are seconds, UTC."""

    id: int
    host: str
    alias: str
    reason: str
    comment: str
    created: int
    closed: int | None


def block(tx: Connection, value: str, *, kind: str) -> Block:
    """Block a host or a word, from now on and for what is there already. Raises INVALID on `value`."""
    row = Block(kind, _plain(value, kind), clock.now())
    tx.execute(upsert(tx, blocks).values(vars(row)).on_conflict_do_nothing())
    changes.note(tx, namespace.OWN)  # every answer that is remembered may lead there
    return row


def unblock(tx: Connection, value: str, *, kind: str) -> Block:
    """Take a host or a word off the list. Raises NOT_FOUND."""
    plain = _plain(value, kind)
    gone = delete(blocks).where(blocks.c.kind == kind, blocks.c.value == plain).returning(blocks.c.created)
    created = tx.execute(gone).scalar_one_or_none()
    if created is None:
        raise Problem(Kind.NOT_FOUND, f"The {kind} {plain} is not blocked.")
    changes.note(tx, namespace.OWN)
    return Block(kind, plain, created)


def blocks_of(tx: Connection) -> list[Block]:
    """The whole list: hosts before words, by name."""
    chosen = select(blocks.c.kind, blocks.c.value, blocks.c.created).order_by(blocks.c.kind, blocks.c.value)
    return [Block(**row) for row in tx.execute(chosen).mappings()]


def report(tx: Connection, *, host: str, alias: str, reason: Reason, comment: str, reporter: bytes) -> bool:
    """Keep a report; False when that network has sent enough for an hour, however many it sends at once.

    What is reported by many already is thanked for and not kept once more.
    """
    if tx.dialect.name == "postgresql":  # where two statements that count do not wait for each other
        tx.execute(select(func.pg_advisory_xact_lock(int.from_bytes(reporter[:8], signed=True))))
    now = clock.now()
    c = reports.c
    mine = select(func.count()).where(c.reporter == reporter, c.created > now - _HOUR).scalar_subquery()
    same = select(func.count()).where(c.host == host, c.alias == alias, c.closed.is_(None)).scalar_subquery()
    row = {"host": host, "alias": alias, "reason": reason, "comment": comment, "reporter": reporter, "created": now}
    values = select(*(literal(value, c[name].type) for name, value in row.items()))
    new = insert(reports).from_select(list(row), values.where(mine < MOST_AN_HOUR, same < _MOST_OPEN))
    if tx.execute(new.returning(c.id)).first() is not None:
        return True
    return bool(tx.execute(select(mine)).scalar_one() < MOST_AN_HOUR)


def reports_of(tx: Connection, *, closed: bool = False) -> list[Report]:
    """The reports that wait for the operator, oldest first; with `closed`, the others too."""
    c = reports.c
    chosen = select(c.id, c.host, c.alias, c.reason, c.comment, c.created, c.closed).order_by(c.id)
    return [Report(**row) for row in tx.execute(chosen if closed else chosen.where(c.closed.is_(None))).mappings()]


def close(tx: Connection, report: int) -> None:
    """Note that the operator has looked at a report. Raises NOT_FOUND."""
    if tx.execute(update(reports).where(reports.c.id == report).values(closed=clock.now())).rowcount == 0:
        raise Problem(Kind.NOT_FOUND, f"There is no report {report}.")


def _plain(value: str, kind: str) -> str:
    """A host as it stands on the wire, from a URL or a name; a word as it is looked for. Raises INVALID."""
    if kind == blocked.WORD:
        plain = blocked.word(value)
        if len(plain) < _SHORTEST_WORD:
            raise invalid("value", f"A word must have at least {_SHORTEST_WORD} letters, or it would block too much.")
        return plain
    try:
        parts = urlsplit(value.strip() if "://" in value else f"//{value.strip()}")
        host = ascii_host((parts.hostname or "").removeprefix("*."))
    except ValueError:
        host = None
    if host is None:
        raise invalid("value", f"{value} is not a host name, such as bad.example.")
    return host
