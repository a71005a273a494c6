"""Several workers on one port: distribution of connections, restart by SIGHUP, and a port in use."""

import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.support.load import until
from tests.support.server import Server, processes, serving

_SECONDS = 60


def _workers(server: Server) -> set[int]:
    return {worker.pid for worker in processes(server)[0]}


def _busy_workers(server: Server) -> set[int]:
    """Return the workers that hold connections of 30 concurrent clients."""
    visitors = [httpx2.Client(trust_env=False) for _ in range(30)]
    try:
        for visitor in visitors:
            assert visitor.get(f"{server.url}/healthz").status_code == 200
        return {pid for pid in _workers(server) if psutil.Process(pid).net_connections("tcp4")[1:]}
    finally:
        for visitor in visitors:
            visitor.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two workers."""
    with serving(tmp_path_factory.mktemp("node"), workers=2) as server:
        yield server


def test_connections_are_distributed_to_all_workers(server: Server) -> None:
    until(lambda: len(_busy_workers(server)) == 2)


def test_sighup_replaces_workers_without_failed_request(server: Server) -> None:
    before, stop, failures = _workers(server), threading.Event(), list[str]()

    def visit() -> None:
        while not stop.is_set():
            try:
                with httpx2.Client(trust_env=False, timeout=_SECONDS) as visitor:
                    visitor.get(f"{server.url}/healthz").raise_for_status()
            except httpx2.HTTPError as error:
                failures.append(repr(error))

    visiting = threading.Thread(target=visit)
    visiting.start()
    try:
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(_workers(server)) == 2 and not _workers(server) & before)
        server.process.send_signal(signal.SIGTTIN)  # ignored: the number of workers is a setting
        until(lambda: len(_busy_workers(server)) == 2)
    finally:
        stop.set()
        visiting.join(_SECONDS)
    assert not failures
    assert len(_workers(server)) == 2


def test_start_on_port_in_use_fails(server: Server, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    command = [*server.process.args, "--port", port, "--workers", "2"]  # type: ignore[misc]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert completed.returncode != 0, completed
    assert "Address already in use" in completed.stdout + completed.stderr
