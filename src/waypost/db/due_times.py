"""Times of queues that cannot be right: more than any pause in the future, so of a clock that was ahead."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, TextClause, exists, select, update
from sqlalchemy.schema import Column

from waypost.core import clock

Condition = ColumnElement[bool] | TextClause


def correct(tx: Connection, due: Column[Any], max_pause: int, *conditions: Condition) -> None:
    """Let the rows with `conditions` be due now whose time is more than `max_pause` seconds away."""
    now = clock.now()
    tx.execute(update(due.table).where(*conditions, due > now + max_pause).values({due.name: now}))


def has_impossible(tx: Connection, due: Column[Any], max_pause: int, *conditions: Condition) -> bool:
    """Return whether `correct` has something to do, by an index of the column."""
    return bool(tx.execute(select(exists().where(*conditions, due > clock.now() + max_pause))).scalar_one())
