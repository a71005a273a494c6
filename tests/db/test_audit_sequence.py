"""Positions of the audit log: dense, in the order of commits, once, and with the readers in the same transaction."""

import threading
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, select

from tests.support.databases import ON_POSTGRESQL
from tests.support.statements import counted_statements
from tests.support.threads import join
from waypost.core.actor import Actor, acting
from waypost.db import audit_log, audit_sequence
from waypost.db.audit_sequence import SequencedEvent, Sequencer
from waypost.db.database import Database
from waypost.db.schema import audit


def _record(database: Database, *labels: str) -> None:
    def work(tx: Connection) -> None:
        for label in labels:
            audit_log.record(tx, None, "plan.created", label=label, after={"name": label})

    database.write(work)


def _labels(database: Database) -> Sequence[tuple[str, int | None]]:
    query = select(audit.c.label, audit.c.position).where(audit.c.kind == "plan").order_by(audit.c.position)
    return [(label, position) for label, position in database.read(lambda tx: tx.execute(query).all())]


def _assign_all(database: Database) -> None:
    sequencer = Sequencer(database, [])
    while sequencer.step():
        pass


def test_events_get_dense_positions_in_the_order_of_their_ids(database: Database) -> None:
    _assign_all(database)
    start = database.write(audit_sequence.hold)
    _record(database, "a", "b")
    _record(database, "c")
    _assign_all(database)
    _record(database, "d")
    _assign_all(database)
    assert _labels(database) == [(label, start + index) for index, label in enumerate("abcd")]


def test_readers_get_every_event_once_in_batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_sequence, "BATCH", 2)
    monkeypatch.setattr(audit_sequence, "_NEXT", audit_sequence._NEXT.limit(2))
    _assign_all(database)
    with acting(lambda: Actor("command")):
        _record(database, "a", "b", "c")
    read: list[SequencedEvent] = []
    sequencer = Sequencer(database, [lambda _tx, events: read.extend(events)])
    assert [sequencer.step() for _ in range(3)] == [True, False, False]
    assert [(event.label, event.origin, event.after) for event in read] == [
        (label, "command", {"name": label}) for label in "abc"
    ]
    assert [event.position for event in read] == list(range(read[0].position, read[0].position + 3))
    assert len({event.salt for event in read}) == 3
    assert {len(event.salt) for event in read} == {32}


def test_reader_that_fails_leaves_the_events_without_position(database: Database) -> None:
    _record(database, "a")

    def fail(_tx: Connection, _events: Sequence[SequencedEvent]) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Sequencer(database, [fail]).step()
    assert _labels(database) == [("a", None)]
    _assign_all(database)
    assert _labels(database)[0][1] is not None


def test_nothing_is_written_while_nothing_happens(database: Database) -> None:
    _assign_all(database)
    with counted_statements("audit", "installation") as executed:
        assert not Sequencer(database, []).step()
    assert [statement.split()[0] for statement in executed] == ["SELECT"]


def test_concurrent_sequencers_and_changes_leave_no_gap(database: Database) -> None:
    stop = threading.Event()
    sequencers = [threading.Thread(target=Sequencer(database, []).run, args=[stop]) for _ in range(2)]

    def change() -> None:
        for number in range(20):
            _record(database, str(number))

    writers = [threading.Thread(target=change) for _ in range(2)]
    for thread in (*sequencers, *writers):
        thread.start()
    join(*writers)
    stop.set()
    join(*sequencers)
    _assign_all(database)
    positions = database.read(lambda tx: tx.execute(select(audit.c.position)).scalars().all())
    assert sorted(position for position in positions if position is not None) == list(range(len(positions)))


@ON_POSTGRESQL
def test_event_that_is_committed_later_than_a_higher_id_gets_a_later_position(database: Database) -> None:
    _assign_all(database)

    def work(tx: Connection) -> None:
        audit_log.record(tx, None, "plan.created", label="slow")
        audit_log.flush(tx)  # the id is assigned here
        _record(database, "fast")
        _assign_all(database)

    database.write(work)
    _assign_all(database)
    assert [label for label, _ in _labels(database)] == ["fast", "slow"]
