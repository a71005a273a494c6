"""Startup: bind the port, run the ingester and the workers."""

import resource
import sys
from socket import socket

import uvicorn

from waypost.clicks.ingest.process import IngesterProcess
from waypost.links import dead_link_checker
from waypost.observability import metrics
from waypost.server import workers
from waypost.settings import Settings

_OPEN_FILES = 65_536
KEEP_ALIVE_SECONDS = 6  # longer than some clients keep idle connections; proxies get more
"""Seconds after which an idle connection is closed. The load balancers of deploy/ close theirs earlier."""


def listen(settings: Settings) -> list[socket]:
    """Bind the port of the service. Raises UNAVAILABLE."""
    return workers.bind(settings.host, settings.port, settings.workers)


def serve(settings: Settings, listeners: list[socket]) -> None:
    """Run the workers until the process is stopped. Requests in progress are finished first."""
    _raise_open_files_limit()
    metrics.clear(settings.metrics_dir)
    # Otherwise a spawned process would also import the main program, with all commands.
    sys.modules["__main__"].__file__ = None
    config = uvicorn.Config(
        "waypost.app:create",
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
    background = dead_link_checker.run if settings.dead_links_days else None
    with IngesterProcess(settings, background, listeners) as ingester:
        workers.run(config, listeners, on_tick=ingester.ensure_running)


def _raise_open_files_limit() -> None:
    """Allow as many connections as the system permits: many systems start programs with 1,024 open files."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _OPEN_FILES if maximum == resource.RLIM_INFINITY else min(maximum, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, maximum))
