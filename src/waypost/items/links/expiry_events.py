"""The event of a link whose expiry has passed, recorded exactly once by a job that one process of all nodes runs.

The position in the order of expiries is stored in the transaction that records the events.
"""

import json
import threading
from functools import partial

import structlog
from sqlalchemy import ColumnElement, Connection, exists, select, tuple_
from sqlalchemy.exc import DBAPIError

from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.reasons import RepeatedReason
from waypost.core.settings import Settings
from waypost.db import audit_log
from waypost.db.database import Database, upsert
from waypost.db.item_columns import name_of
from waypost.db.schema import installation, links
from waypost.db.schema.nouns import NOUNS

SETTLE_SECONDS = 10
"""An expiry is read so long after it has passed: changes that are committed later than that are missed."""
BATCH = 1000
_EVENT = "link.expired"
POSITION = "expired links"
"""The name of the row of `installation` with the position."""
_POLL_SECONDS, _IDLE_SECONDS = 10.0, 60
LOG_SECONDS = 60.0
_MAX_AHEAD = 86_400
"""A position so many seconds after the present is of a clock that was wrong."""
_LAST_ID = 2**53
_c = links.c
_i = installation.c
_log = structlog.get_logger("links")


def run(_settings: Settings, database: Database, stop: threading.Event) -> None:
    """Record events until `stop` is set."""
    fault = RepeatedReason(lambda reason: _log.warning("cannot look for expired links now", reason=reason), LOG_SECONDS)
    is_behind = False
    while not stop.wait(0 if is_behind else _POLL_SECONDS):
        try:
            is_behind = step(database)
        except (Problem, DBAPIError) as error:  # DBAPIError: damage, or a missing right
            is_behind = False
            fault.record(str(error))
            fault.flush()


def step(database: Database) -> bool:
    """Record the events of one batch. Return whether there may be more. Writes once a minute if no link expires."""
    until = clock.now() - SETTLE_SECONDS
    if not database.read(partial(has_work, until=until)):
        return False
    return database.write(partial(record, until=until))


def has_work(tx: Connection, until: int) -> bool:
    """Return whether `record` has links to record, or a position to store: once a minute."""
    position = _position(tx)
    if position is None or not until - _IDLE_SECONDS <= position[0] <= until + _MAX_AHEAD:
        return True
    return bool(tx.execute(select(exists().where(*_passed(position, until)))).scalar_one())


def record(tx: Connection, until: int) -> bool:
    """Record the links of the next batch, and store the position.

    The first position is the present, so that old links have no events; as is the next one after that of a wrong clock.
    """
    present = json.dumps([until, 0]).encode()
    tx.execute(upsert(tx, installation).values(name=POSITION, value=present).on_conflict_do_nothing())
    # Other processes wait here, and continue after the position that this transaction stores.
    tx.execute(select(_i.name).where(_i.name == POSITION).with_for_update())
    position = _position(tx)
    assert position is not None
    if position[0] > until + _MAX_AHEAD:
        _store(tx, present)
    if position[0] >= until:
        return False
    query = select(_c.account, _c.id, _c.expiry, name_of(NOUNS["link"]).label("name"))
    rows = tx.execute(query.where(*_passed(position, until)).order_by(_c.expiry, _c.id).limit(BATCH)).all()
    for row in rows:
        audit_log.record(tx, row.account, _EVENT, row.id, label=row.name, after={"expiry": row.expiry})
    is_full = len(rows) == BATCH
    end = (rows[-1].expiry, rows[-1].id) if is_full else (until - 1, _LAST_ID)
    _store(tx, json.dumps(end).encode())
    return is_full


def _passed(position: tuple[int, int], until: int) -> tuple[ColumnElement[bool], ...]:
    """Return the condition of links that expired after the position and before `until` (index links_expiry)."""
    return tuple_(_c.expiry, _c.id) > position, _c.expiry < until


def _position(tx: Connection) -> tuple[int, int] | None:
    """Return the expiry and id of the last link that was read; None before the first time."""
    value = tx.execute(select(_i.value).where(_i.name == POSITION)).scalar()
    if value is None:
        return None
    expiry, link = json.loads(bytes(value))
    return expiry, link


def _store(tx: Connection, position: bytes) -> None:
    tx.execute(installation.update().where(_i.name == POSITION).values(value=position))
