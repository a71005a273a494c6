"""Run `waypost serve` in a separate process, on a free port."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import psutil

from tests.support import fork_server
from waypost.core.settings import Settings

Process = subprocess.Popen[bytes] | fork_server.ForkedProcess
T = TypeVar("T")
_COMMAND = Path(sys.executable).with_name("waypost")
_SECONDS = 60
# Below the range of ports for outgoing connections, so that the kernel assigns none of them.
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Server:
    """A running `waypost serve`. `log` contains its output."""

    url: str
    process: Process
    log: Path
    client: httpx2.Client

    def call(self, method: str, path: str, *, key: str = "", **options: Any) -> httpx2.Response:
        """Send a request, with the API key if given. Thread-safe."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self.client.request(method, path, headers={**headers, **options.pop("headers", {})}, **options)

    @property
    def welcome(self) -> str:
        """The credentials of the owner, which the first start stores until the first sign-in without a terminal."""
        file = self.log.parent.absolute() / "first-sign-in-1.txt"
        return Path(f"/proc/{self.process.pid}/root{file}").read_text()  # the folder can be a mount of the service only

    @property
    def owner_key(self) -> str:
        """The API key of the owner's account of the first start."""
        return self.welcome.partition("Authorization: Bearer ")[2].partition("'")[0]

    def output(self) -> str:
        """Return the output so far."""
        return self.log.read_text(errors="replace")


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Server]:
    """Start a server with the options of `starting`, and wait until it answers; stop it at the end of the block."""
    with starting(folder, **options) as server:
        _wait_for(server)
        yield server


@contextmanager
def starting(
    folder: Path,
    *,
    database_url: str = "",
    port: int = 0,
    command_prefix: Sequence[str] = (),
    forks: bool = True,
    **settings: object,
) -> Iterator[Server]:
    """Start a server with its data in `folder`, without waiting for it; stop it at the end of the block.

    `settings` are those of waypost.core.settings, such as `workers=2`; `command_prefix` is, for example, `unshare -m`.
    Without a prefix the server is forked from a process that has loaded its modules, unless `forks` is false.
    """
    assert settings.keys() <= Settings.model_fields.keys(), settings
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    all_settings = {
        "port": port,
        "data_dir": folder,
        "database_url": database_url,
        "log_level": "warning",
        "metrics_networks": "127.0.0.1",
        **settings,
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment = {**inherited, **{f"WAYPOST_{name.upper()}": str(value) for name, value in all_settings.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"serve-{port}.log"
    process = _start([*command_prefix, str(_COMMAND), "serve"], folder, environment, log, forks=forks)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    # Clients of local servers verify no certificates: those of the system take 30 ms to load, for each client.
    with httpx2.Client(base_url=url, limits=limits, timeout=_SECONDS, trust_env=False, verify=False) as client:
        server = Server(url, process, log, client)
        try:
            yield server
        finally:
            _end(process)


def _start(command: list[str], folder: Path, environment: dict[str, str], log: Path, *, forks: bool) -> Process:
    if forks and command[0] == str(_COMMAND):
        return fork_server.start(command, folder=folder, environment=environment, log=log)
    with log.open("ab") as out:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run all calls at the same moment, each in its own thread. Return their results."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        ready.wait(_SECONDS)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def free_port() -> int:
    """Return a port that is not in use."""
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def processes(server: Server) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """Return (workers, ingesters) of a server."""
    workers, ingesters = [], []
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.Error):  # it is just exiting
            if any(file.path.endswith("ingest.lock") for file in child.open_files()):
                ingesters.append(child)
            elif not any("resource_tracker" in word for word in child.cmdline()):
                workers.append(child)
    return workers, ingesters


def _wait_for(server: Server) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        with suppress(httpx2.TransportError):
            if server.call("GET", "/healthz", timeout=2).status_code == 200:
                return
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the service did not start:\n{server.output()}")
        time.sleep(0.05)


def _end(process: Process) -> None:
    """Stop the process with SIGTERM, then kill what remains of its process group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS / 2)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
