"""Several workers on one port: one that dies is replaced at once, whatever the others do."""

import sys
from contextlib import suppress

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

_log = structlog.get_logger("workers")


def run(config: uvicorn.Config) -> None:
    """Serve until told to stop. Ends the process with an error when the service cannot start."""
    if config.workers > 1:
        _Workers(config, sockets=[config.bind_socket()]).run()
        return
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has shut down in good order by then
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


class _Workers(Multiprocess):
    """uvicorn's, but for its health checks.

    They wait for an answer from one worker after the other, and from one that was killed meanwhile for as long as a
    busy machine must be given; until then nobody is replaced and no signal is heard.
    """

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
            self.processes[place] = Process(self.config, self.sockets)
            self.processes[place].start()
