"""The service behind uvicorn's protocol, in process: bytes of any kind go in, in any pieces, and bytes come out."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from waypost.accounts import ops as accounts
from waypost.app import build
from waypost.auth import api_keys
from waypost.db.database import Database
from waypost.settings import Settings
from waypost.visits.fast_path import STATE, FastPathProtocol, WorkerState

_HIGH_WATER = 64 * 1024
_KEEP_ALIVE = 5


class Pipe(asyncio.Transport):
    """A transport that keeps what is written, and slows its writer down when nobody takes it away."""

    def __init__(self, loop: asyncio.AbstractEventLoop, peer: str) -> None:
        super().__init__()
        self.protocol: HttpToolsProtocol | None = None
        self.written = bytearray()
        self.is_slow = False
        self.reads = True
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

    def taken(self) -> bytes:
        """What was written, which the other side now takes away."""
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

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class Wire:
    """A started service, and connections to it by the lane or by uvicorn's own protocol."""

    def __init__(self, settings: Settings, database: Database, loop: asyncio.AbstractEventLoop) -> None:
        app = build(settings, database)
        self.loop = loop
        self._database = database
        self._key = ""
        self._later = 0.0
        loop.time = lambda: time.monotonic() + self._later  # type: ignore[method-assign]  # so that tests need not wait
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
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._life = loop.create_task(self._live(app))
        self._seen: dict[str, int] = {}
        self._folder = settings.journal_dir
        loop.run_until_complete(self._tell("lifespan.startup"))

    @property
    def traffic(self) -> WorkerState:
        """What the connections of the lane share."""
        traffic: WorkerState = self._state[STATE]
        return traffic

    def connect(self, protocol: type[HttpToolsProtocol] = FastPathProtocol, *, peer: str = "127.0.0.1") -> Pipe:
        """A new connection."""
        pipe = Pipe(self.loop, peer)
        pipe.protocol = protocol(self._config, self._server, self._state, self.loop)
        pipe.protocol.connection_made(pipe)
        return pipe

    def send(self, pipe: Pipe, pieces: Sequence[bytes]) -> None:
        """Let the pieces arrive, each in a turn of the event loop of its own, and wait for the answers."""
        self.loop.run_until_complete(self._send(pipe, pieces))

    def ask(
        self, request: bytes, *, protocol: type[HttpToolsProtocol] = FastPathProtocol, peer: str = "127.0.0.1"
    ) -> bytes:
        """The answer to one request, on a connection of its own."""
        pipe = self.connect(protocol, peer=peer)
        self.send(pipe, [request])
        answer = pipe.taken()
        pipe.close()
        self.loop.run_until_complete(asyncio.sleep(0))
        return answer

    def link(self, alias: str, **fields: Any) -> None:
        """Make a link of Ana's; she is there from the first one on."""
        if not self._key:
            self._key = self._database.write(_add_ana)
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        assert self.ask(self.api("POST", "/api/url/add", body))[9:12] == b"200"

    def api(self, method: str, path: str, body: Any = None) -> bytes:
        """A request of Ana's to the API, as bytes."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: {self._key}", f"Content-Length: {len(sent)}"]
        return "\r\n".join([*head, "", ""]).encode() + sent

    def wait(self, seconds: float) -> None:
        """Let the time of the event loop go on."""
        self._later += seconds
        self.loop.run_until_complete(asyncio.sleep(0.001))

    def lines(self) -> list[bytes]:
        """The journal's new lines since the last time, without their moment."""
        found = []
        for path in sorted(self._folder.glob("*.log")):
            with path.open("rb") as file:
                file.seek(self._seen.get(path.name, 0))
                new = file.read()
                self._seen[path.name] = file.tell()
            found += [line.partition(b"\t")[2] for line in new.splitlines()]
        return found

    def close(self) -> None:
        """Stop the service."""
        self.loop.run_until_complete(self._tell("lifespan.shutdown"))
        self.loop.run_until_complete(self._life)

    async def _send(self, pipe: Pipe, pieces: Sequence[bytes]) -> None:
        assert pipe.protocol is not None
        for piece in pieces:
            while not pipe.reads and self._server.tasks and not pipe.is_slow:
                await asyncio.wait(self._server.tasks, return_when=asyncio.FIRST_COMPLETED)
            if pipe.is_closing():
                break
            pipe.protocol.data_received(piece)
            await asyncio.sleep(0)
        while self._server.tasks and not pipe.is_slow:
            await asyncio.wait(self._server.tasks)
        await asyncio.sleep(0)  # a connection that was closed is lost by now

    async def _tell(self, kind: str) -> None:
        self._told.put_nowait({"type": kind})
        assert (await self._heard.get())["type"] == f"{kind}.complete"

    async def _live(self, app: Any) -> None:
        await app({"type": "lifespan", "state": self._state}, self._told.get, self._heard.put)


def _add_ana(tx: Connection) -> str:
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ana.id, name="first key")


@contextmanager
def wired(settings: Settings, database: Database) -> Iterator[Wire]:
    """A wire with an event loop of its own."""
    loop = asyncio.new_event_loop()
    wire = Wire(settings, database, loop)
    try:
        yield wire
    finally:
        wire.close()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
