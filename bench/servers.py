"""Servers to measure and the load on them, each on a core of its own. Whatever starts here is ended by its own id."""

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

CONNECTIONS = 32
_PATIENCE = 90.0  # seconds
_NGINX = """worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err; daemon off; {main}
events {{ worker_connections 4096; }}
http {{ sendfile on; tcp_nopush on; default_type application/octet-stream;
access_log {folder}/nginx.log combined buffer=64k flush=1s;
server {{ listen 127.0.0.1:{port} backlog=4096; keepalive_requests 1000000000; {server} }} }}
"""


@dataclass
class Server:
    """A running server: its port, and the processes whose time and memory are ours to count."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def processes(self) -> list[int]:
        """Its first process and those that this one started."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [self.process.pid, *(int(pid) for pid in found.stdout.split())]

    def answering(self) -> int:
        """The process that answers: the first one of waypost with one worker, the worker of nginx."""
        first, *others = self.processes()
        return others[0] if Path(f"/proc/{first}/comm").read_text().startswith("nginx") else first

    def processor_seconds(self) -> float:
        """Processor time of the process that answers."""
        stat = Path(f"/proc/{self.answering()}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What a run of wrk saw."""

    answers: int
    a_second: float
    p99_ms: float
    other: int
    """Answers that were neither 2xx nor 3xx."""


def pin(process: int, cores: str) -> None:
    """Keep a process with all its threads on these cores: `0` or `0,1`."""
    subprocess.run(["taskset", "-a", "-cp", cores, str(process)], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def waypost(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`waypost serve` over the data folder `folder`, on the first core, its ingester on the second."""
    port = free_port()
    wanted = {"data_dir": str(folder), "log_level": "warning", "port": str(port), **(settings or {})}
    command = ["taskset", "-c", "0", program(), "serve"]
    with running(command, port, folder, environment(wanted)) as server:
        for pid in server.processes()[1:]:
            pin(pid, "1")
        yield server


@contextlib.contextmanager
def nginx(folder: Path, location: str, main: str = "") -> Iterator[Server]:
    """nginx with one worker on the first core: `location` is what its one site does, `main` goes to the outermost."""
    port = free_port()
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port, server=location, main=main))
    command = ["taskset", "-c", "0", "nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with running(command, port, folder, dict(os.environ)) as server:
        yield server


def wrk(
    url: str, seconds: int, *, script: Path | None = None, headers: Mapping[str, str] | None = None, cores: str = "1"
) -> Load:
    """Ask without pause, or as the script says, with a thread for each of these cores."""
    threads = cores.count(",") + 1
    command = ["taskset", "-c", cores, "wrk", f"-t{threads}", f"-c{CONNECTIONS * threads}", f"-d{seconds}s"]
    command += ["--latency", *(["-s", str(script)] if script else [])]
    command += [part for name, value in (headers or {}).items() for part in ("-H", f"{name}: {value}")]
    return read_wrk(subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout)


def read_wrk(text: str) -> Load:
    """What wrk printed. Ends the process when that is something else."""
    number, unit = (_found(r"99%\s+([\d.]+)(us|ms|s)", text, part) for part in (1, 2))
    p99 = float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    rate = float(_found(r"Requests/sec:\s+([\d.]+)", text))
    return Load(int(_found(r"(\d+) requests in", text)), rate, p99, int(other[1]) if other else 0)


def program() -> str:
    """Where the command `waypost` is."""
    return str(Path(sys.executable).with_name("waypost"))


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment with these settings of waypost and no others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return kept | {f"WAYPOST_{name.upper()}": value for name, value in settings.items()}


def account(folder: Path, *words: str, settings: Mapping[str, str] | None = None) -> str:
    """The key of a new account over that data folder, with further options of `waypost account add`."""
    command = [program(), "account", "add", "--email", "ana@example.com", "--username", "ana", "--json", *words]
    own = environment({"data_dir": str(folder), **(settings or {})})
    return str(json.loads(subprocess.run(command, env=own, capture_output=True, check=True).stdout)["apikey"])


def call(server: Server, key: str, method: str, path: str, body: Any = None) -> Any:
    """The JSON of a call of the API; `body` goes as JSON unless it is bytes."""
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"}
    asked = urllib.request.Request(f"{server.url}/api{path}", data=sent, method=method, headers=headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def status(server: Server, key: str, method: str, path: str, body: bytes | None = None) -> int:
    """The status of an answer, 0 without one."""
    line = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        line.request(method, path, body, {"Authorization": f"Bearer {key}", "User-Agent": "curl/8"})
        answer = line.getresponse()
        answer.read()
    except (OSError, HTTPException):
        return 0
    finally:
        line.close()
    return answer.status


def until(condition: Callable[[], bool]) -> float:
    """Seconds until it is true. Ends the process when it does not become so."""
    began = time.perf_counter()
    while not condition():
        if time.perf_counter() - began > _PATIENCE:
            sys.exit(f"nothing came of it in {_PATIENCE:.0f} s")
        time.sleep(0.002)
    return time.perf_counter() - began


def redirects(server: Server) -> Counter[str]:
    """How many redirects came from the `lane` and how many the `full` way, of all workers together."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.findall(r'^waypost_redirects_total{path="(\w+)"} ([\d.e+]+)', text, re.MULTILINE)
    return Counter({path: round(float(n)) for path, n in found})


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _found(pattern: str, text: str, part: int = 1) -> str:
    found = re.search(pattern, text)
    if found is None:
        sys.exit(f"wrk said something else:\n{text}")
    return found[part]


@contextlib.contextmanager
def running(command: list[str], port: int, folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    """The server, once it accepts connections."""
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
