"""Reads on the event loop: rows, failures, and the return of the connection to the pool."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from sqlalchemy import Connection, Integer, String, bindparam, func, make_url, select, text

from tests.support.databases import ON_POSTGRESQL
from tests.support.tcp_proxy import TcpProxy, running_proxy
from waypost.db import event_loop_reader
from waypost.db.database import Database
from waypost.db.event_loop_reader import EventLoopReader, Rows
from waypost.db.statements import DriverSelect

pytestmark = ON_POSTGRESQL
_SECONDS = 60
_WORD = bindparam("word", type_=String())
_LETTER = func.chr(bindparam("code", type_=Integer()))  # 0 is an error
_SELECT = DriverSelect(select(_WORD, func.length(_WORD), _LETTER, func.repeat("x", 3)))


@pytest.fixture
def proxy(database_url: str) -> Iterator[TcpProxy]:
    """A TCP proxy to the database."""
    port = make_url(database_url).port
    assert port is not None
    with running_proxy(port) as running:
        yield running


@pytest.fixture
def proxied(proxy: TcpProxy, database_url: str) -> Iterator[Database]:
    """The database behind the proxy."""
    opened = Database(make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False))
    yield opened
    opened.close()


def _run(database: Database, work: Callable[[EventLoopReader], Awaitable[None]]) -> None:
    """Run it with a reader that has its connection, and fail unless it ends in time."""

    async def main() -> None:
        reader = database.event_loop_reader(_SELECT)
        assert reader is not None
        assert not reader.fetch_all(lambda _: None, word="", code=65)  # there is no connection yet
        ready: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()
        await _until(lambda: reader.fetch_all(ready.set_result, word="", code=65))
        assert await ready is not None
        try:
            await work(reader)
        finally:
            reader.close()
        assert _checked_out(database) == 0

    asyncio.run(asyncio.wait_for(main(), _SECONDS))


def _checked_out(database: Database) -> int:
    pool: object = database._autocommit_reader.pool  # which lends the connection
    return int(pool.checkedout())  # type: ignore[attr-defined]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # it is not an event of asyncio
        await asyncio.sleep(0.01)


async def _fetch(reader: EventLoopReader, word: str, code: int = 65) -> Rows | None:
    future: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()
    assert reader.fetch_all(future.set_result, word=word, code=code)
    return await future


def test_unsupported_query_is_never_sent_again(database: Database) -> None:
    create = "CREATE FUNCTION unsupported(text) RETURNS text LANGUAGE plpgsql AS"
    body = "$$ BEGIN RAISE EXCEPTION 'joined by another column' USING ERRCODE = '0A000'; END $$"
    database.write(lambda tx: tx.execute(text(f"{create} {body}")))

    async def main() -> None:
        reader = database.event_loop_reader(DriverSelect(select(func.unsupported(_WORD))))
        assert reader is not None
        ready: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()
        await _until(lambda: reader.fetch_all(ready.set_result, word="spring"))
        assert await ready is None
        await _until(lambda: _checked_out(database) == 0)
        assert not reader.fetch_all(lambda _: None, word="spring")
        assert _checked_out(database) == 0

    asyncio.run(asyncio.wait_for(main(), _SECONDS))


@pytest.mark.parametrize("word", ["", "spring", "naïve ☂", "'; DROP", "x" * 1_000_000])
def test_rows_are_read(database: Database, word: str) -> None:
    async def work(reader: EventLoopReader) -> None:
        for code in (65, 66):
            assert await _fetch(reader, word, code) == [(word, len(word), chr(code), "xxx")]

    _run(database, work)


def test_second_query_is_refused_while_one_is_in_progress(database: Database) -> None:
    async def work(reader: EventLoopReader) -> None:
        first = asyncio.ensure_future(_fetch(reader, "a"))
        await asyncio.sleep(0)
        assert not reader.fetch_all(lambda _: None, word="b", code=65)
        assert await first == [("a", 1, "A", "xxx")]

    _run(database, work)


def test_statement_error_keeps_the_connection(database: Database) -> None:
    async def work(reader: EventLoopReader) -> None:
        assert await _fetch(reader, "a", code=0) is None
        assert await _fetch(reader, "a") == [("a", 1, "A", "xxx")]

    _run(database, work)


def test_lost_connection_fails_the_query_and_is_replaced(
    proxied: Database, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_loop_reader, "_PAUSE_SECONDS", 0.05)

    async def work(reader: EventLoopReader) -> None:
        assert await _fetch(reader, "a") is not None
        proxy.reset()
        await _until(lambda: _checked_out(proxied) == 0)
        await _until(lambda: reader.fetch_all(lambda _: None, word="a", code=65))

    _run(proxied, work)


def test_silent_connection_fails_the_query(proxied: Database, proxy: TcpProxy) -> None:
    async def work(reader: EventLoopReader) -> None:
        proxy.blackhole()
        assert await _fetch(reader, "a") is None
        assert _checked_out(proxied) == 0

    _run(proxied, work)


def test_idle_connection_is_returned(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop_reader, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(event_loop_reader, "_CHECK_SECONDS", 0.05)

    async def work(reader: EventLoopReader) -> None:
        assert await _fetch(reader, "a") is not None
        await _until(lambda: _checked_out(database) == 0)

    _run(database, work)


def test_connection_lost_before_its_first_query_is_not_used(proxied: Database, proxy: TcpProxy) -> None:
    lost: list[Connection] = []

    def connect_and_lose() -> Connection:
        lost.append(proxied._autocommit_reader.connect())
        proxy.reset()
        return lost[0]

    async def main() -> None:
        failures: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        reader = EventLoopReader(connect_and_lose, _SELECT)
        assert not reader.fetch_all(lambda _: None, word="a", code=65)
        await _until(lambda: bool(failures or (lost and lost[0].closed)))
        assert failures == []
        assert not reader.fetch_all(lambda _: None, word="a", code=65)

    asyncio.run(asyncio.wait_for(main(), _SECONDS))


def test_slow_database_gets_one_connection_at_a_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop_reader, "_PAUSE_SECONDS", 0.01)
    opened: list[Connection] = []

    def connect_slowly() -> Connection:
        opened.append(database._autocommit_reader.connect())
        time.sleep(0.3)
        return opened[-1]

    async def main() -> None:
        reader = EventLoopReader(connect_slowly, _SELECT)
        await _until(lambda: reader.fetch_all(lambda _: None, word="a", code=65))
        reader.close()
        await asyncio.sleep(0.5)  # for a second connection, if there were one

    asyncio.run(asyncio.wait_for(main(), _SECONDS))
    assert len(opened) == 1
    assert _checked_out(database) == 0
