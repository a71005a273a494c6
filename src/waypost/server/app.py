"""The composition root: builds every part of the service once and connects them."""

import gc
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from waypost.api.context import WorkerResources
from waypost.api.openapi import allow_cross_origin
from waypost.api.request import ApiApp
from waypost.api.threads import RequestThreads
from waypost.auth.attempt_limits import RateLimiter
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.journal import Journal
from waypost.core import logging, module_loading
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.dashboard.app import Dashboard
from waypost.dashboard.routing import route_of_page
from waypost.db.database import Database
from waypost.db.maintenance import MaintenanceMode
from waypost.http.mail import Mailer
from waypost.http.middleware import InternalErrors, SecurityHeaders
from waypost.interstitials.link_visits import dry_run
from waypost.interstitials.preview import render_preview
from waypost.items.bios.public import render_draft
from waypost.items.campaigns.fast_rotator import RotatorChoice, RotatorLoader, rotator_outcome
from waypost.items.files.file_visits import FileVisits
from waypost.media.branding import store as brands
from waypost.media.favicons import Favicons
from waypost.server.asgi import BackgroundTasks, Dispatcher, McpServer
from waypost.server.routers import (
    ALIAS_KINDS,
    DASHBOARD_PAGES,
    DOMAIN_ROUTES,
    PUBLIC_ROUTES,
    endpoint_table,
    fastapi_app,
)
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store
from waypost.urls.hostnames import is_https_only
from waypost.visits.app import PublicApp
from waypost.visits.cache import Cache, CacheInvalidator
from waypost.visits.fast_path import WorkerState
from waypost.visits.outcome import Rule
from waypost.visits.record_queries import FileView
from waypost.visits.responses import PageRenderer
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import InstallationSigner, Services
from waypost.visits.writers import FastVisits
from waypost.webhooks import overlay_hooks

if TYPE_CHECKING:
    from waypost.server.tracing import Tracing


_MCP = "waypost.integrations.mcp.app"
_TRACING = "waypost.server.tracing"
"""Modules that are imported only if they are used: they need an optional extra, memory, and time to start."""
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
_SHARE = 0.01
_LEAST, _MOST = 32_000_000, 256_000_000


def prepare() -> None:
    """Build what all workers share. The server calls it before it forks them."""
    fastapi_app()
    endpoint_table()
    if Settings().mcp == "on":
        module_loading.load(_MCP)


def create() -> ASGIApp:
    """Return the service for the current settings. The server calls it once in every worker."""
    settings = Settings()
    logging.configure(settings)
    tracing = module_loading.load(_TRACING).Tracing(settings.traces_url) if settings.traces_url else None
    database = tracing.database(settings.database) if tracing else Database(settings.database)
    app = build(settings, database, tracing)
    gc.collect()
    gc.freeze()  # objects that live as long as the process need no garbage collection
    return app


def build(settings: Settings, database: Database, tracing: "Tracing | None" = None) -> ASGIApp:
    """Return the service over an open database. It closes the database and the tracing when it shuts down."""
    journal = Journal(settings.journal_dir, sync_always=settings.journal_sync == "always")
    cache = Cache(settings.cache_mb * 1_000_000 or default_cache_bytes())
    invalidator = CacheInvalidator(database, cache)
    resources = _worker_resources(settings, database, invalidator)
    signer = InstallationSigner(database)
    file_visits = FileVisits(settings, database, resources.cleaner.store, signer)
    services = _visitor_services(resources, cache, journal, signer, _rules(file_visits))
    visits = FastVisits(services, RotatorLoader(services.visits))
    worker_state = WorkerState(cache, journal, visits, settings.proxies, settings.country_header.lower().encode())
    favicons = Favicons(settings.favicons_dir)
    dashboard = Dashboard(
        DASHBOARD_PAGES,
        resources=resources,
        bio_page=partial(render_draft, services.pages, settings),
        preview=partial(render_preview, services.pages),
        dry_run=dry_run,
        favicons=favicons,
    )
    last = (resources.rate_limiter, database, *((tracing,) if tracing else ()))
    tasks = BackgroundTasks(
        settings=settings,
        database=database,
        worker_state=worker_state,
        invalidator=invalidator,
        meter=resources.meter,
        cleaner=resources.cleaner,
        maintenance=resources.maintenance,
        resources=(file_visits, favicons, journal, resources.cleaner.store, resources.mailer, *last),
    )
    threads = tracing.threads() if tracing else RequestThreads()
    api = allow_cross_origin(ApiApp(endpoint_table(), resources, threads))
    pages: ASGIApp = dashboard.app()
    if tracing:
        api, pages = tracing.app(api, endpoint_table().route_of), tracing.app(pages, route_of_page)
    visitors = PublicApp(PUBLIC_ROUTES, DOMAIN_ROUTES, services)
    dispatcher = Dispatcher(api, pages, visitors, tasks, mcp=_mcp_server(resources))
    service = InternalErrors(dispatcher, resources.meter)
    return SecurityHeaders(service, is_https_only=partial(is_https_only, settings=settings))


def _worker_resources(settings: Settings, database: Database, invalidator: CacheInvalidator) -> WorkerResources:
    meter = Meter(settings.metrics_dir)
    return WorkerResources(
        settings=settings,
        database=database,
        publish_changes=invalidator.catch_up,
        meter=meter,
        cleaner=StorageCleaner(database, open_store(settings), settings),
        mailer=Mailer(
            settings, database, brands.logo_of_installation, report_queued=partial(meter.set_queue, "emails")
        ),
        rate_limiter=RateLimiter(settings.data_dir, database),
        maintenance=MaintenanceMode(database),
    )


def _rules(file_visits: FileVisits) -> dict[type, Rule]:
    rules = {kind.record: kind.rule for kind in ALIAS_KINDS if kind.rule is not None}
    return {**rules, RotatorChoice: rotator_outcome, FileView: file_visits.outcome}


def _mcp_server(resources: WorkerResources) -> McpServer | None:
    if resources.settings.mcp == "off":
        return None
    server: McpServer = module_loading.load(_MCP).McpApp(resources, endpoint_table())
    return server


def _visitor_services(
    resources: WorkerResources,
    cache: Cache,
    journal: Journal,
    signer: InstallationSigner,
    rules: Mapping[type, Rule],
) -> Services:
    settings, database = resources.settings, resources.database
    visits = VisitService(
        settings=settings,
        database=database,
        cache=cache,
        journal=journal,
        countries=Countries(settings),
        rate_limiter=resources.rate_limiter,
    )
    return Services(
        settings=settings,
        database=database,
        cache=cache,
        visits=visits,
        rules=rules,
        pages=PageRenderer(resources.meter, own_host=settings.own_host, pseudo=settings.pseudo_language == "on"),
        meter=resources.meter,
        enqueue_submission=overlay_hooks.enqueue,
        store=resources.cleaner.store,
        signer=signer,
        publish_changes=partial(resources.publish_changes, ()),
        maintenance=resources.maintenance,
    )


def machine_bytes(limit: Path = _CGROUP_LIMIT) -> int:
    """Return the memory of the machine, or the limit of the container if that is lower."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(limit.read_text("ascii")))
    except (OSError, ValueError):  # no limit
        return machine


def default_cache_bytes() -> int:
    """Return how much memory each worker uses for redirects by default."""
    return min(max(_LEAST, round(machine_bytes() * _SHARE)), _MOST)
