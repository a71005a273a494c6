"""Export of the whole log for verifiers that do not trust the service: docs/verify_audit.py."""

import json
from collections.abc import Iterator
from functools import partial

from sqlalchemy import Connection, select

from waypost.audit import merkle
from waypost.db import audit_sequence
from waypost.db.audit_sequence import COLUMNS, SequencedEvent
from waypost.db.database import Database
from waypost.db.schema import audit


def lines(database: Database) -> Iterator[str]:
    """Yield a line for each position, from 0 on: the bytes that are hashed, or the hash of an event that was deleted.

    Each part is read in its own transaction, so that a slow reader holds none open.
    """
    size = database.read(audit_sequence.size)
    for first in range(0, size, merkle.TILE):
        yield database.read(partial(_part, first=first, size=size))


def _part(tx: Connection, *, first: int, size: int) -> str:
    position = audit.c.position
    query = select(*COLUMNS).where(position >= first, position < min(first + merkle.TILE, size))
    events = {row["position"]: SequencedEvent(**row) for row in tx.execute(query).mappings()}
    hashes = merkle.split(merkle.tile(tx, 0, first // merkle.TILE))[: size - first]
    return "".join(f"{_line(events.get(at), at, leaf)}\n" for at, leaf in enumerate(hashes, first))


def _line(event: SequencedEvent | None, position: int, leaf: bytes) -> str:
    return merkle.canonical(event).decode() if event else json.dumps({"hash": leaf.hex(), "position": position})
