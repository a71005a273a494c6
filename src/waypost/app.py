"""The composition root: builds everything once, and sends each request to the face it is for."""

import asyncio
import gc
import multiprocessing
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import structlog
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.api.app import create_api
from waypost.bios.public import render_draft
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.ingest import read_barrier
from waypost.clicks.journal.writer import Journal
from waypost.dashboard.app import Dashboard
from waypost.db.database import Database
from waypost.db.upgrade import current_revision, latest_revision
from waypost.errors import Problem
from waypost.http.attempt_limiter import AttemptLimiter
from waypost.http.client_ip import client_ip, is_trusted
from waypost.interstitials.preview import render_preview
from waypost.links import dead_links
from waypost.links.dry_run import dry_run
from waypost.mail import Mailer
from waypost.observability import logging, metrics
from waypost.observability.metrics import Meter
from waypost.routers import DASHBOARD_PAGES, PUBLIC_ROUTES, fastapi_app
from waypost.server.load_shedding import LoadShedder
from waypost.settings import Settings
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store
from waypost.urls.hostnames import is_own
from waypost.visits.app import create_public_app
from waypost.visits.cache import Cache
from waypost.visits.cache_invalidation import CacheInvalidator
from waypost.visits.fast_path import STATE_KEY, WorkerState
from waypost.visits.responses import PageRenderer
from waypost.visits.services import InstallationSigner, Services
from waypost.visits.visit import VisitService

_log = structlog.get_logger("house")
_LOOK_SECONDS = 0.25  # how often the log of changes is read; a change is in force everywhere within a second
_SYNC_SECONDS = 1.0
_KEEP_SECONDS = 5.0
_UPLOADS = "/api/files/upload/"


def create() -> ASGIApp:
    """The service as the settings describe it; what the server calls in every worker."""
    settings = Settings()
    logging.configure(settings)
    app = build(settings, Database(settings.database))
    gc.collect()
    gc.freeze()  # what is there from the start is not searched for garbage again and again while visitors wait
    return app


def build(settings: Settings, database: Database) -> ASGIApp:
    """The service over an open database, which it closes when it stops."""
    journal = Journal(settings.journal_dir, sync_always=settings.journal_sync == "always")
    header = settings.country_header.lower().encode()
    traffic = WorkerState(Cache(), journal, settings.proxies, header)
    meter = Meter(settings.metrics_dir)
    watch = CacheInvalidator(database, traffic.cache)
    guesses = AttemptLimiter(settings.data_dir, database)
    store = open_store(settings)
    keeper = StorageCleaner(database, store, grace_days=settings.file_grace_days)
    services = Services(
        settings=settings,
        database=database,
        worker_state=traffic,
        visits=VisitService(
            database=database, worker_state=traffic, countries=Countries(settings), attempt_limiter=guesses
        ),
        pages=PageRenderer(meter),
        meter=meter,
        store=store,
        signer=InstallationSigner(database),
    )
    api = create_api(
        fastapi_app(),
        settings=settings,
        database=database,
        changed=watch.catch_up,
        meter=meter,
        keeper=keeper,
        guesses=guesses,
    )
    post = Mailer(settings)
    dashboard = Dashboard(
        DASHBOARD_PAGES,
        settings=settings,
        database=database,
        publish_changes=watch.catch_up,
        meter=meter,
        cleaner=keeper,
        mailer=post,
        bio_page=partial(render_draft, services.pages, settings),
        attempt_limiter=guesses,
        preview=partial(render_preview, services.pages),
        dry_run=dry_run,
    )
    house = BackgroundTasks(settings, database, traffic, watch, meter, keeper, guesses, post)
    return Dispatcher(api, dashboard.app(), create_public_app(PUBLIC_ROUTES, services), house, meter)


class BackgroundTasks:
    """What a worker does beside answering: follow changes, keep its journal safe and short, tidy up files."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        traffic: WorkerState,
        watch: CacheInvalidator,
        meter: Meter,
        keeper: StorageCleaner,
        guesses: AttemptLimiter,
        post: Mailer,
    ) -> None:
        self.settings = settings
        self.database = database
        self.traffic = traffic
        self._meter = meter
        self._watch = watch
        self._keeper = keeper
        self._guesses = guesses
        self._post = post
        self._told = (0, 0)
        self._own_threads = anyio.CapacityLimiter(4)
        self.stopping = asyncio.Event()

    async def look(self) -> None:
        """Follow the log of changes."""
        between = _LOOK_SECONDS if self.database.is_sqlite else 0.0  # PostgreSQL tells when there is something
        while not await self._is_over(between):
            await self._threaded(self._watch.follow)

    async def keep(self) -> None:
        """Remove the bytes that no file has any more."""
        while not await self._is_over(_KEEP_SECONDS):
            await self._threaded(self._keeper.step)

    async def tend(self) -> None:
        """Sync the journal and close segments that are old."""
        while not await self._is_over(_SYNC_SECONDS):
            _stop_with_parent()
            self.database.reap_stalled_connections()
            try:
                if self.settings.journal_sync == "1s":
                    await self._threaded(self.traffic.journal.sync)
                self.traffic.journal.rotate()
                self._count()
                await self._threaded(self._meter.save)
            except OSError as error:  # a full disk: the visits go on, and the next second is another try
                _log.warning("the journal cannot be looked after", error=str(error))

    async def _threaded(self, work: Callable[[], object]) -> None:
        """Run `work` in a thread that no request can take away, however many wait for the database."""
        await anyio.to_thread.run_sync(work, limiter=self._own_threads)

    async def _is_over(self, seconds: float) -> bool:
        """Wait, or find that the service stops. Not by cancelling: a thread that reads would go on without us."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)
        return self.stopping.is_set()

    def metrics(self) -> bytes:
        """The counts of every process of this machine, as Prometheus reads them."""
        self._count()
        self._meter.save()
        behind = read_barrier.lag(self.settings.journal_dir, self.database)
        gauges = {
            "journal_lag_bytes": ("Bytes of the journal that are not counted yet.", float(behind)),
            "hot_names": (
                "Names that the fast lane of the answering worker knows.",
                float(len(self.traffic.cache.hot)),
            ),
        }
        if self.settings.dead_links_days:
            gauges["dead_links"] = (
                "Links with a dead target, of all nodes.",
                float(self.database.read(dead_links.count_dead)),
            )
        return metrics.exposition(self.settings.metrics_dir, gauges)

    def _count(self) -> None:
        """Take over what the fast lane and the journal count for themselves, being too fast to ask for a lock."""
        now = (self.traffic.hits, self.traffic.journal.lost)
        self._meter.count("redirects", "lane", now[0] - self._told[0])
        self._meter.count("clicks_lost", by=now[1] - self._told[1])
        self._told = now

    def stop(self) -> None:
        """All of this ends soon."""
        self.stopping.set()
        self._watch.stop()

    def close(self) -> None:
        """Give everything back."""
        self.traffic.journal.close()
        self.traffic.sendfile_threads.shutdown(wait=False)
        self._keeper.store.close()
        self._guesses.close()
        self._post.close()
        self.database.close()


def _stop_with_parent() -> None:
    """End a worker whose parent was killed: nobody counts for it, and it would keep the port from the next start."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        signal.raise_signal(signal.SIGTERM)


class Dispatcher:
    """One port, several faces: chosen by the first segment of the path."""

    def __init__(self, api: ASGIApp, dashboard: ASGIApp, visits: ASGIApp, house: BackgroundTasks, meter: Meter) -> None:
        self._api = api
        self._visits = visits
        # Each has a crowd of its own: programs that wait for the API keep no visitor out.
        self._crowd_of_api, self._crowd_of_visits = LoadShedder(api, meter), LoadShedder(visits, meter)
        self._crowd_of_dashboard = LoadShedder(dashboard, meter)
        self._house = house
        self._newest = latest_revision()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http":
            segment = scope["path"].partition("/")[2].partition("/")[0]
            # Below a branded domain there are only names; the dashboard is on the service's own host.
            is_dashboard = segment == "dashboard" and self._is_own(scope)
            face = self._crowd_of_dashboard if is_dashboard else self._face(scope["path"])
            await face(scope, receive, send)

    def _face(self, path: str) -> ASGIApp:
        segment = path.partition("/")[2].partition("/")[0]
        if path.startswith(_UPLOADS):
            return self._api  # which may take an hour and need the database for a moment
        if segment == "api":
            return self._crowd_of_api
        if segment == "healthz":
            return JSONResponse({"status": "ok"})
        if segment == "readyz":
            return self._ready
        if segment == "metrics":
            return self._metrics
        return self._crowd_of_visits

    def _is_own(self, scope: Scope) -> bool:
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        return is_own(host.decode("latin-1"), self._house.settings)

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whether this process can do its work: the database answers with this version's tables, clicks are kept."""
        try:
            current = await anyio.to_thread.run_sync(self._house.database.read, current_revision)
        except Problem as problem:
            state = problem.message
        else:
            state = "ok" if current == self._newest else f"at {current}, not {self._newest}"
        told: dict[str, Any] = {"status": "ok" if state == "ok" else "unavailable", "database": state}
        told["clicks_lost"] = self._house.traffic.journal.lost
        await JSONResponse(told, 200 if state == "ok" else 503)(scope, receive, send)

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        """For Prometheus, from the networks that the operator names; to everybody else there is nothing here."""
        settings = self._house.settings
        if not is_trusted(client_ip(scope, settings.proxies), settings.metrics_readers):
            await self._visits(scope, receive, send)
            return
        text = await anyio.to_thread.run_sync(self._house.metrics)
        await Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        scope["state"][STATE_KEY] = self._house.traffic
        work = (self._house.look, self._house.tend, self._house.keep)
        tasks = [asyncio.create_task(one()) for one in work]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._house.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._house.close()
        await send({"type": "lifespan.shutdown.complete"})
