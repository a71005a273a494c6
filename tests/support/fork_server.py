"""A process that has loaded the application and forks a server for each test: the imports take seconds."""

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_MODULES = ("waypost.__main__", "waypost.cli.main", "waypost.cli.service", "waypost.cli.imports", "waypost.server.app")
_MAIN = "from tests.support.fork_server import main; main(int(__import__('sys').argv[1]))"
_ROOT = Path(__file__).resolve().parents[2]
_POLL_SECONDS = 0.02


class ForkedProcess:
    """The part of `subprocess.Popen` that tests use, for a process that the fork server has started."""

    def __init__(self, args: Sequence[str], pid: int) -> None:
        self.args = args
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        if self.returncode is None:
            self.returncode = _fork_server().ask({"pid": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process ends. Return its exit code. Raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if timeout is not None and deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(_POLL_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def start(args: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path) -> ForkedProcess:
    """Run `waypost` with its arguments in a session of its own; `args[0]` is its path. `log` gets its output."""
    request = {"args": [*args], "folder": str(folder), "environment": dict(environment), "log": str(log)}
    return ForkedProcess(args, _fork_server().ask(request))


class _ForkServer:
    """The connection to the fork server of this process. It ends with the connection, its children do not."""

    def __init__(self) -> None:
        own, other = socket.socketpair()
        command = [sys.executable, "-c", _MAIN, str(other.fileno())]
        with other:
            self._process = subprocess.Popen(
                command, cwd=_ROOT, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._channel = own.makefile("rw", encoding="utf-8")
        own.close()
        self._lock = threading.Lock()

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Send a request: to start a process, or for the exit code of one. Thread-safe."""
        with self._lock:
            print(json.dumps(request), file=self._channel, flush=True)
            return json.loads(self._channel.readline())

    def close(self) -> None:
        """End the fork server."""
        self._channel.close()
        self._process.wait()


@cache
def _fork_server() -> _ForkServer:
    server = _ForkServer()
    atexit.register(server.close)
    return server


def main(descriptor: int) -> None:
    """Be the fork server until its connection is closed; each child returns from the loop and runs `waypost`."""
    for name in _MODULES:
        import_module(name)
    routers = import_module("waypost.server.routers")
    routers.fastapi_app()
    routers.endpoint_table()
    gc.collect()
    gc.freeze()  # otherwise each child collects all of this again, a fifth of a second of its start
    with socket.socket(fileno=descriptor) as connection:
        request = _next_child(connection)
    sys.argv[:] = request["args"]
    sys.exit(import_module("waypost.__main__").main())


def _next_child(connection: socket.socket) -> Any:
    """Answer requests. Return in each child, with its request. Raises SystemExit in the fork server at the end."""
    with connection.makefile("rb") as lines:
        for line in lines:
            request = json.loads(line)
            if "pid" in request:
                answer: int | None = _exit_code(request["pid"])
            elif not (answer := os.fork()):
                _prepare(request)
                return request
            connection.sendall(json.dumps(answer).encode() + b"\n")
    raise SystemExit


def _exit_code(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _prepare(request: Mapping[str, Any]) -> None:
    """Take the session, folder, environment and output of a new process."""
    os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    output = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
