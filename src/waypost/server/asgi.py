"""The ASGI application of a worker: dispatches requests, and runs background tasks while the worker lives."""

import asyncio
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from operator import sub
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread
import structlog
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.admin import account_deletion, health
from waypost.core import metrics
from waypost.core.errors import Problem
from waypost.core.metrics import Meter
from waypost.core.reasons import RepeatedReason
from waypost.core.sandbox import process
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.maintenance import MaintenanceMode
from waypost.http.client_ip import is_direct_from
from waypost.http.middleware import LoadShedder, header_of
from waypost.items.accounts import first_sign_in
from waypost.server import gauges
from waypost.storage.cleanup import StorageCleaner
from waypost.transfer.imports import uploads
from waypost.urls.hostnames import has_dashboard, is_own
from waypost.visits.app import PublicApp
from waypost.visits.cache import CacheInvalidator
from waypost.visits.fast_path import STATE_KEY, WorkerState

T = TypeVar("T")
_Step = Callable[[], Coroutine[Any, Any, None]]
"""One run of a background task. A fault of one run ends with the next one that works."""
_log = structlog.get_logger("worker")
_CHANGE_LOG_SECONDS = 0.25  # polling interval; a change must be visible in all processes within a second
_JOURNAL_SECONDS = 1.0
_LOG_SECONDS = 60.0  # between two log entries with the same reason
_STORAGE_SECONDS = 5.0
_STORAGE_CHECK_SECONDS = 15.0
_LOCK_CHECK_SECONDS = 1.0
_WRITE_CHECK_SECONDS = 5.0
_DELETION_SECONDS = 30.0
_UPLOADS = "/api/files/upload"
_API_DOCS = "/api/docs"
_MCP_PATHS = frozenset({"/mcp", "/mcp/"})
_DASHBOARD_UPLOADS = "/dashboard/files/new"
_OWN_SEGMENTS = frozenset({"api", "healthz", "metrics", "readyz"})
"""First path segments that the service answers on every host, unless they are aliases on a branded domain."""


class McpServer(Protocol):
    """The MCP server. `run` must be entered while it serves."""

    def run(self) -> AbstractAsyncContextManager[None]: ...
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Closable(Protocol):
    """A resource that a worker holds."""

    def close(self) -> None: ...


@dataclass(kw_only=True)
class BackgroundTasks:
    """Background tasks of a worker: follow the change log, maintain the journal, clean the storage, delete accounts."""

    settings: Settings
    database: Database
    worker_state: WorkerState
    invalidator: CacheInvalidator
    meter: Meter
    cleaner: StorageCleaner
    maintenance: MaintenanceMode
    resources: Sequence[Closable]
    """Closed, in order, when the worker stops."""

    def __post_init__(self) -> None:
        self._reported = (0, 0, 0, 0)
        self._reporting = threading.Lock()
        self._write_fault = self._row_fault = ""
        self._write_check_at = 0.0  # of the monotonic clock
        self._journal_fault = RepeatedReason(
            lambda reason: _log.warning("journal maintenance failed", reason=reason), _LOG_SECONDS
        )
        self._limiter = anyio.CapacityLimiter(6)
        self._stopping = asyncio.Event()

    def start(self) -> list[asyncio.Task[None]]:
        """Start all tasks."""
        # PostgreSQL sends notifications, and `follow` waits for them.
        change_log_seconds = _CHANGE_LOG_SECONDS if self.database.is_sqlite else 0.0
        repeated = (
            self._repeat(self._follow_change_log, change_log_seconds),
            self._repeat(self._maintain_journal, _JOURNAL_SECONDS),
            self._repeat(self._clean_storage, _STORAGE_SECONDS),
            self._repeat(self._check_storage, _STORAGE_CHECK_SECONDS, is_first_at_once=True),
            self._repeat(self._check_writing, _LOCK_CHECK_SECONDS),
            self._repeat(self._delete_accounts, _DELETION_SECONDS),
        )
        return [asyncio.create_task(task) for task in repeated]

    def stop(self) -> None:
        """Let the tasks finish their current step and return."""
        self._stopping.set()
        self.invalidator.stop()

    def close(self) -> None:
        """Release all resources."""
        self.worker_state.visits.close()
        self.worker_state.sendfile_threads.shutdown(wait=False)
        for resource in self.resources:
            resource.close()

    def metrics(self) -> bytes:
        """Return the metrics of all processes of this machine, in the text format of Prometheus."""
        self._report_counts()
        with suppress(OSError):  # such as a full disk, which the metrics must be able to report
            self.meter.save()  # so that the next scrape, of another worker, shows no less
        known_fault = self.database_fault()
        store, cache = self.cleaner.store, self.worker_state.cache
        values = gauges.read(self.settings, self.database, store, cache, database_fault=known_fault)
        return metrics.exposition(self.settings.metrics_dir, values, self.meter)

    def database_fault(self) -> str:
        """Return what requests of any process found lately: damage, or a row that could not be written; else ""."""
        is_damaged = metrics.sum_of_processes(self.settings.metrics_dir, self.meter)["database_damaged:"] > 0
        return health.DAMAGED if is_damaged else self._write_fault

    def health(self) -> Mapping[str, Any]:
        """Return the state of the parts of this node; the optional ones only with a fault."""
        self._report_counts()
        database = health.database_fault(self.settings, self.database) or self.database_fault()
        storage = self.cleaner.store.health.fault
        node = health.node_faults(self.settings, self.database)
        node = {**node, "journal": node["journal"] or self.worker_state.journal.fault}
        node = {part: fault for part, fault in node.items() if fault}
        status = "unavailable" if database else "degraded" if storage or node else "ok"
        lost = metrics.sum_of_processes(self.settings.metrics_dir, self.meter)["clicks_lost:"]
        parts = {"database": database or "ok", "storage": storage or "ok", "clicks_lost": lost, **node}
        return {"status": status, **parts, "maintenance": self.maintenance.is_on()}

    async def _repeat(self, step: _Step, seconds: float, *, is_first_at_once: bool = False) -> None:
        """Run a step again and again until the worker stops. An error in it is logged, and the next run is tried."""
        task = step.__name__.removeprefix("_").replace("_", " ")
        fault = RepeatedReason(lambda _reason: _log.exception("background task failed", task=task), _LOG_SECONDS)
        pause = 0.0 if is_first_at_once else seconds
        while not await self._is_stopping(pause):
            pause = seconds
            try:
                await step()
            except Exception as error:  # noqa: BLE001  # the edge of the task: it must not end
                fault.record(type(error).__name__)
                fault.flush()
                pause = seconds or _JOURNAL_SECONDS

    async def _check_writing(self) -> None:
        """Find the lock of another program every second, which writes nothing; write a row now and then.

        After a failure a row is written every second, so that the end of the failure is seen.
        """
        lock_fault = await self._in_thread(lambda: health.lock_fault(self.database))
        if not lock_fault and (self._row_fault or time.monotonic() >= self._write_check_at):
            self._write_check_at = time.monotonic() + _WRITE_CHECK_SECONDS
            self._row_fault = await self._in_thread(lambda: health.write_fault(self.database))
        self._write_fault = lock_fault or self._row_fault

    async def _follow_change_log(self) -> None:
        await self._in_thread(self.invalidator.follow)

    async def _maintain_journal(self) -> None:
        """Sync the journal, close old segments, and publish the metrics of this process."""
        _stop_with_parent()
        self.database.reap_stalled_connections()
        try:
            await self._in_thread(self.database.check_file)
            if self.settings.journal_sync == "1s":
                await self._in_thread(self.worker_state.journal.sync)
            self.worker_state.journal.rotate()
            self._report_counts()
            await self._in_thread(self.meter.save)
        except OSError as error:  # such as a full disk: visits continue, and the next second tries again
            self._journal_fault.record(str(error))
        self._journal_fault.flush()

    async def _clean_storage(self) -> None:
        await self._in_thread(self.cleaner.run_due)
        await self._in_thread(lambda: uploads.remove_abandoned(self.settings.data_dir))

    async def _check_storage(self) -> None:
        await self._in_thread(self.cleaner.check_store)

    async def _delete_accounts(self) -> None:
        with suppress(Problem):  # the database is away
            await self._in_thread(lambda: first_sign_in.delete_used(self.settings, self.database))
        await self._in_thread(lambda: account_deletion.delete_due(self.database, self._must_not_delete))

    def _must_not_delete(self) -> bool:
        return self._stopping.is_set() or self.maintenance.is_on()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread of its own pool: requests that wait for the database cannot use it up."""
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def _is_stopping(self, seconds: float) -> bool:
        """Wait, and return whether the worker stops. Tasks are not canceled: their threads would continue."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    def _report_counts(self) -> None:
        """Add the counts of the fast path and the journal, which have no time for a lock, to the metrics."""
        state = self.worker_state
        with self._reporting:  # scrapes run in threads, and a difference must be added once
            counts = (state.hits, state.record_redirects, state.misses, state.journal.lost)
            hits, record_redirects, misses, lost = map(sub, counts, self._reported)
            self._reported = counts
        self.meter.count("redirects", "hot", hits)
        self.meter.count("redirects", "record", record_redirects)
        self.meter.count("cache_misses", by=misses)
        self.meter.count("clicks_lost", by=lost)
        self.meter.count("database_damaged", by=self.database.take_damages())


def _stop_with_parent() -> None:
    """Stop a worker whose parent was killed: no ingester runs for it, and it would keep the port of the next start."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        signal.raise_signal(signal.SIGTERM)


class Dispatcher:
    """Sends each request to the API, the dashboard, the visits, the health checks or the metrics."""

    def __init__(
        self,
        api: ASGIApp,
        dashboard: ASGIApp,
        visits: PublicApp,
        tasks: BackgroundTasks,
        *,
        mcp: McpServer | None = None,
    ) -> None:
        self._visits = visits
        self._mcp = mcp
        proxies = tasks.settings.proxies
        # Load shedding is separate: slow requests to the API do not block visits, visitors of shared statistics do not
        # block the dashboard, and images of QR codes only images.
        self._limited_api = LoadShedder(api, tasks.meter, proxies)
        self._limited_uploads = LoadShedder(api, tasks.meter, proxies, has_uploads=True)
        self._limited_dashboard = LoadShedder(dashboard, tasks.meter, proxies)
        self._limited_shares = LoadShedder(dashboard, tasks.meter, proxies)
        self._limited_dashboard_uploads = LoadShedder(dashboard, tasks.meter, proxies, has_uploads=True)
        self._limited_visits = LoadShedder(visits, tasks.meter, proxies)
        self._limited_images = LoadShedder(visits, tasks.meter, proxies)
        self._limited_mcp = LoadShedder(mcp, tasks.meter, proxies) if mcp else None
        self._tasks = tasks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope["type"] == "http":
            is_alias = await self._is_alias(scope)
            app = self._limited_visits if is_alias else self._mcp_for(scope) or self._app_for(scope)
            await app(scope, receive, send)

    async def _is_alias(self, scope: Scope) -> bool:
        """Return whether a path that the service answers on every host is an alias on this branded domain."""
        if _first_segment(scope).removesuffix("+") not in _OWN_SEGMENTS:
            return False
        return not is_own(header_of(scope, b"host"), self._tasks.settings) and await self._visits.has_alias(scope)

    def _mcp_for(self, scope: Scope) -> ASGIApp | None:
        """Return the MCP server for requests to it. It is on the service's own hosts only, against DNS rebinding."""
        is_mcp = self._limited_mcp and scope["path"] in _MCP_PATHS
        return self._limited_mcp if is_mcp and is_own(header_of(scope, b"host"), self._tasks.settings) else None

    def _app_for(self, scope: Scope) -> ASGIApp:
        path = scope["path"]
        segment = _first_segment(scope)
        if segment in ("dashboard", "stats") and self._has_dashboard(scope):
            other = self._limited_shares if segment == "stats" else self._limited_dashboard
            return self._limited_dashboard_uploads if path == _DASHBOARD_UPLOADS else other
        if path.startswith(_UPLOADS):
            return self._limited_uploads  # an upload can take an hour
        if segment != "api" and (segment == "qr" or path.endswith("/qr")):
            return self._limited_images
        if segment == "healthz":
            return JSONResponse({"status": "ok"})
        if (path == _API_DOCS or path.startswith(f"{_API_DOCS}/")) and not self._has_dashboard(scope):
            return self._limited_visits  # answers 404: people enter API keys there, so it is not on hosts with pixels
        apps: dict[str, ASGIApp] = {"api": self._limited_api, "readyz": self._ready, "metrics": self._metrics}
        return apps.get(segment, self._limited_visits)

    def _has_dashboard(self, scope: Scope) -> bool:
        """Return whether the requested host has the dashboard (decision 72)."""
        return has_dashboard(header_of(scope, b"host"), self._tasks.settings)

    def _is_monitor(self, scope: Scope) -> bool:
        """Return whether the client is in WAYPOST_METRICS_NETWORKS."""
        settings = self._tasks.settings
        return is_direct_from(scope, settings.metrics_readers, proxies=settings.proxies)

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Health check: 200 if links can be read from the database and rows written, else 503.

        Only the networks in WAYPOST_METRICS_NETWORKS get the details. Faults of the storage, the disk, the journal and
        the counting are no 503: links still work.
        """
        state = await anyio.to_thread.run_sync(self._tasks.health)
        body = state if self._is_monitor(scope) else {"status": state["status"]}
        await JSONResponse(body, 503 if state["status"] == "unavailable" else 200)(scope, receive, send)

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Metrics for the networks in WAYPOST_METRICS_NETWORKS; other clients get the page of an unknown alias."""
        if not self._is_monitor(scope):
            await self._visits(scope, receive, send)
            return
        content = await anyio.to_thread.run_sync(self._tasks.metrics)
        await Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")(scope, receive, send)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        scope["state"][STATE_KEY] = self._tasks.worker_state
        tasks = self._tasks.start()
        async with self._mcp.run() if self._mcp else nullcontext():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._tasks.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.close()
        process.end_all()
        await send({"type": "lifespan.shutdown.complete"})


def _first_segment(scope: Scope) -> str:
    path: str = scope["path"]
    return path.partition("/")[2].partition("/")[0]
