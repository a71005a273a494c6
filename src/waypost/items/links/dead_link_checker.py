"""Background worker that checks the destinations of links through the outgoing HTTP guard, one process at a time.

Requests to one host are sequential, and at most four hosts are checked at once. Response bodies are not read.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import structlog
from sqlalchemy import Connection

from waypost import __version__
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import leases
from waypost.db.database import Database
from waypost.http import safe_client
from waypost.items.links import dead_links
from waypost.items.links.dead_links import DAY, LinkCheck, Verdict
from waypost.urls.url_parts import display_host

LEASE_SECONDS = 300
"""Duration of the lease; longer than a batch takes."""
BATCH_SIZE = 60

_log = structlog.get_logger("links")
_LEASE = "dead links"
_BATCH_SECONDS = 200.0
_CONCURRENT_HOSTS = 4
_HEAD_SECONDS, _GET_SECONDS = 5.0, 10.0
_MAX_TIMEOUTS = 3  # after this many requests in a row without a response, the rest of the host's links get that result
_GONE = frozenset({404, 410})


@dataclass(frozen=True)
class Pauses:
    """Seconds between two requests, overall and per host, and between two batches, with more work due and without."""

    request: float = 0.2
    host: float = 1.0
    batch: float = 1.0
    idle: float = 60.0


@dataclass(frozen=True)
class _Outcome:
    """A finished check: the HTTP status, 0 without a response."""

    check: LinkCheck
    status: int
    verdict: Verdict


class DeadLinkChecker:
    """Checks batches of links. A lease in the database selects the process that does."""

    def __init__(
        self, settings: Settings, database: Database, stop: threading.Event, pauses: Pauses = Pauses()
    ) -> None:
        self._period = settings.dead_links_days * DAY
        self._agent = f"waypost/{__version__} (link checker; +{settings.base})"
        self._database = database
        self._stop = stop
        self._pauses = pauses
        self._meter = Meter(settings.metrics_dir, "links")
        self._pace_lock = threading.Lock()
        self._next_request = 0.0
        self._working_url = ""  # a destination that responded, to tell a dead link from a lost network

    def run(self) -> None:
        """Check batches until `stop` is set."""
        while not self._stop.wait(self._pauses.batch if self.step() else self._pauses.idle):
            pass

    def step(self) -> bool:
        """Check one batch if this process gets the lease; return whether more is due. Logs problems."""
        try:
            batch, more = self._database.write(self._claim_batch, durability="relaxed")
            outcomes = self._check_batch(batch)
            if self._is_network_suspect(outcomes) and not self._is_connected():
                _log.warning("no destination responds, the network may be down; discarding the results")
                outcomes = []
            if more:
                self._database.write(partial(self._record, outcomes=outcomes), durability="relaxed")
                self._meter.save()
        except (Problem, OSError) as problem:
            _log.warning("cannot check links now", reason=str(problem))
            return False
        return more

    def _claim_batch(self, tx: Connection) -> tuple[list[LinkCheck], bool]:
        if not leases.acquire(tx, _LEASE, every=LEASE_SECONDS):
            return [], False
        now = clock.now()
        more_new = dead_links.enroll(tx, now)
        batch, is_any_due = dead_links.claim_batch(tx, now, limit=BATCH_SIZE, period=self._period)
        return batch, more_new or is_any_due

    def _record(self, tx: Connection, outcomes: Sequence[_Outcome]) -> None:
        """Store the results and release the lease, so that the next batch can start."""
        now = clock.now()
        for outcome in outcomes:
            dead_links.record_result(
                tx, outcome.check, status=outcome.status, verdict=outcome.verdict, now=now, period=self._period
            )
        leases.release(tx, _LEASE)

    def _check_batch(self, batch: Sequence[LinkCheck]) -> list[_Outcome]:
        """Check the destinations, in one thread per host, until the time limit of a batch."""
        checks_by_host: defaultdict[str, list[LinkCheck]] = defaultdict(list)
        for check in batch:
            checks_by_host[display_host(check.url)].append(check)
        queue, outcomes = list(checks_by_host.values()), list[_Outcome]()
        work = partial(self._check_hosts, queue, outcomes, deadline=time.monotonic() + _BATCH_SECONDS)
        # Daemon threads, so that a slow server cannot delay the end of the process.
        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(_CONCURRENT_HOSTS, len(queue)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outcome in outcomes:
            self._meter.count("link_checks", outcome.verdict)
            if outcome.verdict == "ok":
                self._working_url = outcome.check.url
        return outcomes

    def _check_hosts(self, queue: list[list[LinkCheck]], outcomes: list[_Outcome], *, deadline: float) -> None:
        """Check host by host until the queue is empty: the body of a thread."""
        while True:
            try:
                checks = queue.pop()
            except IndexError:
                return
            for outcome in self._check_host(checks, deadline):
                outcomes.append(outcome)  # noqa: PERF402  # one at a time, because other threads append too

    def _check_host(self, checks: Sequence[LinkCheck], deadline: float) -> Iterator[_Outcome]:
        timeouts, is_first = 0, True
        status: int = 0
        verdict: Verdict = "unknown"
        for check in checks:
            if timeouts < _MAX_TIMEOUTS:
                if not is_first and self._stop.wait(self._pauses.host):
                    return
                if time.monotonic() > deadline or self._wait_for_slot():
                    return
                status, verdict = self._request(check.url)
            is_first = False
            timeouts = 0 if status else timeouts + 1
            yield _Outcome(check, status, verdict)

    def _request(self, url: str) -> tuple[int, Verdict]:
        """Return the status and the verdict. An unexpected error counts as unknown."""
        try:
            return self._head_or_get(url)
        except safe_client.Refused:  # the guard blocks the address, so nothing is known
            return 0, "unknown"
        except Exception:  # noqa: BLE001  # the edge of the thread
            _log.exception("cannot check a destination", url=url)
            return 0, "unknown"

    def _head_or_get(self, url: str) -> tuple[int, Verdict]:
        """Send HEAD, then GET if HEAD did not succeed, because some servers reject HEAD."""
        status, verdict = self._check(url, "HEAD", _HEAD_SECONDS)
        return (status, verdict) if verdict == "ok" else self._check(url, "GET", _GET_SECONDS)

    def _check(self, url: str, method: Literal["GET", "HEAD"], seconds: float) -> tuple[int, Verdict]:
        try:
            status = safe_client.probe(url, seconds=seconds, method=method, agent=self._agent).status
        except safe_client.NoServer:
            return 0, "failed"
        except safe_client.Unreachable:
            return 0, "unknown"
        return status, _verdict_of(status)

    def _wait_for_slot(self) -> bool:
        """Wait for this thread's turn to send a request. Return whether the service is stopping."""
        with self._pace_lock:
            now = time.monotonic()
            self._next_request = max(now, self._next_request) + self._pauses.request
            pause = self._next_request - now - self._pauses.request
        return self._stop.wait(pause)

    @staticmethod
    def _is_network_suspect(outcomes: Sequence[_Outcome]) -> bool:
        """Return whether checks failed and no destination responded at all."""
        return any(outcome.verdict == "failed" for outcome in outcomes) and not any(
            outcome.status for outcome in outcomes
        )

    def _is_connected(self) -> bool:
        """Return whether a destination that responded before still does. True before the first response."""
        return not self._working_url or self._request(self._working_url)[0] > 0


def _verdict_of(status: int) -> Verdict:
    """Return what a status says about the destination: only few mean that visitors do not get the page either."""
    if 200 <= status < 400:
        return "ok"
    return "failed" if status in _GONE or 500 <= status < 600 else "unknown"


def run(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Check links until `stop` is set."""
    DeadLinkChecker(settings, database, stop).run()
