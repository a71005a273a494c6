"""The record of edits: when an item was changed by its user, for the events on charts."""

from sqlalchemy import Connection

from waypost.core import clock
from waypost.db.database import upsert
from waypost.db.schema import edits

_PRECISION = 900
"""Seconds: edits within a quarter of an hour are one, so that a program cannot fill the table."""


def record(tx: Connection, account: int, kind: str, *items: int) -> None:
    """Record that items were edited now."""
    at = clock.now() // _PRECISION * _PRECISION
    rows = [{"account": account, "kind": kind, "item": item, "at": at} for item in items]
    if rows:
        tx.execute(upsert(tx, edits).on_conflict_do_nothing(), rows)
