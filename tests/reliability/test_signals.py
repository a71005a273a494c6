"""Signals at any moment, and the moment at which the service says that it is ready."""

import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.support.load import until
from tests.support.server import Server, processes, starting

_SECONDS = 60
_OTHERS = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU)
_LINE = "serves http"
_WORKERS: dict[str, Any] = {"forks": False, "workers": 2, "api_workers": 1}
_WITH_SIGINT = ("env", "--default-signal=INT")  # a shell ignores it for programs in the background, such as these tests


def _ignores_signals(server: Server) -> bool:
    """Return whether the first instructions of the program have run: until then, SIGTTIN stops it."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    return all(ignored >> (number - 1) & 1 for number in _OTHERS if number != signal.SIGHUP)  # that has a handler later


def _children(server: Server) -> list[psutil.Process]:
    children: list[psutil.Process] = psutil.Process(server.process.pid).children()
    return children


def _listeners(server: Server) -> int:
    """Return the number of processes that accept connections."""
    count = 0
    for child in _children(server):
        with suppress(psutil.Error):
            count += any(one.status == psutil.CONN_LISTEN for one in child.net_connections("tcp4"))
    return count


def _answers(server: Server) -> bool:
    with suppress(httpx2.TransportError):
        return server.call("GET", "/healthz").status_code == 200
    return False


def test_other_signals_during_start_do_not_end_the_service(tmp_path: Path) -> None:
    with starting(tmp_path, **_WORKERS) as server:
        until(lambda: _ignores_signals(server))

        def is_ready() -> bool:
            for number in _OTHERS:
                server.process.send_signal(number)
            return _LINE in server.output()

        until(is_ready)
        until(lambda: _answers(server) and _listeners(server) == 2)
        server.process.terminate()
        assert server.process.wait(_SECONDS) == 0
        assert "Traceback" not in server.output()


@pytest.mark.parametrize(
    "has_come",
    [
        pytest.param(_ignores_signals, id="first instructions"),
        pytest.param(lambda server: len(_children(server)) >= 1, id="ingester"),
        pytest.param(lambda server: len(_children(server)) >= 2, id="first worker"),
        pytest.param(lambda server: _LINE in server.output(), id="ready"),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_during_start_ends_all_processes(
    tmp_path: Path, has_come: Callable[[Server], bool], number: signal.Signals
) -> None:
    with starting(tmp_path, command_prefix=_WITH_SIGINT, **_WORKERS) as server:
        until(lambda: has_come(server))
        children = _children(server)
        server.process.send_signal(number)
        assert server.process.wait(_SECONDS) in (0, -number)
        until(lambda: not any(child.is_running() for child in children))
        assert "Traceback" not in server.output()


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(_SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", path)
        yield manager


def test_service_tells_each_state_and_survives_signals_to_all_processes(tmp_path: Path, manager: socket.socket) -> None:
    with starting(tmp_path / "data", **_WORKERS) as server:
        # The first of the line and the message: neither comes before all workers serve.
        until(lambda: _LINE in server.output() or select.select([manager], [], [], 0)[0])
        assert _listeners(server) == 2
        assert _answers(server)
        assert manager.recv(100) == b"READY=1"
        until(lambda: _LINE in server.output())
        until(lambda: len(processes(server)[1]) == 1)
        before = {process.pid for kind in processes(server) for process in kind}
        for number in set(_OTHERS) - {signal.SIGHUP}:
            os.killpg(server.process.pid, number)
        for pid in before:
            os.kill(pid, signal.SIGHUP)  # as a terminal that is closed
        server.process.send_signal(signal.SIGHUP)
        first, second = manager.recv(100).decode().splitlines()
        assert first == "RELOADING=1"
        assert second.removeprefix("MONOTONIC_USEC=").isdigit()
        assert manager.recv(100) == b"READY=1"

        def is_replaced() -> bool:
            workers, ingesters = processes(server)
            return len(workers) == 3 and len(ingesters) == 1 and not before & {p.pid for p in (*workers, *ingesters)}

        until(is_replaced)
        assert "worker died" not in server.output()
        server.process.terminate()
        assert manager.recv(100) == b"STOPPING=1"
        assert server.process.wait(_SECONDS) == 0
