"""Positions of the audit log: one order of all committed events, without gaps, which never changes (ADR 19).

Ids are assigned before the commit, so a lower one can appear later. A position is assigned after it, by one process at
a time, and readers get each event once and in order, in the transaction that assigns its position.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import structlog
from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.exc import DBAPIError

from waypost.core.errors import Problem
from waypost.core.reasons import RepeatedReason
from waypost.db.database import Database, upsert
from waypost.db.schema import audit, installation

BATCH = 1000
POLL_SECONDS = 0.5
_LOG_SECONDS = 60.0  # between two log entries with the same reason
_SIZE = "audit size"
"""Name of the installation value with the number of assigned positions."""
_log = structlog.get_logger("audit")


@dataclass(frozen=True, kw_only=True)
class StoredEvent:
    """A row of the log. `account` is None for an event of the installation; `actor` is that of the session or key."""

    id: int
    at: int
    account: int | None
    name: str
    kind: str
    item: int | None
    label: str
    origin: str
    actor: int | None
    key: str
    network: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class SequencedEvent(StoredEvent):
    """A row that has its position. The salt is in the hash of its leaf."""

    position: int
    salt: str


Reader = Callable[[Connection, Sequence[SequencedEvent]], None]
"""Gets the events of a batch in the order of their positions, before the commit. It must not wait for anything else."""
_WITHOUT_POSITION = audit.c.position.is_(None)
COLUMNS = [audit.c[field.name] for field in fields(SequencedEvent)]
_PENDING = select(audit.c.id).where(_WITHOUT_POSITION).limit(1)
_NEXT = select(*COLUMNS).where(_WITHOUT_POSITION).order_by(audit.c.id).limit(BATCH).with_for_update()
# With the condition, PostgreSQL finds the row by the partial index: ids have no other one.
_ASSIGN = update(audit).where(audit.c.id == bindparam("row"), _WITHOUT_POSITION).values(position=bindparam("new"))
_IS_SIZE = installation.c.name == _SIZE


def size(tx: Connection) -> int:
    """Return how many positions are assigned."""
    stored = tx.execute(select(installation.c.value).where(_IS_SIZE)).scalar()
    return 0 if stored is None else int(bytes(stored))


def hold(tx: Connection) -> int:
    """Return how many positions are assigned. No other transaction assigns or deletes any until this one ends."""
    tx.execute(upsert(tx, installation).values(name=_SIZE, value=b"0").on_conflict_do_nothing())
    return int(bytes(tx.execute(select(installation.c.value).where(_IS_SIZE).with_for_update()).scalar_one()))


def assign(tx: Connection, readers: Sequence[Reader]) -> int:
    """Assign the next positions, and pass the events to the readers. Return how many."""
    start = hold(tx)
    rows = tx.execute(_NEXT).mappings().all()
    if not rows:
        return 0
    events = [SequencedEvent(**{**row, "position": start + index}) for index, row in enumerate(rows)]
    tx.execute(_ASSIGN, [{"row": event.id, "new": event.position} for event in events])
    tx.execute(update(installation).where(_IS_SIZE).values(value=str(start + len(events)).encode()))
    for read in readers:
        read(tx, events)
    return len(events)


class Sequencer:
    """Assigns positions soon after the commits. Every node has one; a lock lets one at a time work."""

    def __init__(self, database: Database, readers: Sequence[Reader]) -> None:
        self._database = database
        self._readers = readers
        self._fault = RepeatedReason(
            lambda reason: _log.warning("audit log waits for the database", reason=reason), _LOG_SECONDS
        )

    def run(self, stop: threading.Event, after_step: Callable[[], None] = lambda: None) -> None:
        """Assign positions until `stop` is set. `after_step` is called at least every half second."""
        is_behind = False
        while not stop.wait(0 if is_behind else POLL_SECONDS):
            try:
                is_behind = self.step()
                after_step()
            except (Problem, DBAPIError) as error:  # the database is away; DBAPIError: damage, or a missing right
                is_behind = False
                self._fault.record(str(error))
                self._fault.flush()

    def step(self) -> bool:
        """Assign the positions of one batch. Return whether more events can be waiting. Writes nothing if none are."""
        if self._database.read(lambda tx: tx.execute(_PENDING).first(), autocommit=True) is None:
            return False
        # After a power cut, the same events get the same positions again.
        assigned = self._database.write(lambda tx: assign(tx, self._readers), durability="process")
        return assigned == BATCH
