"""Rate limits of unauthenticated requests, over all processes that share the data."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import func, select

from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.server import at_once
from waypost.auth.attempt_limits import POLICIES, Limit, RateLimiter
from waypost.db.database import Database
from waypost.db.schema import attempt_limits

pytestmark = ON_BOTH_DATABASES  # PostgreSQL keeps the attempts of all nodes
NOW = 1_800_000_000
NETWORK = "203.0.113.7"


@pytest.fixture
def limiters(database: Database, database_url: str, tmp_path: Path) -> Iterator[list[RateLimiter]]:
    """Three processes: of one node with SQLite, of three nodes with PostgreSQL."""
    folders = [tmp_path if database.is_sqlite else tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    databases = [Database(database_url) for _ in folders]
    limiters = [RateLimiter(folder, base) for folder, base in zip(folders, databases, strict=True)]
    yield limiters
    for limiter in limiters:
        limiter.close()
    for base in databases:
        base.close()


def _acquire(limiter: RateLimiter) -> int:
    return limiter.acquire("password", subject="link 5", network=NETWORK)


def test_parallel_attempts_in_all_processes_are_limited_exactly(limiters: list[RateLimiter]) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        waits = at_once([lambda n=n: _acquire(limiters[n % 3]) for n in range(45)])  # type: ignore[misc]
        assert sorted(waits) == [0] * 10 + [60] * 35
        clock.shift(59)
        assert [_acquire(limiter) for limiter in limiters] == [1, 1, 1]
        clock.shift(1)
        assert [_acquire(limiters[n % 3]) for n in range(12)] == [0] * 10 + [60] * 2
        clock.shift(-3600)  # a clock that is set back blocks no client
        assert _acquire(limiters[0]) == 0


def test_limit_is_exact_with_clocks_that_differ(limiters: list[RateLimiter]) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        allowed = 0
        for n in range(60):
            clock.move_to(NOW + 20 - n % 20)
            allowed += _acquire(limiters[n % 3]) == 0
        assert allowed == 10


def test_rejected_attempt_counts_for_no_limit_of_its_policy(
    limiters: list[RateLimiter], monkeypatch: pytest.MonkeyPatch
) -> None:
    total = Limit("passwords", 100)
    monkeypatch.setitem(POLICIES, "password", (Limit("passwords from {network}", 3), total))
    monkeypatch.setitem(POLICIES, "login", (total,))
    with time_machine.travel(NOW, tick=False):
        assert [_acquire(limiters[n % 3]) > 0 for n in range(20)] == [False] * 3 + [True] * 17
        rejected = [limiters[n % 3].acquire("login", network=NETWORK) > 0 for n in range(98)]
        assert rejected == [False] * 97 + [True]


def test_released_attempt_does_not_count(limiters: list[RateLimiter]) -> None:
    for n in range(25):
        attempt = limiters[n % 3].attempt("password", subject="link 5", network=NETWORK)
        assert attempt.wait == 0
        limiters[n % 3].release(attempt)


def test_counts_of_past_windows_are_deleted(limiters: list[RateLimiter], database: Database, tmp_path: Path) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        for n in range(255):
            assert limiters[0].acquire("bad API key", network=f"203.0.113.{n}") == 0
        clock.shift(61)
        assert limiters[0].acquire("bad API key", network=NETWORK) == 0
    url = f"sqlite:///{tmp_path / 'attempt_limits.db'}" if database.is_sqlite else ""
    with closing(Database(url) if url else database) as counts:
        assert counts.read(lambda tx: tx.execute(select(func.count()).select_from(attempt_limits)).scalar_one()) == 1


@ON_SQLITE
def test_attempt_during_write_transaction_neither_waits_nor_stores_addresses(
    limiters: list[RateLimiter], tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        attempt = threading.Thread(target=_acquire, args=(limiters[0],))
        attempt.start()
        attempt.join(30)
        assert not attempt.is_alive()
        assert _acquire(limiters[1]) == 0
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("attempt_limits.db*"))
    assert NETWORK.encode() not in stored
    assert b"link 5" not in stored
