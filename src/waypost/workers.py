"""Several workers on one port: each with a queue of its own, and one that dies is replaced at once."""

import socket
import sys
from contextlib import suppress

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

_READY_SECONDS = 60
_log = structlog.get_logger("workers")


def run(config: uvicorn.Config) -> None:
    """Serve until told to stop. Ends the process with an error when the service cannot start."""
    if config.workers > 1:
        _Workers(config, sockets=_queues(config)).run()
        return
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
    if not sys.platform.startswith("linux"):
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


class _Workers(Multiprocess):
    """uvicorn's, but for the sockets, and for its health checks.

    These wait for an answer from one worker after the other, and from one that was killed meanwhile for as long as a
    busy machine must be given; until then nobody is replaced and no signal is heard.
    """

    def init_processes(self) -> None:
        self.processes = [self._started(place) for place in range(self.processes_num)]

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
            self.processes[place] = self._started(place)

    def restart_all(self) -> None:
        """SIGHUP: replace one worker after the other, each once its successor answers."""
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

    def handle_ttin(self) -> None:
        """How many there are is a setting."""

    handle_ttou = handle_ttin

    def _started(self, place: int) -> Process:
        worker = Process(self.config, [self.sockets[place]])
        worker.start()
        return worker
