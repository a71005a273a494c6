"""New visits for open pages: one small query for each account that is watched, and one rendering for equal pages.

Ids of visits are assigned before the commit, so on several nodes a lower one can appear later. Ids of the last seconds
are therefore remembered and read again.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio.to_thread
import structlog
from sqlalchemy import Connection, bindparam, select

from waypost.core.errors import Kind, Problem
from waypost.core.reasons import RepeatedReason
from waypost.db.database import Database
from waypost.db.schema import events
from waypost.db.statements import DriverSelect
from waypost.http import server_sent_events
from waypost.http.server_sent_events import EventStream

VISITS, GAP = "visits", "gap"
"""Events: rows of new visits, newest first; or too many visits, so that the page must be loaded again."""
_log = structlog.get_logger("dashboard")
_PAUSE_SECONDS = 0.4
_OVERLAP_SECONDS = 5.0  # during which a visit with a lower id can still be committed
_MAX_NEW = 500  # visits of an account in one turn
_MAX_QUEUED = 20  # messages of a page that takes none
_MAX_VIEWS = 1000
_RETRY_SECONDS = 60
_LOG_SECONDS = 60.0  # between two log entries with the same reason
_NEWEST = DriverSelect(
    select(events.c.id)
    .where(events.c.account == bindparam("owner"), events.c.id > bindparam("floor"))
    .order_by(events.c.id.desc())
    .limit(_MAX_NEW)
)
Render = Callable[[Collection[int]], str]
"""Returns the rows of those visits with these ids that the page shows, "" if it shows none of them."""
CatchUp = Callable[[], str]
"""Returns the message with the visits since the page was loaded, "" if there are none."""


@dataclass
class _Group:
    """Equal pages, which get the same messages."""

    render: Render
    queues: set[asyncio.Queue[str]] = field(default_factory=set)


@dataclass
class _Watched:
    """An account with open pages. `seen` are the ids above `floor` that were sent, with their times."""

    groups: dict[Hashable, _Group] = field(default_factory=dict)
    floor: int = 0
    seen: dict[int, float] = field(default_factory=dict)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the visits that are older than the first page are known."""

    def take(self, ids: Collection[int]) -> list[int]:
        """Remember ids above the floor, and raise the floor. Return the new ones."""
        now = time.monotonic()
        new = [each for each in ids if each not in self.seen]
        self.seen |= dict.fromkeys(new, now)
        old = [each for each, at in self.seen.items() if now - at > _OVERLAP_SECONDS]
        self.floor = max(self.floor, *old) if old else self.floor
        self.seen = {each: at for each, at in self.seen.items() if each > self.floor}
        return new


class LiveVisits:
    """Follows the visits of the accounts whose pages are open. One for each process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watched: dict[int, _Watched] = {}
        self._views = 0
        self._task: asyncio.Task[None] | None = None
        self._fault = RepeatedReason(lambda _reason: _log.exception("live visits failed"), _LOG_SECONDS)

    def stream(self, account: int, page: Hashable, *, render: Render, catch_up: CatchUp) -> EventStream:
        """Return a response that sends the new visits of an account. `page` is equal for pages with the same content.

        Raises UNAVAILABLE if too many pages are open.
        """
        if self._views >= _MAX_VIEWS:
            message = "Too many pages with live visits are open. Please try again later."
            raise Problem(Kind.UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
        return EventStream(partial(self._subscribe, account, page, render, catch_up))

    @asynccontextmanager
    async def _subscribe(
        self, account: int, page: Hashable, render: Render, catch_up: CatchUp
    ) -> AsyncIterator[asyncio.Queue[str]]:
        queue = asyncio.Queue[str](_MAX_QUEUED)
        watched = self._watched.setdefault(account, _Watched())
        group = watched.groups.setdefault(page, _Group(render))
        group.queues.add(queue)
        self._views += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())
        try:
            await watched.ready.wait()
            if missed := await anyio.to_thread.run_sync(catch_up):
                _put(queue, missed)
            yield queue
        finally:
            self._views -= 1
            group.queues.discard(queue)
            self._forget_unused(account, page)

    def _forget_unused(self, account: int, page: Hashable) -> None:
        """Forget pages and accounts without viewers; without any, nothing is read any more."""
        watched = self._watched[account]
        if not watched.groups[page].queues:
            del watched.groups[page]
        if not watched.groups:
            del self._watched[account]
        if not self._watched and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _follow(self) -> None:
        while True:
            try:
                floors = {account: watched.floor for account, watched in self._watched.items()}
                for account, ids in (await anyio.to_thread.run_sync(self._read_newest, floors)).items():
                    if watched := self._watched.get(account):
                        await self._publish(watched, ids)
            except Problem:  # the database is away, which it logs itself; the next turn tries again
                pass
            except Exception as error:  # noqa: BLE001  # the edge of the task: it must not end
                self._fault.record(type(error).__name__)
                self._fault.flush()
            await asyncio.sleep(_PAUSE_SECONDS)

    def _read_newest(self, floors: Mapping[int, int]) -> Mapping[int, list[int]]:
        def work(tx: Connection) -> Mapping[int, list[int]]:
            return {
                account: [int(row[0]) for row in _NEWEST.fetch_all(tx, owner=account, floor=floor)]
                for account, floor in floors.items()
            }

        return self._database.read(work, autocommit=True)

    async def _publish(self, watched: _Watched, ids: list[int]) -> None:
        """Send the visits that are new to the pages of an account."""
        new = watched.take(ids)
        if not watched.ready.is_set():
            watched.floor = min(ids, default=1) - 1
            watched.ready.set()
        elif len(new) >= _MAX_NEW:
            for group in watched.groups.values():
                _send(group, server_sent_events.message(GAP, "", id=new[0]))
        elif new:
            for group in list(watched.groups.values()):
                if rows := await anyio.to_thread.run_sync(group.render, new):
                    _send(group, server_sent_events.message(VISITS, rows, id=new[0]))


def _send(group: _Group, text: str) -> None:
    for queue in group.queues:
        _put(queue, text)


def _put(queue: asyncio.Queue[str], text: str) -> None:
    """Add a message. A page that takes none must load again, in place of what it missed."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        text = server_sent_events.message(GAP, "", id=0)
    queue.put_nowait(text)
