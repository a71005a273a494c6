"""Supervisor of the workers on one port. Each has its own socket queue; a worker that dies is replaced at once.

API workers, if there are any, come after the workers in the list of processes. They have no listener (ADR 15).
Workers are forked from the parent, which has loaded all modules: they start fast and share its memory (ADR 13). The
parent must therefore have no other thread, whose locks a child would inherit. SIGHUP replaces them with spawned ones,
because an upgrade can have installed newer code (decision 106). Until all are replaced, a dead worker is still replaced
by a forked one: the code in memory works, and the installed code might not.
"""

import copy
import gc
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from waypost.core import module_loading, process_signals
from waypost.core.errors import Kind, Problem
from waypost.http import connection_handoff
from waypost.server.api_server import ApiServer, WorkerConfig

_SECONDS = 1.0


def tell_ready() -> None:
    """All workers serve, after a start or a reload."""
    _send("READY=1")


def tell_reloading() -> None:
    """A reload begins. `tell_ready` ends it."""
    _send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def tell_stopping() -> None:
    """The service stops."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith("@"):  # an abstract socket of Linux
        address = "\0" + address[1:]
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(_SECONDS)
            manager.sendto(state.encode(), address)


_READY_SECONDS = 60
_POLL_SECONDS = 0.2
_START_SECONDS, _TICK_SECONDS = 0.05, 0.5  # between two checks of the workers, until they are ready and later
_log = structlog.get_logger("workers")


def preload(config: uvicorn.Config) -> None:
    """Import and build what every process of the service needs, before the first one is forked."""
    module_loading.load(str(config.app).partition(":")[0]).prepare()
    gc.collect()
    gc.freeze()  # the garbage collector would write to memory pages that the processes share


def bind(host: str, port: int, workers: int) -> list[socket.socket]:
    """Return one socket per worker, all on the same port. The kernel distributes new connections among them.

    With a single socket, the first worker that wakes up accepts all waiting connections (often 45 of 64), while the
    other one is idle. The parent holds the sockets, so that a successor accepts the connections of a dead worker.
    Raises UNAVAILABLE if the address cannot be used.
    """
    first = _bound(host, port)
    if sys.platform != "linux":
        return [first] * workers
    address = first.getsockname()[:2]
    first.close()  # without SO_REUSEPORT, so that a port in use is noticed
    return [_bound(*address, reuse_port=True) for _ in range(workers)]


def _bound(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        message = f"Cannot listen on {host}, port {port}: {error.strerror}. Set another WAYPOST_HOST or WAYPOST_PORT."
        raise Problem(Kind.UNAVAILABLE, message) from error
    listener.set_inheritable(True)
    return listener


@dataclass(frozen=True)
class Hooks:
    """Functions that the supervisor calls."""

    on_ready: Callable[[], None]
    """Called once, when all workers serve."""
    on_tick: Callable[[], None]
    """Called twice a second."""
    migrate: Callable[[], None]
    """Called in a new process, before the workers are replaced. Exits with a code if that is impossible."""
    on_reload: Callable[[], None]
    """Called after the workers were replaced."""


def run(config: WorkerConfig, listeners: list[socket.socket], hooks: Hooks, *, api_workers: int = 0) -> None:
    """Serve until the process is stopped. Exits the process if a worker cannot start."""
    supervisor = _Supervisor(config, listeners, hooks, api_workers)
    supervisor.run()
    if supervisor.has_failed:
        sys.exit(STARTUP_FAILURE)


class _Worker(Process):
    """A worker or an API worker, as its configuration says.

    After SIGHUP, the parent of an older version sends it to processes of a newer one: this class, WorkerConfig and
    HandoffChannel must keep their names and modules.
    """

    config: WorkerConfig

    def start(self) -> None:
        """Start the process. Signals wait until it has its own handlers: otherwise they would be lost, or end it."""
        with process_signals.blocked():
            self.process.start()

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        process_signals.reset()
        super().target(sockets)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = ApiServer(self.config) if self.config.is_api_worker else uvicorn.Server(self.config)
        return self._server


class _ForkedWorker(_Worker):
    """A worker that is forked instead of spawned."""

    def __init__(self, config: WorkerConfig, own: list[socket.socket], listeners: list[socket.socket]) -> None:
        super().__init__(config, own)
        self._own = own
        self._listeners = listeners
        self.process = multiprocessing.get_context("fork").Process(target=self._serve)  # type: ignore[assignment]

    def _serve(self) -> None:
        for listener in self._listeners:
            if listener not in self._own:
                listener.close()  # connections to other workers must not wait for this one
        with suppress(KeyboardInterrupt):
            self.target(self._own)


class _Supervisor(Multiprocess):
    """uvicorn's supervisor, with forked workers, a socket per worker, and no pings.

    uvicorn pings workers one by one and blocks on a killed one; until it times out no worker is restarted and no signal
    handled.
    """

    def __init__(self, config: WorkerConfig, listeners: list[socket.socket], hooks: Hooks, api_workers: int) -> None:
        super().__init__(config, listeners)
        config.api_channel = connection_handoff.open_channel() if api_workers else None
        self._worker_config = config
        self._api_config = copy.copy(config)
        self._api_config.is_api_worker = True
        self.processes_num = len(listeners) + api_workers
        self.has_failed = False
        self._is_ready = False
        self._hooks = hooks
        for number in (signal.SIGINT, signal.SIGTERM):  # takes effect at once, even while workers are replaced
            signal.signal(number, lambda *_: self.should_exit.set())
        self._forks = sys.platform == "linux"  # system libraries of macOS do not survive a fork

    def init_processes(self) -> None:
        self.processes = [self._start(index, forks=self._forks) for index in range(self.processes_num)]

    def run(self) -> None:
        """Start the workers, supervise them until a signal, and stop them."""
        self.init_processes()
        while not self.should_exit.wait(_TICK_SECONDS if self._is_ready else _START_SECONDS):
            if self._is_ready:
                self.handle_signals()
            self.keep_subprocess_alive()
            if not self._is_ready and all(worker.is_ready(_START_SECONDS) for worker in self.processes):
                self._is_ready = True
                self._hooks.on_ready()
                tell_ready()
        tell_stopping()
        self.terminate_all()
        self.join_all()

    def handle_signals(self) -> None:
        """Handle each kind of signal that has arrived once. Those of the start wait for the workers."""
        arrived = len(self.signal_queue)
        kinds = set(self.signal_queue[:arrived])
        del self.signal_queue[:arrived]  # others may have arrived
        if signal.SIGHUP in kinds:
            self.restart_all()

    def keep_subprocess_alive(self) -> None:
        self._hooks.on_tick()
        for index, worker in enumerate(self.processes):
            if worker.process.is_alive():
                continue
            worker.join()
            if worker.exitcode == STARTUP_FAILURE and not self._is_ready:
                _log.error("worker cannot start")
                self.has_failed = True
                self.should_exit.set()
                return
            _log.warning("worker died, starting another", process=worker.pid, exitcode=worker.exitcode)
            self.processes[index] = self._start(index, forks=self._forks)

    def restart_all(self) -> None:
        """Handle SIGHUP: migrate the database, then replace the workers one by one, each as its successor is ready."""
        tell_reloading()
        if self._migrate() and self._replace_all():
            self._forks = False
            self._hooks.on_reload()
        tell_ready()

    def _replace_all(self) -> bool:
        """Return whether all workers have the installed code. If one does not start, the others keep their code."""
        for index, worker in enumerate(self.processes):
            successor = self._start(index, forks=False)
            if not successor.wait_until_ready(_READY_SECONDS, self.should_exit):
                successor.kill()
                successor.join()
                if not self.should_exit.is_set():
                    _log.error("new worker did not start, keeping the old ones")
                return False
            worker.terminate()
            worker.join()
            self.processes[index] = successor
        return True

    def terminate_all(self) -> None:
        """Stop the workers. Connections that are in the channel are answered by API workers, later ones by workers."""
        if self._worker_config.api_channel is not None:
            connection_handoff.close(self._worker_config.api_channel)
        super().terminate_all()

    def _migrate(self) -> bool:
        """Return whether the database fits the installed code, which can be newer than the code of this process."""
        process = multiprocessing.get_context("spawn").Process(target=self._hooks.migrate, name="waypost migration")
        with process_signals.blocked():
            process.start()
        while process.is_alive() and not self.should_exit.is_set():
            process.join(_POLL_SECONDS)
            self.keep_subprocess_alive()  # a migration can take minutes
        if self.should_exit.is_set():
            process.terminate()  # a migration is one transaction
            process.join()
            return False
        if process.exitcode:
            _log.error("the new version cannot start, keeping the old workers", exitcode=process.exitcode)
        return process.exitcode == 0

    def _start(self, index: int, *, forks: bool) -> Process:
        own = self.sockets[index : index + 1]
        config = self._worker_config if own else self._api_config
        worker = _ForkedWorker(config, own, self.sockets) if forks else _Worker(config, own)
        worker.start()
        return worker
