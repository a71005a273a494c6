"""Load shedding: slow bodies do not count, and a network that causes an overload is refused before others."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.protocol import ProtocolClient, protocol_client
from tests.support.server import Server, serving
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.middleware import LoadShedder

SLOW_FORM = (
    b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 9000\r\n\r\na"
)
Call = Callable[..., Coroutine[Any, Any, int]]
_HTML = [(b"accept", b"text/html,*/*"), (b"accept-language", b"de")]


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application with a link."""
    with protocol_client(settings, database) as client:
        client.add_link("spring")
        yield client


@pytest.mark.parametrize("path", [b"/missing", b"/report", b"/dashboard/signin", b"/dashboard/register"])
def test_slow_body_is_refused_with_408(client: ProtocolClient, path: bytes) -> None:
    pipe = client.connect()
    assert pipe.protocol is not None
    pipe.protocol.data_received(SLOW_FORM % path)
    for _ in range(4):  # less than the 10 s of a slow body, by the time that a loaded machine can need
        client.wait(1)
        pipe.protocol.data_received(b"a")
    assert not pipe.is_closing()
    client.wait(8)
    client.send(pipe, [])
    assert pipe.receive().startswith(b"HTTP/1.1 408 ")
    assert pipe.is_closing()


def test_body_that_arrives_steadily_is_not_refused(client: ProtocolClient) -> None:
    request = client.api_request("POST", "/api/url/add", {"url": "https://example.com/", "description": "x" * 100_000})
    pipe = client.connect()
    assert pipe.protocol is not None
    for start in range(0, len(request), 20_000):
        pipe.protocol.data_received(request[start : start + 20_000])
        client.wait(2.5)
    client.send(pipe, [])
    assert json.loads(pipe.receive().rpartition(b"\r\n")[2])["field"] == "description"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two workers."""
    with serving(tmp_path_factory.mktemp("node"), workers=2) as server:
        yield server


@pytest.mark.parametrize("path", [b"/missing", b"/report", b"/dashboard/signin", b"/api/url/add"])
def test_slow_forms_do_not_block_other_requests(server: Server, path: bytes) -> None:
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(address)).sendall(SLOW_FORM % path)
        for target, status in (("/unknown", 404), ("/dashboard/signin", 200), ("/api/account", 401)):
            assert [server.call("GET", target).status_code for _ in range(20)] == [status] * 20


def test_network_that_causes_an_overload_is_refused_and_others_are_not(tmp_path: Path) -> None:
    async def scenario(call: Call) -> None:
        waiting = [asyncio.create_task(call("192.0.2.1")) for _ in range(1000)]
        await asyncio.sleep(0)
        assert await call("192.0.2.1") == 503
        body = bytearray()
        assert await call("192.0.2.1", headers=_HTML, body=body) == 503
        assert b"<h1>Vor\xc3\xbcbergehend" in body
        assert b'href="">Noch einmal versuchen</a>' in body
        body.clear()
        assert await call("192.0.2.1", path="/api/urls", headers=_HTML, body=body) == 503
        assert json.loads(body)["code"] == "unavailable"
        others = [asyncio.create_task(call(f"198.51.100.{number}")) for number in range(40)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in others)
        for task in (*waiting, *others):
            task.cancel()
        await asyncio.gather(*waiting, *others, return_exceptions=True)
        accepted = asyncio.create_task(call("192.0.2.1"))  # canceled requests do not count
        await asyncio.sleep(0)
        assert not accepted.done()
        accepted.cancel()

    _run_blocked(tmp_path, scenario)


def test_many_networks_together_are_refused_at_the_limit(tmp_path: Path) -> None:
    async def scenario(call: Call) -> None:
        networks = [f"10.0.{number // 250}.{number % 250}" for number in range(1000)]
        waiting = [asyncio.create_task(call(network)) for network in networks]
        await asyncio.sleep(0)
        assert await call("192.0.2.1") == 503
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    _run_blocked(tmp_path, scenario)


def _run_blocked(folder: Path, scenario: Callable[[Call], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario with a load shedder over an application that never responds."""

    async def block(*_: Any) -> None:
        await asyncio.Event().wait()

    shedder = LoadShedder(block, Meter(folder / "metrics"), ())

    async def call(
        client: str, *, path: str = "/", headers: Sequence[tuple[bytes, bytes]] = (), body: bytearray | None = None
    ) -> int:
        statuses = []

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))
            if body is not None:
                body.extend(message.get("body", b""))

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        await shedder(
            {"type": "http", "method": "GET", "path": path, "client": (client, 1), "headers": headers}, receive, send
        )
        return int(statuses[0])

    asyncio.run(scenario(call))


def test_large_images_do_not_block_visits(server: Server) -> None:
    owner = server.owner_key
    body = {"url": "https://example.com/", "custom": "poster"}
    assert server.call("POST", "/api/url/add", key=owner, json=body).status_code == 200
    stop = threading.Event()

    def draw(number: int) -> None:
        for size in range(3000 + number, 4096, 13):
            if stop.is_set():
                return
            with suppress(httpx2.TransportError):  # a busy machine may be too late; only the visits below count
                server.call("GET", f"/poster/qr?size={size}")

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(120)]
    for thread in threads:
        thread.start()
    try:
        assert [server.call("GET", "/unknown").status_code for _ in range(20)] == [404] * 20
        assert [server.call("GET", "/dashboard/signin").status_code for _ in range(20)] == [200] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
