"""The sender: posts messages that are due, in threads of the ingester's process. All nodes share the work.

A message is leased and its attempt stored before the request; no request is sent inside a transaction. A process that
is killed leaves messages whose lease ends, so they are sent again, with the same id.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from email.utils import parsedate_to_datetime
from functools import partial
from typing import NamedTuple

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core import clock, setting_urls
from waypost.core.errors import Problem
from waypost.core.metrics import Meter
from waypost.core.reasons import RepeatedReason
from waypost.core.settings import Settings
from waypost.db import leases, patient_writes
from waypost.db.database import Database, Durability
from waypost.http import mail, safe_client
from waypost.webhooks import catalog, deliveries, formats, notices, queue, signature
from waypost.webhooks.queue import LEASE_SECONDS, Claim, Due, Result

TIMEOUT_SECONDS = 15.0
"""For one attempt in all."""
MAX_ANSWER_BYTES = 4096
POLL_SECONDS = 0.5
_THREADS = 128
"""Requests at the same time, without those that have become slow: a server that hangs holds no place of another."""
_MAX_THREADS = 512
"""All requests at the same time."""
_SLOW_SECONDS = 1.0
_FAILING_THREADS = 12
"""Threads for endpoints that fail, which take long."""
_PER_ENDPOINT = 4
"""Requests to an endpoint whose last one succeeded; others, and slow ones, get one at a time."""
_SEARCHES = 20
"""Parts of a long queue that are read until there is a message for an endpoint that is not busy."""
_LOG_SECONDS = 60.0
_TIDY, _TIDY_SECONDS, _TIDY_PAUSE = "webhooks", 3600, 60.0
"""The lease of the deletion of old messages, its length, and the pause between two tries."""
_MEASURE_PAUSE = 10.0
_OF_VISITS = frozenset(catalog.VISITS.values())
_log = structlog.get_logger("webhooks")


class _Running(NamedTuple):
    """A request: its endpoint, its start on the monotonic clock, and whether the endpoint has failed before."""

    endpoint: int
    since: float
    is_failing: bool


class _Places(NamedTuple):
    """The requests by endpoint, the endpoints that may have several, and how many more can be started."""

    running: Counter[int]
    proven: Set[int]
    free: int
    failing: int
    """How many of them to endpoints that have failed before."""

    @property
    def busy(self) -> Sequence[int]:
        return [endpoint for endpoint, count in self.running.items() if count >= self.limit(endpoint)]

    def limit(self, endpoint: int) -> int:
        return _PER_ENDPOINT if endpoint in self.proven else 1


class Sender:
    """Sends messages until `stop` is set. `fault_point` is called between steps; tests crash in it."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        stop: threading.Event,
        *,
        fault_point: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._stop = stop
        self._fault_point = fault_point
        self._hosts = setting_urls.host_ports(settings.webhook_hosts)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._running: dict[int, _Running] = {}
        """The requests by their attempt."""
        self._position = queue.START
        self._proven: set[int] = set()
        """Endpoints whose last request succeeded."""
        self._meter = Meter(settings.metrics_dir, "webhooks")
        self._tidy_at = self._measure_at = 0.0  # of the monotonic clock
        self._fault = RepeatedReason(
            lambda reason: _log.warning("webhooks wait for the database", reason=reason), _LOG_SECONDS
        )

    def run(self) -> None:
        """Send messages until `stop` is set. Running requests are given up; their messages are sent again."""
        while not self._stop.is_set():
            self._wake.clear()
            if not self._try_step():
                self._wake.wait(POLL_SECONDS)

    def step(self) -> int:
        """Start the requests that are due and have a thread. Return how many."""
        now = clock.now()
        if not (selected := self._find(now)):
            return 0
        # After a power cut, a message is sent again with the same id; one of visits would be another, with another id.
        durability: Durability = "full" if any(due.event in _OF_VISITS for due in selected) else "process"
        ids = [due.id for due in selected]
        claims = self._database.write(lambda tx: queue.claim(tx, now, ids), durability=durability)
        self._fault_point("claimed")
        for claimed in claims:
            self._start(claimed)
        return len(claims)

    def _find(self, now: int) -> Sequence[Due]:
        """Return the messages that are due and have a thread, from the position on that the last search has reached."""
        places = self._places()
        if not places.free:
            return ()
        for _ in range(_SEARCHES):
            find = partial(queue.find_due, now=now, busy=places.busy, per_endpoint=_PER_ENDPOINT, after=self._position)
            search = self._database.read(find, autocommit=True)
            self._position = search.next
            if search.refused:
                self._database.write(partial(queue.fail_refused, ids=search.refused), durability="process")
            selected = self._choose(search.messages, places)
            if selected or search.next == queue.START:
                return selected
        return ()

    def _start(self, claimed: Claim) -> None:
        """Start a thread for a request. Without one, the message is sent after its lease."""
        with self._lock:
            self._running[claimed.attempt] = _Running(claimed.endpoint, time.monotonic(), claimed.is_failing)
        try:
            # A daemon, so that a slow server cannot delay the end of the process.
            threading.Thread(target=self._work, args=(claimed,), daemon=True).start()
        except RuntimeError as error:
            self._end(claimed, succeeded=False)
            self._fault.record(str(error))

    def wait(self, seconds: float) -> bool:
        """Wait for running requests. Return whether all have ended."""
        end = time.monotonic() + seconds
        while self._running and time.monotonic() < end:
            self._wake.wait(0.01)
        return not self._running

    def delete_expired(self) -> None:
        """Delete a batch of old messages, once an hour by one process of all nodes; all batches without a pause."""

        def work(tx: Connection) -> bool:
            if not leases.acquire(tx, _TIDY, every=_TIDY_SECONDS):
                return False
            if more_remains := self._delete_expired(tx):
                leases.release(tx, _TIDY)
            return more_remains

        if time.monotonic() >= self._tidy_at:
            more_remains = self._database.write(work, durability="relaxed")
            self._tidy_at = time.monotonic() + (0 if more_remains else _TIDY_PAUSE)

    def correct_times(self) -> None:
        """Let messages be due whose time cannot be right."""
        if self._database.read(queue.has_impossible, autocommit=True):
            self._database.write(queue.correct_impossible, durability="process")

    def _measure(self) -> None:
        """Publish how many messages are due, for the health page, and correct times of a clock that was ahead."""
        if time.monotonic() >= self._measure_at:
            self.correct_times()
            due = self._database.read(lambda tx: queue.count_due(tx, clock.now()), autocommit=True)
            self._meter.set_queue("webhooks", due)
            self._meter.save()
            self._measure_at = time.monotonic() + _MEASURE_PAUSE

    def _delete_expired(self, tx: Connection) -> bool:
        return deliveries.delete_expired(tx, clock.now(), visits_days=self._settings.events_days)

    def _try_step(self) -> int:
        try:
            self.delete_expired()
            self._measure()
            return self.step()
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            self._fault.record(str(error))
            self._fault.flush()
            return 0

    def _places(self) -> "_Places":
        """Return which requests can be started now."""
        slow_before = time.monotonic() - _SLOW_SECONDS
        with self._lock:
            running, proven = list(self._running.values()), frozenset(self._proven)
        slow = Counter(each.endpoint for each in running if each.since <= slow_before)
        by_endpoint = Counter(each.endpoint for each in running)
        free = min(_THREADS - (len(running) - slow.total()), _MAX_THREADS - len(running))
        failing = _FAILING_THREADS - sum(each.is_failing for each in running)
        return _Places(by_endpoint, proven - slow.keys(), max(0, free), failing)

    def _choose(self, waiting: Sequence[Due], places: "_Places") -> Sequence[Due]:
        """Return the messages that have a free thread, of the process and of their endpoint."""
        selected: list[Due] = []
        running, failing = Counter(places.running), places.failing
        for due in waiting:
            is_free = running[due.endpoint] < places.limit(due.endpoint) and len(selected) < places.free
            if is_free and not (due.is_failing and failing <= 0):
                selected.append(due)
                running[due.endpoint] += 1
                failing -= due.is_failing
        return selected

    def _end(self, claimed: Claim, *, succeeded: bool) -> None:
        with self._lock:
            del self._running[claimed.attempt]
            (self._proven.add if succeeded else self._proven.discard)(claimed.endpoint)
        self._wake.set()

    def _work(self, claimed: Claim) -> None:
        """Make an attempt: the body of a thread."""
        succeeded = False
        try:
            result = self._send(claimed)
            self._fault_point("sent")
            succeeded = result.is_success
            self._store(claimed, result)
            self._fault_point("stored")
        except Exception:
            _log.exception("webhook failed", account=claimed.account, webhook=claimed.endpoint)
            raise
        finally:
            self._end(claimed, succeeded=succeeded)

    def _send(self, claimed: Claim) -> Result:
        """Send the request. Only an answer is a success."""
        started = time.monotonic()
        request = formats.request(claimed.target, claimed.uid, claimed.body, self._settings.dashboard)
        is_signed = claimed.target.format == formats.STANDARD
        signed = signature.headers(claimed.uid, clock.now(), request.body, claimed.secrets) if is_signed else {}
        try:
            response = safe_client.post(
                request.url,
                request.body,
                media_type="application/json",
                seconds=TIMEOUT_SECONDS,
                agent=request.agent,
                headers={**signed, **request.headers},
                max_bytes=MAX_ANSWER_BYTES,
                trusted_hosts=self._hosts,
            )
        except safe_client.Refused as error:
            return Result(0, _milliseconds_since(started), error=str(error))
        answer = response.body.decode("utf-8", "replace").replace("\0", "")
        retry_after = _seconds(response.headers.get("retry-after", ""))
        return Result(response.status, _milliseconds_since(started), answer=answer, retry_after=retry_after)

    def _store(self, claimed: Claim, result: Result) -> None:
        """Store a result, as long as the lease allows if the database is away: without it the message is sent again."""
        try:
            patient_writes.store(
                self._database,
                lambda tx: self._record(tx, claimed=claimed, result=result, now=clock.now()),
                seconds=LEASE_SECONDS - TIMEOUT_SECONDS,
                pause=lambda: self._stop.wait(1),
                durability="process",
            )
        except Problem as problem:
            _log.warning(
                "result of a webhook was not stored",
                account=claimed.account,
                webhook=claimed.endpoint,
                reason=str(problem),
            )

    def _record(self, tx: Connection, claimed: Claim, result: Result, now: int) -> None:
        """Store a result, and with it the e-mail to the owner of an endpoint that fails or was disabled."""
        notice = queue.record(tx, claimed=claimed, result=result, now=now)
        if notice is None:
            return
        # Without the URL, which is the secret of a channel in Slack and Discord.
        owned = {"account": notice.account, "webhook": notice.endpoint}
        _log.warning("webhook is failing or was disabled", **owned, reason=notice.reason)
        if (email := notices.email(tx, self._settings, notice)) is not None:
            mail.enqueue(tx, self._settings, email, account=notice.account)


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _seconds(retry_after: str) -> int:
    """Return the seconds of a header Retry-After, which has a number or a date; 0 for another value."""
    if retry_after.isascii() and retry_after.isdigit():
        return int(retry_after[:9])
    try:
        return max(0, int(parsedate_to_datetime(retry_after).timestamp()) - clock.now())
    except (ValueError, OverflowError):
        return 0


def run(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Send messages until `stop` is set."""
    Sender(settings, database, stop).run()
