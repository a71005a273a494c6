"""Looks at the targets of links, beside everything else: politely, through the outgoing guard, and one process for all.

One host is asked one thing at a time, and no more than a few hosts at once. Nothing of a body is read.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection

from waypost import __version__, clock
from waypost.db import leases
from waypost.db.database import Database
from waypost.errors import Problem
from waypost.http import safe_client
from waypost.links import dead_links
from waypost.links.dead_links import DAY, Due
from waypost.observability.metrics import Meter
from waypost.settings import Settings

_log = structlog.get_logger("links")
_WORK = "dead links"
_TURN_SECONDS = 300  # longer than anybody takes for one batch
_BATCH_SECONDS = 200.0
_AT_ONCE = 60
_HOSTS = 4
_HEAD_SECONDS, _GET_SECONDS = 5.0, 10.0
_SILENT = 3  # that did not answer in a row: the rest of the host is not asked this time
# The site is there: it wants to know who asks, or nobody to ask so, or not so often.
_ALIVE = frozenset({401, 403, 405, 429})


@dataclass(frozen=True)
class Pauses:
    """Seconds between two requests, to anybody and to one host; between two turns with more to do, and without."""

    each: float = 0.2
    host: float = 1.0
    more: float = 1.0
    none: float = 60.0


@dataclass(frozen=True)
class _Look:
    """What came of it: the status of the answer, 0 without one."""

    due: Due
    status: int
    fails: bool


class Watcher:
    """One a machine; a lease says whose turn it is."""

    def __init__(
        self, settings: Settings, database: Database, stop: threading.Event, pauses: Pauses = Pauses()
    ) -> None:
        self._period = settings.dead_links_days * DAY
        self._agent = f"waypost/{__version__} (looks whether links work; +{settings.base})"
        self._database = database
        self._stop = stop
        self._pauses = pauses
        self._meter = Meter(settings.metrics_dir, "links")
        self._asking = threading.Lock()
        self._next = 0.0
        self._witness = ""  # a target that answered

    def run(self) -> None:
        """Until it is told to stop."""
        while not self._stop.wait(self._pauses.more if self.step() else self._pauses.none):
            pass

    def step(self) -> bool:
        """Look at what is due, if it is our turn; whether there is more. Problems are logged: the next step comes."""
        try:
            batch, more = self._database.count(self._take)
            seen = self._look_at(batch)
            if not any(look.status for look in seen) and any(look.fails for look in seen) and not self._is_connected():
                _log.warning("no target answers, and none that did before; the network is away, and nothing is noted")
                seen = []
            if more:
                self._database.count(partial(self._note, seen=seen))
                self._meter.save()
        except (Problem, OSError) as problem:
            _log.warning("the targets of links cannot be looked at now", reason=str(problem))
            return False
        except Exception:  # noqa: BLE001  # the edge of the task: it must not end
            _log.exception("looking at the targets of links failed")
            return False
        return more

    def _take(self, tx: Connection) -> tuple[list[Due], bool]:
        if not leases.turn(tx, _WORK, every=_TURN_SECONDS):
            return [], False
        now = clock.now()
        more = dead_links.enroll(tx, now)
        batch, found = dead_links.take(tx, now, most=_AT_ONCE, period=self._period)
        return batch, more or found

    def _note(self, tx: Connection, seen: Sequence[_Look]) -> None:
        """Note it, and let the next turn begin."""
        now = clock.now()
        for look in seen:
            dead_links.note(tx, look.due, status=look.status, fails=look.fails, now=now, period=self._period)
        leases.give_back(tx, _WORK)

    def _look_at(self, batch: Sequence[Due]) -> list[_Look]:
        """What came of those that there was time for."""
        hosts: defaultdict[str, list[Due]] = defaultdict(list)
        for due in batch:
            hosts[_host(due.url)].append(due)
        waiting, seen = list(hosts.values()), list[_Look]()
        work = partial(self._look_at_hosts, waiting, seen, until=time.monotonic() + _BATCH_SECONDS)
        # Whatever strangers' servers do, nobody waits for these threads at the end of the process.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(_HOSTS, len(waiting)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for look in seen:
            self._meter.count("target_looks", "fails" if look.fails else "works" if look.status else "unknown")
            self._witness = look.due.url if look.status and not look.fails else self._witness
        return seen

    def _look_at_hosts(self, waiting: list[list[Due]], seen: list[_Look], *, until: float) -> None:
        """The whole work of a thread."""
        while True:
            try:
                batch = waiting.pop()
            except IndexError:
                return
            for look in self._look_at_host(batch, until):
                seen.append(look)  # noqa: PERF402  # one at a time, beside other threads

    def _look_at_host(self, batch: Sequence[Due], until: float) -> Iterator[_Look]:
        silent, look = 0, None
        for due in batch:
            if look is None or silent < _SILENT:
                if (look and self._stop.wait(self._pauses.host)) or time.monotonic() > until or self._is_over():
                    return
                status, fails = self._look(due.url)
            look = _Look(due, status, fails)
            silent = silent + 1 if fails and not status else 0
            yield look

    def _look(self, url: str) -> tuple[int, bool]:
        """(status, whether it fails). What a stranger's server does stays in here."""
        try:
            return self._ask(url)
        except Exception:  # noqa: BLE001  # the edge of the thread
            _log.exception("a target could not be looked at", url=url)
            return 0, False

    def _ask(self, url: str) -> tuple[int, bool]:
        """Some refuse a HEAD, or fail over it, so a GET has the last word."""
        try:
            status = safe_client.look(url, seconds=_HEAD_SECONDS, method="HEAD", agent=self._agent).status
        except safe_client.Unreachable:
            status = 0
        except safe_client.Refused:  # where the guard lets nobody go, nobody knows
            return 0, False
        if 200 <= status < 400:
            return status, False
        try:
            status = safe_client.look(url, seconds=_GET_SECONDS, agent=self._agent).status
        except safe_client.Unreachable:
            return 0, True
        except safe_client.Refused:
            return 0, False
        return status, status >= 400 and status not in _ALIVE

    def _is_over(self) -> bool:
        """Wait until anybody may be asked again, or find that the service stops."""
        with self._asking:
            now = time.monotonic()
            self._next = max(now, self._next) + self._pauses.each
            pause = self._next - now - self._pauses.each
        return self._stop.wait(pause)

    def _is_connected(self) -> bool:
        """Whether one that answered before does so now. Who never heard of any believes what he sees."""
        return not self._witness or self._look(self._witness)[0] > 0


def run(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Look at targets until `stop` is set."""
    Watcher(settings, database, stop).run()


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
