"""Results of attempts, which are stored again until the database answers: without them, something is sent twice."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from waypost.core.errors import Problem
from waypost.db.database import Database, Durability

T = TypeVar("T")


def store(
    database: Database,
    record: Callable[[Connection], T],
    *,
    seconds: float,
    pause: Callable[[], bool],
    durability: Durability = "full",
) -> T:
    """Store a result, for `seconds` if the database is away. Raises its UNAVAILABLE after them.

    `pause` waits for a moment between two tries. It returns True if the process ends, so that there is no other try.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return database.write(record, durability=durability)
        except Problem:
            if time.monotonic() >= end or pause():
                raise
