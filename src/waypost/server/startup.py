"""Startup: bind the port, migrate the database, run the ingester and the workers."""

import resource
import sys
from collections.abc import Callable
from socket import socket

import structlog
from sqlalchemy.exc import DBAPIError

from waypost.admin import installation, system_checks
from waypost.clicks.ingest.process import IngesterProcess
from waypost.core import logging, metrics, module_loading, process_signals
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import faults
from waypost.server import background, workers
from waypost.server.api_server import WorkerConfig

_log = structlog.get_logger("startup")
_OPEN_FILES = 65_536
_APPLICATION = "waypost.server.app"
KEEP_ALIVE_SECONDS = 6  # longer than some clients keep idle connections; proxies get more
"""Seconds after which an idle connection is closed. The load balancers of deploy/ close theirs earlier."""


def listen(settings: Settings) -> list[socket]:
    """Bind the port of the service. Raises UNAVAILABLE."""
    return workers.bind(settings.host, settings.port, settings.workers)


def load() -> None:
    """Import the application. Call it before a migration: code that cannot be imported must not change a database."""
    module_loading.load(_APPLICATION)


def serve(settings: Settings, listeners: list[socket], on_ready: Callable[[], None]) -> None:
    """Run the workers until the process is stopped. Requests in progress are finished first.

    Calls `on_ready` when all workers serve.
    """
    _raise_open_files_limit()
    metrics.clear(settings.metrics_dir)
    # Otherwise a spawned process would also import the main program, with all commands.
    sys.modules["__main__"].__file__ = None
    config = WorkerConfig(
        f"{_APPLICATION}:create",
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http="waypost.visits.fast_path:FastPathProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    workers.preload(config)
    readers = background.visit_readers(settings)
    with IngesterProcess(settings, background.jobs(settings), listeners, readers=readers) as ingester:
        hooks = workers.Hooks(on_ready, ingester.ensure_running, migrate, ingester.replace)
        workers.run(config, listeners, hooks, api_workers=settings.api_workers)


def migrate() -> None:
    """Check the settings and migrate the database. Exits the process if the service cannot start."""
    process_signals.reset()
    try:
        settings = Settings()
        logging.configure(settings)
        load()
        findings = [finding.text for finding in system_checks.run(settings) if finding.prevents_start]
        if not findings:
            installation.open_database(settings).close()
    except DBAPIError as error:
        findings = [faults.sentence(error)]
    except (Problem, ValueError, OSError, ImportError) as error:
        findings = [str(error)]
    for reason in findings:
        _log.error("the service cannot start", reason=reason)
    if findings:
        sys.exit(1)


def _raise_open_files_limit() -> None:
    """Allow as many connections as the system permits: many systems start programs with 1,024 open files."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _OPEN_FILES if maximum == resource.RLIM_INFINITY else min(maximum, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, maximum))
