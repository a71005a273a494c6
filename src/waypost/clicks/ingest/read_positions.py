"""Positions up to which the segments of journals are counted."""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, select, update

from waypost.clicks.journal.reader import Chunk
from waypost.db.database import upsert
from waypost.db.schema import segments
from waypost.errors import Kind, Problem

_ADVANCE = (
    update(segments)
    .where(segments.c.name == bindparam("segment"), segments.c.position == bindparam("start"))
    .values(position=bindparam("end"))
)


def advance(tx: Connection, chunk: Chunk) -> bool:
    """Move the position of a chunk's segment from the chunk's start to its end. Return False if it was elsewhere.

    Within a segment the row must exist: a database server that has lost it has lost the segment's clicks too.
    """
    if chunk.start:
        return tx.execute(_ADVANCE, {"segment": chunk.segment, "start": chunk.start, "end": chunk.end}).rowcount == 1
    row = upsert(tx, segments).values(name=chunk.segment, position=chunk.end)
    stmt = row.on_conflict_do_update(
        index_elements=["name"], set_={"position": chunk.end}, where=segments.c.position == 0
    )
    return tx.execute(stmt.returning(segments.c.name)).first() is not None


def flush(tx: Connection, expected: Mapping[str, int]) -> None:
    """Write the positions of segments once more, in a transaction that the database flushes to disk with all before it.

    Raises UNAVAILABLE if they differ, because a failover or a power cut has taken the last transactions.
    """
    is_named = segments.c.name.in_(expected)
    positions = dict.fromkeys(expected, 0) | {
        row.name: row.position for row in tx.execute(select(segments).where(is_named))
    }
    if positions != expected:
        raise Problem(Kind.UNAVAILABLE, "The database has lost the last counts. They are counted again.")
    for change in (1, -1):  # SQLite writes and flushes nothing for an update that changes nothing
        tx.execute(update(segments).where(is_named).values(position=segments.c.position + change))
