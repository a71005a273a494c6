"""A key with a large limit in heavy use takes several requests at once, without exceeding its limit."""

import time

from sqlalchemy import select, update

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.auth import api_keys
from waypost.auth.api_keys import ApiKeyLimiter
from waypost.core import credentials
from waypost.db.database import Database
from waypost.db.schema import accounts
from waypost.db.schema import api_keys as key_table

pytestmark = ON_BOTH_DATABASES  # limits of blocks of requests


def _key(person: Person, limit: int) -> str:
    statement = update(accounts).where(accounts.c.id == person.account).values(rate_limit=limit)
    person.write(lambda tx: tx.execute(statement))
    return str(person.write(lambda tx: api_keys.add(tx, person.account, name="fresh")))


def _used(database: Database, key: str) -> int:
    query = select(key_table.c.window_used).where(key_table.c.digest == credentials.digest(key))
    return int(database.read(lambda tx: tx.execute(query)).scalar_one())


def _acquire(limiter: ApiKeyLimiter, key: str) -> bool:
    acquired = limiter.acquire(key)
    assert acquired is not None
    return acquired[1].allowed


def test_key_in_heavy_use_writes_seldom_and_never_exceeds_its_limit(ana: Person) -> None:
    limit = 2000
    key = _key(ana, limit)
    limiters = [ApiKeyLimiter(ana.database), ApiKeyLimiter(ana.database)]
    allowed = 0
    blocks = set()
    for number in range(limit * 5 // 4):  # a refusal costs as much as all requests of a block
        allowed += _acquire(limiters[number % 2], key)
        if 500 <= number < 700:
            blocks.add(_used(ana.database, key))
    assert len(blocks) < 50, "most requests write nothing"
    assert limit * 0.95 <= allowed <= limit


def test_small_limit_loses_no_request(ana: Person) -> None:
    key = _key(ana, 30)
    limiters = [ApiKeyLimiter(ana.database), ApiKeyLimiter(ana.database)]
    assert sum(_acquire(limiters[number % 2], key) for number in range(90)) == 30
    for used in range(3):
        fresh = _key(ana, 30)
        assert _used(ana.database, fresh) == 0
        for _ in range(used):
            _acquire(limiters[0], fresh)
        assert _used(ana.database, fresh) == used


@ON_SQLITE
def test_revoked_key_in_heavy_use_ends_within_a_second(database: Database, ana: Person) -> None:
    key = _key(ana, 1_000_000)
    limiter = ApiKeyLimiter(database)
    for _ in range(500):
        assert _acquire(limiter, key)
    seen = database.read(lambda tx: api_keys.find_caller(tx, credentials.digest(key)))
    assert seen is not None
    database.write(lambda tx: api_keys.revoke(tx, ana.account, seen.key))
    time.sleep(0.6)  # longer than requests can be taken in advance
    assert limiter.acquire(key) is None
