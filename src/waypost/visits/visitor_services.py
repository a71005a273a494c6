"""The services that handlers of visitors' requests use."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio.to_thread
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from waypost.core.errors import Kind, Problem
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db.database import Database, Durability
from waypost.db.maintenance import MaintenanceMode
from waypost.db.signing import Signer, installation_signer
from waypost.storage.store import Store
from waypost.visits.cache import Cache
from waypost.visits.frame_check import FrameChecker
from waypost.visits.responses import PageRenderer
from waypost.visits.visit import VisitService

if TYPE_CHECKING:
    from waypost.visits.outcome import Rule


_SLOTS = 2
_MAX_WAITING = 20  # drawings of one network
_RETRY_SECONDS = 2
T = TypeVar("T")


class ImageQueue:
    """A queue per network; the networks take turns, so that one network's requests do not delay those of another."""

    def __init__(self, slots: int = _SLOTS) -> None:
        self._free = slots
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, network: str) -> AsyncIterator[None]:
        """Wait until a drawing of this network may start. Raises UNAVAILABLE if too many of its drawings wait."""
        if self._free and not self._queues:
            self._free -= 1
        else:
            await self._wait(network)
        try:
            yield
        finally:
            self._release()

    async def _wait(self, network: str) -> None:
        queue = self._queues.setdefault(network, deque())
        if len(queue) >= _MAX_WAITING:
            message = "Too many images are requested from your network. Please try again in a moment."
            raise Problem(Kind.UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the slot was already given to this request
            raise

    def _release(self) -> None:
        """Give the slot to the network whose turn it is, or keep it free."""
        while self._queues:
            network, queue = next(iter(self._queues.items()))
            del self._queues[network]
            turn = queue.popleft()
            if queue:
                self._queues[network] = queue  # moves it to the end: the other networks come first
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class InstallationSigner:
    """The signer of this installation, whose secret is read from the database at first use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._signer: Signer | None = None

    @property
    def loaded(self) -> Signer | None:
        """Return the signer if it was read."""
        return self._signer

    async def get(self) -> Signer:
        """Return the signer."""
        if self._signer is None:
            self._signer = await anyio.to_thread.run_sync(self._database.read, installation_signer)
        return self._signer


SubmissionReader = Callable[[Connection, int, int, int, Mapping[str, Any]], None]
"""Gets the account, the overlay, the id and the JSON of a submission, in the transaction that stores it."""


@dataclass(frozen=True)
class Services:
    """Built once per worker process."""

    settings: Settings
    database: Database
    cache: Cache
    visits: VisitService
    rules: "Mapping[type, Rule]"
    """The rules of visits, by the type of the record."""
    pages: PageRenderer
    meter: Meter
    store: Store
    signer: InstallationSigner
    publish_changes: Callable[[], None]
    """Applies committed changes. Called after every write that changes a page or redirect for visitors."""
    maintenance: MaintenanceMode
    enqueue_submission: SubmissionReader
    """Inserts the messages of a new submission of an overlay's form."""
    frame_checker: FrameChecker = field(default_factory=FrameChecker)
    image_queue: ImageQueue = field(default_factory=ImageQueue)
    """Limits how many QR code images are rendered at the same time, so that other requests need not wait."""
    large_image_queue: ImageQueue = field(default_factory=partial(ImageQueue, slots=1))
    """The same for large images, which take up to 100 MB each."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read transaction in a thread."""
        return await anyio.to_thread.run_sync(self.database.read, work)

    async def write(self, work: Callable[[Connection], T], *, durability: Durability = "full") -> T:
        """Run a write transaction in a thread."""
        return await anyio.to_thread.run_sync(partial(self.database.write, durability=durability), work)

    async def change(self, work: Callable[[Connection], T], *, durability: Durability = "full") -> T:
        """Like `write`, for changes that a visitor requests. Raises UNAVAILABLE in maintenance mode."""
        await anyio.to_thread.run_sync(self.maintenance.require_off)
        return await self.write(work, durability=durability)


class Handler(Protocol):
    """Handles the requests of one route."""

    def __call__(self, request: Request, services: Services) -> Awaitable[Response]: ...
