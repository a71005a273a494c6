"""Start servers and load generators, pinned to different cores."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil

CONNECTIONS = 32
_TIMEOUT = 90.0  # seconds
_NGINX = """worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err; daemon off; {main}
events {{ worker_connections 4096; }}
http {{ sendfile on; tcp_nopush on; default_type application/octet-stream;
access_log {folder}/nginx.log combined buffer=64k flush=1s;
server {{ listen 127.0.0.1:{port} backlog=4096; keepalive_requests 1000000000; {server} }} }}
"""


@dataclass
class Server:
    """A running server and its processes."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def processes(self) -> list[int]:
        """Return the ids of the main process and its children."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [self.process.pid, *(int(pid) for pid in children.stdout.split())]

    def answering(self) -> int:
        """Return the process that handles requests: the one that accepts a connection."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(1)
            client = connection.getsockname()[1]
            for pid in self.processes():
                if any(peer.raddr and peer.raddr.port == client for peer in psutil.Process(pid).net_connections("tcp")):
                    return pid
        raise ChildProcessError("no process of this server answers")

    def processor_seconds(self) -> float:
        """Return the processor time of the process that handles requests."""
        return processor_nanoseconds(self.answering()) / 1e9


@dataclass(frozen=True)
class Load:
    """Result of a run of wrk."""

    answers: int
    a_second: float
    p99_ms: float
    other: int
    """Responses that are neither 2xx nor 3xx."""


def processor_nanoseconds(process: int) -> int:
    """Return the processor time of all threads of a process."""
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{process}/task").glob("*/schedstat"))


def pin(process: int, cores: str) -> None:
    """Pin all threads of a process to cores, such as `0` or `0,1`."""
    subprocess.run(["taskset", "-a", "-cp", cores, str(process)], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def waypost(
    folder: Path, settings: Mapping[str, str] | None = None, *, executable: Path | None = None
) -> Iterator[Server]:
    """Run `waypost serve` in the data folder, on the first core; its ingester on the second."""
    port = free_port()
    environment_settings = {"data_dir": str(folder), "log_level": "warning", "port": str(port), **(settings or {})}
    command = ["taskset", "-c", "0", str(executable or program()), "serve"]
    with running(command, port, folder, environment(environment_settings)) as server:
        until(lambda: any(map(_is_ingester, server.processes())))
        for pid in filter(_is_ingester, server.processes()):
            pin(pid, "1")
        yield server


def _is_ingester(process: int) -> bool:
    return any(file.path.endswith("ingest.lock") for file in psutil.Process(process).open_files())


@contextlib.contextmanager
def nginx(folder: Path, location: str, main: str = "") -> Iterator[Server]:
    """Run nginx with one worker on the first core. `location` configures its site, `main` is global."""
    port = free_port()
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port, server=location, main=main))
    command = ["taskset", "-c", "0", "nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with running(command, port, folder, dict(os.environ)) as server:
        yield server


def wrk(
    url: str,
    seconds: int,
    *,
    script: Path | None = None,
    headers: Mapping[str, str] | None = None,
    cores: str = "1",
    goes_first: bool = False,
) -> Load:
    """Run wrk with one thread per core. `goes_first`: before other programs on these cores, which needs root."""
    threads = cores.count(",") + 1
    command = [
        *(["nice", "-n", "-15"] if goes_first else []),
        "taskset",
        "-c",
        cores,
        "wrk",
        f"-t{threads}",
        f"-c{CONNECTIONS * threads}",
        f"-d{seconds}s",
    ]
    command += ["--latency", *(["-s", str(script)] if script else [])]
    command += [part for name, value in (headers or {}).items() for part in ("-H", f"{name}: {value}")]
    return read_wrk(subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout)


def read_wrk(text: str) -> Load:
    """Parse the output of wrk. Exit if it is unexpected."""
    number, unit = (_match(r"99%\s+([\d.]+)(us|ms|s)", text, part) for part in (1, 2))
    p99 = float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    rate = float(_match(r"Requests/sec:\s+([\d.]+)", text))
    return Load(int(_match(r"(\d+) requests in", text)), rate, p99, int(other[1]) if other else 0)


def program() -> str:
    """Return the path of the `waypost` command."""
    return str(Path(sys.executable).with_name("waypost"))


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with only these settings of waypost."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return inherited | {f"WAYPOST_{name.upper()}": value for name, value in settings.items()}


def account(folder: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> str:
    """Create an account in the data folder and return its API key. `words` are options of `waypost account add`."""
    command = [program(), "account", "add", "--email", "ana@example.com", "--username", "ana", "--json", *arguments]
    own = environment({"data_dir": str(folder), **(settings or {})})
    return str(json.loads(subprocess.run(command, env=own, capture_output=True, check=True).stdout)["apikey"])


def call(server: Server, key: str, method: str, path: str, body: Any = None) -> Any:
    """Call the API and return the JSON. `body` is sent as JSON unless it is bytes."""
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{server.url}/api{path}", data=content, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def call_counted(server: Server, key: str, path: str) -> Any:
    """Read statistics from the API, until they include all clicks. Raises TimeoutError after five minutes."""
    request = urllib.request.Request(f"{server.url}/api{path}", headers={"Authorization": f"Bearer {key}"})
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with urllib.request.urlopen(request, timeout=60) as response:
            if "X-Statistics-Age" not in response.headers:  # the numbers are complete
                return json.load(response)
        time.sleep(0.2)
    raise TimeoutError("the clicks were not counted in time")


def status(server: Server, key: str, method: str, path: str, body: bytes | None = None) -> int:
    """Return the status of a response, 0 if there is none."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {key}", "User-Agent": "curl/8"})
        response = connection.getresponse()
        response.read()
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()
    return response.status


def until(condition: Callable[[], bool]) -> float:
    """Wait until the condition is true and return the seconds. Exit after 90 s."""
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > _TIMEOUT:
            sys.exit(f"condition not met within {_TIMEOUT:.0f} s")
        time.sleep(0.002)
    return time.perf_counter() - start


def redirects(server: Server) -> Counter[str]:
    """Return the redirects of all workers by path, such as `hot` for those complete in memory."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as response:
        text = response.read().decode()
    samples = re.findall(r'^waypost_redirects_total{path="(\w+)"} ([\d.e+]+)', text, re.MULTILINE)
    return Counter({path: round(float(n)) for path, n in samples})


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _match(pattern: str, text: str, part: int = 1) -> str:
    match = re.search(pattern, text)
    if match is None:
        sys.exit(f"unexpected output of wrk:\n{text}")
    return match[part]


@contextlib.contextmanager
def running(command: list[str], port: int, folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    """Run a server; yield it when it accepts connections."""
    with (folder / f"log-{port}").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise ChildProcessError((folder / f"log-{port}").read_text())
            time.sleep(0.1)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait(30)
