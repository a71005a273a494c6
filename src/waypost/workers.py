"""Several workers on one port: each with a queue of its own, and one that dies is replaced at once.

The first are copies of the process that was started, once it has loaded everything; that is quick, and they share its
memory. A later one starts anew: by then that process has threads, which no copy would have, and an upgrade may have
brought newer code, which is what SIGHUP asks for.
"""

import gc
import multiprocessing
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

_LINUX = sys.platform == "linux"
_READY_SECONDS = 60
_log = structlog.get_logger("workers")


def load(config: uvicorn.Config) -> None:
    """Load what every process of the service runs, before the first of them is copied from this one."""
    import_module(str(config.app).partition(":")[0])
    gc.collect()
    gc.freeze()  # what they share is not written to by those who look for garbage


def run(config: uvicorn.Config, ready: Callable[[], None]) -> None:
    """Serve until told to stop; `ready` is called once threads may start. Ends the process when it cannot start."""
    if config.workers > 1:
        queues = _queues(config)
        first = _copies(config, queues) if _LINUX else [_started(config, queue) for queue in queues]
        ready()
        _Workers(config, queues, first).run()
        return
    ready()
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has shut down in good order by then
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _queues(config: uvicorn.Config) -> list[socket.socket]:
    """A socket for each worker, all of one port; the kernel deals new connections out among them.

    Of one socket for all, whoever wakes first takes every connection that waits: of 64 it was often 45, and the other
    worker idled. These are the parent's, so that what waits for a worker that dies is answered by its successor.
    """
    first = config.bind_socket()  # which says so and ends the process when the port is taken
    if not _LINUX:
        return [first] * config.workers
    family, address = first.family, first.getsockname()
    first.close()
    queues = [socket.socket(family) for _ in range(config.workers)]
    for queue in queues:
        queue.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        queue.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        queue.bind(address)
        queue.set_inheritable(True)
    return queues


def _copies(config: uvicorn.Config, queues: list[socket.socket]) -> list[Process]:
    """A running worker for each queue. This process may not have begun to hear signals in its own way."""
    workers: list[Process] = [_Copy(config, queue, queues) for queue in queues]
    for worker in workers:
        worker.start()
    return workers


def _started(config: uvicorn.Config, queue: socket.socket) -> Process:
    worker = Process(config, [queue])
    worker.start()
    return worker


class _Copy(Process):
    """A worker that begins as a copy of this process."""

    def __init__(self, config: uvicorn.Config, queue: socket.socket, queues: list[socket.socket]) -> None:
        super().__init__(config, [queue])
        self._queue = queue
        self._queues = queues
        self.process = multiprocessing.get_context("fork").Process(target=self._serve)  # type: ignore[assignment]

    def _serve(self) -> None:
        for queue in self._queues:
            if queue is not self._queue:
                queue.close()  # or what waits there would wait for us too
        with suppress(KeyboardInterrupt):
            self.target([self._queue])


class _Workers(Multiprocess):
    """uvicorn's, but for the sockets, and for its health checks.

    These wait for an answer from one worker after the other, and from one that was killed meanwhile for as long as a
    busy machine must be given; until then nobody is replaced and no signal is heard.
    """

    def __init__(self, config: uvicorn.Config, queues: list[socket.socket], first: list[Process]) -> None:
        super().__init__(config, queues)
        self.processes = first

    def init_processes(self) -> None:
        """They run already."""

    def keep_subprocess_alive(self) -> None:
        for place, worker in enumerate(self.processes):
            if worker.process.is_alive():
                continue
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                _log.error("a worker cannot start")
                self.should_exit.set()
                return
            _log.warning("a worker died and is replaced", process=worker.pid, exitcode=worker.exitcode)
            self.processes[place] = _started(self.config, self.sockets[place])

    def restart_all(self) -> None:
        """SIGHUP: replace one worker after the other, each once its successor answers."""
        for place, worker in enumerate(self.processes):
            successor = _started(self.config, self.sockets[place])
            if not successor.wait_until_ready(_READY_SECONDS, self.should_exit):
                successor.kill()
                successor.join()
                _log.error("a new worker did not start; the old ones stay")
                return
            worker.terminate()
            worker.join()
            self.processes[place] = successor

    def handle_ttin(self) -> None:
        """How many there are is a setting."""

    handle_ttou = handle_ttin
