"""Several workers on one port: each with a queue of its own, and one that dies is replaced at once.

They are copies of the process that was started, which has loaded everything: that is quick, and they share its memory.
So it must have no other thread, of which a copy would have the locks alone. After SIGHUP they start anew: that asks for
the newer code that an upgrade may have brought.
"""

import gc
import multiprocessing
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import SIGNALS, Multiprocess, Process

_READY_SECONDS = 60
_log = structlog.get_logger("workers")


def load(config: uvicorn.Config) -> None:
    """Load what every process of the service runs, before the first of them is copied from this one."""
    import_module(str(config.app).partition(":")[0])
    gc.collect()
    gc.freeze()  # what they share is not written to by those who look for garbage


def run(config: uvicorn.Config, meanwhile: Callable[[], None]) -> None:
    """Serve until told to stop, and call `meanwhile` twice a second. Ends the process when it cannot start."""
    if config.workers > 1:
        _Workers(config, _queues(config), meanwhile).run()
        return
    over = threading.Event()
    repeated = threading.Thread(target=_repeat, args=(meanwhile, over), name="meanwhile", daemon=True)
    repeated.start()
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has shut down in good order by then
        server.run()
    over.set()
    repeated.join()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _repeat(work: Callable[[], None], over: threading.Event) -> None:
    while not over.wait(0.5):
        work()


def _queues(config: uvicorn.Config) -> list[socket.socket]:
    """A socket for each worker, all of one port; the kernel deals new connections out among them.

    Of one socket for all, whoever wakes first takes every connection that waits: of 64 it was often 45, and the other
    worker idled. These are the parent's, so that what waits for a worker that dies is answered by its successor.
    """
    first = config.bind_socket()  # which says so and ends the process when the port is taken
    if sys.platform != "linux":
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


class _Copy(Process):
    """A worker that begins as a copy of this process."""

    def __init__(self, config: uvicorn.Config, queue: socket.socket, queues: list[socket.socket]) -> None:
        super().__init__(config, [queue])
        self._queue = queue
        self._queues = queues
        self.process = multiprocessing.get_context("fork").Process(target=self._serve)  # type: ignore[assignment]

    def start(self) -> None:
        """Begin, hearing no signal until it is the worker's own: one that came meanwhile would be lost."""
        heard = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)

    def _serve(self) -> None:
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for queue in self._queues:
            if queue is not self._queue:
                queue.close()  # or what waits there would wait for us too
        with suppress(KeyboardInterrupt):
            self.target([self._queue])


class _Workers(Multiprocess):
    """uvicorn's, but for how they begin, for the sockets, and for its health checks.

    These wait for an answer from one worker after the other, and from one that was killed meanwhile for as long as a
    busy machine must be given; until then nobody is replaced and no signal is heard.
    """

    def __init__(self, config: uvicorn.Config, queues: list[socket.socket], meanwhile: Callable[[], None]) -> None:
        super().__init__(config, queues)
        self._meanwhile = meanwhile
        self._copied = sys.platform == "linux"  # elsewhere the system's own libraries do not survive it

    def init_processes(self) -> None:
        self.processes = [self._started(place) for place in range(self.processes_num)]

    def keep_subprocess_alive(self) -> None:
        self._meanwhile()
        for place, worker in enumerate(self.processes):
            if worker.process.is_alive():
                continue
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                _log.error("a worker cannot start")
                self.should_exit.set()
                return
            _log.warning("a worker died and is replaced", process=worker.pid, exitcode=worker.exitcode)
            self.processes[place] = self._started(place)

    def restart_all(self) -> None:
        """SIGHUP: replace one worker after the other, each once its successor answers."""
        self._copied = False
        for place, worker in enumerate(self.processes):
            successor = self._started(place)
            if not successor.wait_until_ready(_READY_SECONDS, self.should_exit):
                successor.kill()
                successor.join()
                _log.error("a new worker did not start; the old ones stay")
                return
            worker.terminate()
            worker.join()
            self.processes[place] = successor

    def _started(self, place: int) -> Process:
        queue = self.sockets[place]
        worker = _Copy(self.config, queue, self.sockets) if self._copied else Process(self.config, [queue])
        worker.start()
        return worker

    def handle_ttin(self) -> None:
        """How many there are is a setting."""

    handle_ttou = handle_ttin
