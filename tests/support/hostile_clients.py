"""Hostile clients on loopback: hundreds of connections of one network that try to exhaust a server.

They stop with the block that started them. Visitors come from another address, so that limits by network apply.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psutil

from tests.support.server import Server

CONNECTIONS = 500
_HOSTILE, _VISITOR = "127.0.0.1", "127.0.0.2"
_START = b"%b HTTP/1.1\r\nHost: localhost\r\n"
_FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
Attack = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def _slow_headers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(_START % b"GET /unknown")
    while True:
        writer.write(b"X: y\r\n")
        await writer.drain()
        await asyncio.sleep(1)


async def _slow_bodies(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    path = random.choice((b"/report", b"/unknown", b"/dashboard/signin"))
    writer.write(_START % (b"POST " + path) + _FORM + b"Content-Length: 5000\r\n\r\n")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(1)


async def _header_bombs(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(_START % b"GET /unknown")
    while True:
        writer.write(b"X: y\r\n" * 10_000)
        await writer.drain()
        await asyncio.sleep(0.1)


async def _form_bombs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(_START % b"POST /dashboard/signin" + _FORM + b"Content-Length: 1000000\r\n\r\n")
    writer.write(b"%" * 1_000_000)
    await reader.read(1000)
    await asyncio.sleep(0.5)


async def _large_images(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(_START % b"GET /poster/qr?size=%d" % random.randint(2000, 4096) + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"")
        await asyncio.sleep(0.5)


ATTACKS: dict[str, Attack] = {
    "slow headers": _slow_headers,
    "slow bodies": _slow_bodies,
    "header bombs": _header_bombs,
    "form bombs": _form_bombs,
    "large images": _large_images,
}


@contextmanager
def attacking(server: Server, attack: Attack) -> Iterator[None]:
    """Keep CONNECTIONS connections with the attack open during the block."""
    stop = threading.Event()

    async def client() -> None:
        while not stop.is_set():
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(*_address(server), local_addr=(_HOSTILE, 0))
                try:
                    await attack(reader, writer)
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.1)

    async def run() -> None:
        clients = [asyncio.create_task(client()) for _ in range(CONNECTIONS)]
        await asyncio.to_thread(stop.wait)
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


@dataclass
class Impact:
    """Experience of visitors of another network: statuses by path, seconds of each request, and memory growth in MB."""

    statuses: dict[str, set[int]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    growth_mb: float = 0.0

    @property
    def p99(self) -> float:
        """The 99th percentile of the response time, in seconds."""
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]


def measure(server: Server, attack: Attack, paths: list[str], seconds: float) -> Impact:
    """Request the paths in turn, as a visitor, while the attack runs."""
    impact = Impact({path: set() for path in paths})
    before = _memory_mb(server)
    transport = httpx2.HTTPTransport(local_address=_VISITOR)
    with attacking(server, attack), httpx2.Client(base_url=server.url, transport=transport, timeout=30) as visitor:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for path in paths:
                started = time.monotonic()
                impact.statuses[path].add(visitor.get(path).status_code)
                impact.seconds.append(time.monotonic() - started)
            time.sleep(0.02)
        impact.growth_mb = _memory_mb(server) - before
    return impact


def _address(server: Server) -> tuple[str, int]:
    return _HOSTILE, int(server.url.rpartition(":")[2])


def _memory_mb(server: Server) -> float:
    root = psutil.Process(server.process.pid)
    return float(sum(process.memory_full_info().pss for process in (root, *root.children(recursive=True))) / 1e6)
