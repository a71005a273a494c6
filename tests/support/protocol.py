"""The application behind uvicorn's HTTP protocol, in process: send and receive raw bytes."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from waypost.auth import api_keys
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.connection import LimitedProtocol
from waypost.items.accounts import ops as accounts
from waypost.server.app import build
from waypost.visits.fast_path import STATE_KEY, FastPathProtocol, WorkerState

_HIGH_WATER = 64 * 1024
_KEEP_ALIVE = 5
_MOMENT = 0.2


class Pipe(asyncio.Transport):
    """An in-memory transport. If it is slow, it pauses the writer at the high-water mark."""

    def __init__(self, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        super().__init__()
        self.protocol: HttpToolsProtocol | None = None
        self.written = bytearray()
        self.is_slow = False
        self.accepts_data = True
        self._loop = loop
        self._peer = peer
        self._closing = False
        self._paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": (self._peer, 50_000), "sockname": ("127.0.0.1", 8000)}.get(name, default)

    def write(self, data: Any) -> None:
        if self._closing:
            return
        self.written += data
        if self.is_slow and not self._paused and len(self.written) > _HIGH_WATER:
            self._paused = True
            assert self.protocol is not None
            self.protocol.pause_writing()

    def receive(self) -> bytes:
        """Return and clear the written data."""
        data = bytes(self.written)
        self.written.clear()
        if self._paused:
            self._paused = False
            assert self.protocol is not None
            self.protocol.resume_writing()
        return data

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            assert self.protocol is not None
            self._loop.call_soon(self.protocol.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self.accepts_data = False

    def resume_reading(self) -> None:
        self.accepts_data = True


class ProtocolClient:
    """A started application, and connections to it with the fast path or uvicorn's own protocol."""

    def __init__(self, settings: Settings, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        app = build(settings, database)
        self.loop = loop
        self._database = database
        self._key = ""
        self._time_offset = 0.0
        loop.time = lambda: time.monotonic() + self._time_offset  # type: ignore[method-assign]  # tests need not wait
        self._config = Config(
            app,
            http=FastPathProtocol,
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
        )
        self._config.load()
        self._server = ServerState()
        self._server.default_headers = [(b"date", b"Thu, 01 Jan 2026 00:00:00 GMT")]
        self._state: dict[str, Any] = {}
        self._lifespan_events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._lifespan_replies: asyncio.Queue[Any] = asyncio.Queue()
        self._lifespan_task = loop.create_task(self._run_lifespan(app))
        self._offsets: dict[str, int] = {}
        self._folder = settings.journal_dir
        loop.run_until_complete(self._send_lifespan("lifespan.startup"))

    @property
    def worker_state(self) -> WorkerState:
        """The state that connections of the fast path share."""
        worker_state: WorkerState = self._state[STATE_KEY]
        return worker_state

    def replace_app(self, app: Any) -> None:
        """Let another ASGI application answer what the fast path does not, on new connections."""
        self._config.loaded_app = app

    def connect(self, protocol: type[HttpToolsProtocol] = FastPathProtocol, *, peer: str = "127.0.0.1") -> Pipe:
        """Open a connection."""
        pipe = Pipe(self.loop, peer)
        pipe.protocol = protocol(self._config, self._server, self._state, self.loop)
        pipe.protocol.connection_made(pipe)
        return pipe

    def send(self, pipe: Pipe, pieces: Sequence[bytes]) -> None:
        """Send the pieces, each in its own turn of the event loop, and wait for the responses."""
        self.loop.run_until_complete(self._send(pipe, pieces))

    def request(
        self, data: bytes, *, protocol: type[HttpToolsProtocol] = FastPathProtocol, peer: str = "127.0.0.1"
    ) -> bytes:
        """Send a request on a new connection; return the response."""
        pipe = self.connect(protocol, peer=peer)
        self.send(pipe, [data])
        response = pipe.receive()
        pipe.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        return response

    def begin(self, path: str, headers: bytes = b"") -> Pipe:
        """Send a GET request on a connection of its own in the next turn of the event loop, without waiting."""
        pipe = self.connect()
        assert pipe.protocol is not None
        data = b"GET %b HTTP/1.1\r\nHost: go.localhost:8000\r\n%b\r\n" % (path.encode(), headers)
        self.loop.call_soon(pipe.protocol.data_received, data)
        return pipe

    def finish(self, pipes: Sequence[Pipe]) -> list[bytes]:
        """Wait for the responses, and return them."""
        for pipe in pipes:
            self.send(pipe, [])
        return [pipe.receive() for pipe in pipes]

    def wait_until(self, is_reached: Callable[[], bool]) -> None:
        """Run the event loop until something is reached, at most five minutes: a loaded machine is not a fault."""
        deadline = time.monotonic() + 300
        while not is_reached():
            assert time.monotonic() < deadline
            self.loop.run_until_complete(asyncio.sleep(0.001))

    def add_link(self, alias: str, **fields: Any) -> None:
        """Create a link. The first call creates its account, Ana's."""
        if not self._key:
            self._key = self._database.write(_add_ana)
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        assert self.request(self.api_request("POST", "/api/url/add", body))[9:12] == b"200"

    def add_file(self, alias: str, content: bytes, **fields: Any) -> None:
        """Upload a file of Ana's, after the first call of `add_link`."""
        request = self.api_request("POST", f"/api/files/upload/a.txt?{urlencode({'custom': alias, **fields})}", content)
        assert self.request(request)[9:12] == b"200"

    def api_request(self, method: str, path: str, body: Any = None) -> bytes:
        """Return an API request of Ana's as bytes. `body` is sent as JSON unless it is bytes."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: localhost",
            f"Authorization: {self._key}",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*head, "", ""]).encode() + content

    def wait(self, seconds: float) -> None:
        """Advance the clock of the event loop, and let timers run that then need a moment."""
        self._time_offset += seconds
        self.loop.run_until_complete(asyncio.sleep(0.001))
        self._time_offset += _MOMENT
        self.loop.run_until_complete(asyncio.sleep(0.001))

    def suspend(self, seconds: float, pipe: Pipe, data: bytes) -> None:
        """Let time pass without a turn of the event loop. Then due timers run, then it reads `data`."""
        self._time_offset += seconds
        self.loop.run_until_complete(asyncio.sleep(0.001))
        self.send(pipe, [data])

    def new_journal_lines(self) -> list[bytes]:
        """Return the journal lines since the last call, without their time."""
        lines: list[bytes] = []
        for path in sorted(self._folder.glob("*.log")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path.name, 0))
                new = file.read()
                self._offsets[path.name] = file.tell()
            lines += [line.partition(b"\t")[2] for line in new.splitlines()]
        return lines

    def close(self) -> None:
        """Stop the application."""
        self.loop.run_until_complete(self._send_lifespan("lifespan.shutdown"))
        self.loop.run_until_complete(self._lifespan_task)

    async def _send(self, pipe: Pipe, pieces: Sequence[bytes]) -> None:
        assert pipe.protocol is not None
        for piece in pieces:
            if not pipe.accepts_data:
                await self._wait_for_responses(pipe)
            if pipe.is_closing():
                break
            pipe.protocol.data_received(piece)
            await asyncio.sleep(0)
        await self._wait_for_responses(pipe)
        await asyncio.sleep(0)  # `connection_lost` is called for closed connections

    async def _wait_for_responses(self, pipe: Pipe) -> None:
        """Wait while requests are being answered, or one waits for the database on the fast path."""
        protocol = pipe.protocol
        assert isinstance(protocol, LimitedProtocol)
        while not pipe.is_slow and (self._server.tasks or (protocol.is_busy() and not pipe.is_closing())):
            await asyncio.wait(self._server.tasks or [asyncio.ensure_future(asyncio.sleep(0.0002))])

    async def _send_lifespan(self, event: str) -> None:
        self._lifespan_events.put_nowait({"type": event})
        assert (await self._lifespan_replies.get())["type"] == f"{event}.complete"

    async def _run_lifespan(self, app: Any) -> None:
        await app({"type": "lifespan", "state": self._state}, self._lifespan_events.get, self._lifespan_replies.put)


def _add_ana(tx: Connection) -> str:
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ana.id, name="first key")


@contextmanager
def protocol_client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """Run the application in an event loop of its own."""
    loop = asyncio.new_event_loop()
    client = ProtocolClient(settings, database, loop)
    try:
        yield client
    finally:
        client.close()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
