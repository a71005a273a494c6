"""Redirects beside nginx: `python -m bench.redirect`. Ours journals and counts each click; nginx logs each access.

Both are pinned to one core in turn, the load (wrk, with a browser's headers, over 20,000 names) runs on the other.
Rounds are interleaved because machines have moods. Afterwards the clicks are counted and held against the answers.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import tools
from bench.filling import alias, fill

NAMES = 20_000
CONNECTIONS = 32
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.9,de;q=0.8",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Referer": "https://news.example.org/2026/11/a-story",
    "Cache-Control": "max-age=0",
    "Upgrade-Insecure-Requests": "1",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-User": "?1",
    "Sec-CH-UA": "Chromium;v=142, Google Chrome;v=142",
    "Sec-CH-UA-Mobile": "?0",
    "Sec-CH-UA-Platform": "Windows",
}
_NGINX = """worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err; daemon off;
events {{ worker_connections 4096; }}
http {{ access_log {folder}/nginx.log combined buffer=64k flush=1s;
server {{ listen 127.0.0.1:{port} backlog=4096; keepalive_requests 1000000000;
location / {{ add_header Cache-Control "private, no-store"; return 302 https://example.com/landing/page; }} }} }}
"""
_WRK = """names = {{}}
for line in io.lines("{folder}/names") do names[#names + 1] = line end
requests = {{}}
function init()
  math.randomseed(os.time())
  for i, name in ipairs(names) do requests[i] = wrk.format("GET", "/" .. name) end
end
function request() return requests[math.random(#requests)] end
{delay}
"""


@dataclass
class Server:
    """A running server: its port, and the processes whose time is ours to count."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def children(self) -> list[int]:
        """Processes that it started."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def processor_seconds(self) -> float:
        """Processor time of the process that answers (nginx: its worker)."""
        pid = self.process.pid
        nginx = Path(f"/proc/{pid}/comm").read_text().startswith("nginx")
        stat = Path(f"/proc/{self.children()[0] if nginx else pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What a run of wrk saw."""

    answers: int
    a_second: float
    p99_ms: float
    failed: int


def main() -> None:
    """Measure and print; say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--sustained", type=int, default=60, help="seconds with the ingester on the same core")
    parser.add_argument(
        "--links", type=int, default=NAMES, help="links in the database; the first 20,000 are asked for"
    )
    given = parser.parse_args()
    tools.need("nginx", "wrk", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        filled = fill(folder / "data", max(given.links, NAMES))
        (folder / "names").write_text("\n".join(alias(n) for n in range(1, NAMES + 1)))
        ours = stack.enter_context(_waypost(folder))
        nginx = stack.enter_context(_nginx(folder))
        _warm(ours)
        before = _clicks(ours, filled.key)
        answered = _burst(folder, ours, nginx, given.rounds, given.seconds)
        _clicks(ours, filled.key)  # all counted: what is compared is the load that is offered, not what is left of it
        answered += _latency(folder, ours, nginx, given.seconds)
        answered += _sustained(folder, ours, nginx, given.sustained)
        _count(ours, filled.key, before, answered)


def _burst(folder: Path, ours: Server, nginx: Server, rounds: int, seconds: int) -> int:
    """Interleaved rounds on one core, with our ingester on the other core's time."""
    rates: dict[str, list[float]] = {"ours": [], "nginx": []}
    costs: dict[str, list[float]] = {"ours": [], "nginx": []}
    answers = 0
    for turn in range(rounds):
        for who, server in (("ours", ours), ("nginx", nginx)) if turn % 2 else (("nginx", nginx), ("ours", ours)):
            spent = server.processor_seconds()
            load = _load(folder, server, seconds)
            costs[who].append((server.processor_seconds() - spent) / load.answers * 1e6)
            rates[who].append(load.a_second)
            answers += load.answers if who == "ours" else 0
    _told("burst, requests a second on one core", median(rates["ours"]), median(rates["nginx"]), "at least 0.60")
    ratio = median(costs["nginx"]) / median(costs["ours"])
    print(
        f"  processor time a request: ours {median(costs['ours']):.2f} us, nginx {median(costs['nginx']):.2f} us,"
        f" so {ratio:.2f} x by that measure, which other work on the machine does not move"
    )
    return answers


def _latency(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """The 99th percentile at an equal offered load: every connection waits between its requests."""
    times: dict[str, list[float]] = {"ours": [], "nginx": []}
    answers, rate = 0, 0.0
    for _ in range(3):
        for who, server in (("ours", ours), ("nginx", nginx)):
            load = _load(folder, server, seconds, delay_ms=8)
            times[who].append(load.p99_ms)
            if who == "ours":
                answers, rate = answers + load.answers, load.a_second
    ours_ms, nginx_ms = median(times["ours"]), median(times["nginx"])
    print(
        f"p99 at {rate:,.0f} requests a second: ours {ours_ms:.2f} ms, nginx {nginx_ms:.2f} ms,"
        f" {ours_ms / nginx_ms:.2f} x (bar: at most 2)"
    )
    return answers


def _sustained(folder: Path, ours: Server, nginx: Server, seconds: int) -> int:
    """A long run with the ingester on the same core as the worker."""
    for pid in ours.children():
        subprocess.run(["taskset", "-a", "-cp", "0", str(pid)], check=True, stdout=subprocess.DEVNULL)
    load = _load(folder, ours, seconds)
    beside = _load(folder, nginx, max(5, seconds // 6))
    _told(f"{seconds} s with the ingester on the same core", load.a_second, beside.a_second, "at least 0.35")
    return load.answers


def _count(ours: Server, key: str, before: int, answered: int) -> None:
    began = time.monotonic()
    counted = _clicks(ours, key) - before
    print(
        f"answered {answered:,}, counted {counted:,} ({time.monotonic() - began:.1f} s after the last answer);"
        f" wrk leaves up to {CONNECTIONS} answers a run unread when it stops"
    )
    runs = 64
    if not answered <= counted <= answered + runs * CONNECTIONS:
        sys.exit("clicks and answers differ")


def _told(what: str, ours: float, nginx: float, bar: str) -> None:
    print(f"{what}: ours {ours:,.0f}, nginx {nginx:,.0f}, {ours / nginx:.2f} x (bar: {bar})")


def _load(folder: Path, server: Server, seconds: int, delay_ms: int = 0) -> Load:
    """Run wrk on the second core."""
    delay = f"function delay() return {delay_ms} end" if delay_ms else ""
    (folder / "wrk.lua").write_text(_WRK.format(folder=folder, delay=delay))
    headers = [part for name, value in _HEADERS.items() for part in ("-H", f"{name}: {value}")]
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    done = subprocess.run(
        [*command, "-s", str(folder / "wrk.lua"), *headers, server.url], capture_output=True, text=True, check=True
    )
    text = done.stdout
    answers = int(_found(r"(\d+) requests in", text))
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]  # wrk always says it
    failed = int(_found(r"Non-2xx or 3xx responses: (\d+)", text, "0"))
    p99 = float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    if failed:
        sys.exit(f"{failed} answers were no redirects")
    return Load(answers, float(_found(r"Requests/sec:\s+([\d.]+)", text)), p99, failed)


def _found(pattern: str, text: str, otherwise: str | None = None) -> str:
    found = re.search(pattern, text)
    if found is None and otherwise is None:
        sys.exit(f"wrk said something else:\n{text}")
    return found[1] if found else otherwise or ""


def _warm(server: Server) -> None:
    """Ask for every name once, so that all are hot."""
    for n in range(1, NAMES + 1):
        with urllib.request.build_opener(_Stay).open(f"{server.url}/{alias(n)}") as answer:
            answer.read()


class _Stay(urllib.request.HTTPRedirectHandler):
    def http_error_302(self, *given: object) -> object:
        return given[1]


def _clicks(server: Server, key: str) -> int:
    request = urllib.request.Request(f"{server.url}/api/stats", headers={"Authorization": f"Bearer {key}"})
    for _ in range(60):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(json.load(answer)["data"]["total"]["clicks"])
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(1)  # the ingester is still counting
    sys.exit("the clicks were not counted in time")


@contextlib.contextmanager
def _waypost(folder: Path) -> Iterator[Server]:
    port = _free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment |= {"WAYPOST_DATA_DIR": str(folder / "data"), "WAYPOST_LOG_LEVEL": "warning", "WAYPOST_PORT": str(port)}
    command = ["taskset", "-c", "0", str(Path(sys.executable).parent / "waypost"), "serve"]
    with _running(command, port, folder, environment) as server:
        for pid in server.children():
            subprocess.run(["taskset", "-a", "-cp", "1", str(pid)], check=True, stdout=subprocess.DEVNULL)
        yield server


@contextlib.contextmanager
def _nginx(folder: Path) -> Iterator[Server]:
    port = _free_port()
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port))
    command = ["taskset", "-c", "0", "nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _running(command, port, folder, dict(os.environ)) as server:
        yield server


@contextlib.contextmanager
def _running(command: list[str], port: int, folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    """The server, once it accepts connections; ended by its own id."""
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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


if __name__ == "__main__":
    main()
