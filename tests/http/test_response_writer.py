"""Writes of a response: the headers together with the first part of the body."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from waypost.http.connection import ResponseWriter


class _Transport:
    """Records each write to the connection."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.writes.append(data)

    def writelines(self, parts: Sequence[bytes]) -> None:
        self.write(b"".join(parts))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


def test_headers_and_first_part_are_one_write() -> None:
    async def scenario(writer: ResponseWriter, transport: _Transport) -> None:
        for data in (b"headers ", b"first ", b"second"):
            writer.write(data)
        await asyncio.sleep(0)
        assert transport.writes == [b"headers first ", b"second"]

    _run(scenario)


def test_headers_do_not_wait_for_a_late_body() -> None:
    async def scenario(writer: ResponseWriter, transport: _Transport) -> None:
        writer.write(b"headers ")
        assert transport.writes == []
        await asyncio.sleep(0)
        assert transport.writes == [b"headers "]
        writer.write(b"body")
        assert transport.writes == [b"headers ", b"body"]

    _run(scenario)


def test_close_writes_waiting_data() -> None:
    async def scenario(writer: ResponseWriter, transport: _Transport) -> None:
        writer.write(b"headers")
        writer.close()
        await asyncio.sleep(0)
        assert transport.writes == [b"headers"]
        assert writer.is_closing()

    _run(scenario)


def _run(scenario: Callable[[ResponseWriter, _Transport], Coroutine[Any, Any, None]]) -> None:
    async def with_writer() -> None:
        transport = _Transport()
        await scenario(ResponseWriter(transport, asyncio.get_running_loop()), transport)

    asyncio.run(with_writer())
