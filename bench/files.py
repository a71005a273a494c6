"""Files compared to nginx and dd: `python -m bench.files`. Upload and download on disk and S3, then slow clients.

Rounds are interleaved, because the speed of a machine varies. Everything is in one temporary folder of up to five times
the file's size. The file is in the page cache, so only the servers' own work is compared.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from bench import servers
from bench.servers import Server
from tests.support.s3 import running_s3
from tests.support.system_packages import require_programs
from tests.support.threads import join

_MIB = 1 << 20
_READERS = 200
_READ_BYTES = 64 * 1024  # that a slow client reads at a time
_PAUSE = 0.002  # seconds between two clients, so that each reads about 150 KiB per second


@dataclass
class FileServer:
    """A running server, and the API key of an account for large files."""

    server: Server
    key: str
    peaks: list[float] = field(default_factory=list)

    def memory(self) -> int:
        """Return the private memory of all its processes in bytes."""
        processes = [psutil.Process(pid).memory_info() for pid in self.server.processes()]
        return sum(memory.rss - memory.shared for memory in processes)

    @contextlib.contextmanager
    def measure_peak(self) -> Iterator[None]:
        """Record the peak growth of its memory during the block, in MiB."""
        before, peak, stopping = self.memory(), 0, threading.Event()

        def watch() -> None:
            nonlocal peak
            while not stopping.wait(0.05):
                peak = max(peak, self.memory())

        thread = threading.Thread(target=watch)
        thread.start()
        yield
        stopping.set()
        join(thread)
        self.peaks.append((peak - before) / _MIB)


def main() -> None:
    """Measure and print; report missing programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048, help="MiB of the file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("disk", "s3"), help="one kind of storage")
    options = parser.parse_args()
    require_programs("nginx", "wrk", "curl", "dd", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _fill(folder / "served" / "file", options.size)
        with contextlib.ExitStack() as stack:
            nginx = stack.enter_context(servers.nginx(folder, f"root {folder}/served;", "user root;"))
            if options.only != "s3":
                file_server = stack.enter_context(_running_server(folder / "disk", {}))
                _compare("disk", file_server, folder, nginx, options.rounds)
                _crowd(file_server, folder, nginx)
            if options.only != "disk":
                bucket = stack.enter_context(running_s3("bench"))
                file_server = stack.enter_context(_running_server(folder / "s3", bucket.settings))
                _compare("S3", file_server, folder, nginx, 1)


def _compare(kind: str, file_server: FileServer, folder: Path, nginx: Server, rounds: int) -> None:
    """Upload and download, interleaved with dd and nginx. Each copy is deleted before the next."""
    source = folder / "served" / "file"
    size = source.stat().st_size
    times: dict[str, list[float]] = {"up": [], "down": [], "dd": [], "dd, synced": [], "nginx": []}
    for _ in range(rounds):
        for name, sync in (("dd", ()), ("dd, synced", ("conv=fdatasync",))):
            copy = folder / "copy"
            os.sync()
            times[name].append(_timed(["dd", f"if={source}", f"of={copy}", "bs=1M", *sync]))
            copy.unlink()
        os.sync()
        upload = ["curl", "-sS", "-T", str(source), "-X", "POST", "-H", f"Authorization: Bearer {file_server.key}"]
        with file_server.measure_peak():
            times["up"].append(
                _timed([*upload, "-o", str(folder / "response"), f"{file_server.server.url}/api/files/upload/file"])
            )
        uploaded = json.loads((folder / "response").read_text())
        download = ["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}"]
        for _ in range(2):
            times["nginx"].append(_timed([*download, f"{nginx.url}/file"], expected_output=str(size)))
            with file_server.measure_peak():
                path = uploaded["shorturl"].rpartition("/")[2]
                times["down"].append(_timed([*download, f"{file_server.server.url}/{path}"], expected_output=str(size)))
        servers.call(file_server.server, file_server.key, "DELETE", f"/file/{uploaded['id']}/delete")
        time.sleep(8)  # the storage cleaner removes the object within seconds
    speed = {name: size / _MIB / median(durations) for name, durations in times.items()}
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in speed.items())
    print(f"{kind}, {size / _MIB:,.0f} MiB, MiB/s (medians of {rounds} rounds): {rates}")
    if kind == "disk":
        plain, synced = (speed["up"] / speed[name] for name in ("dd", "dd, synced"))
        print(
            f"  upload: {plain:.2f} x dd, {synced:.2f} x dd with fdatasync (bar: 0.4);"
            f" download: {speed['down'] / speed['nginx']:.2f} x nginx (bar: 0.5)"
        )
    print(f"  memory grew by at most {max(file_server.peaks):.1f} MiB (bar: 64)")


def _crowd(file_server: FileServer, folder: Path, nginx: Server) -> None:
    """Redirects alone, with two hundred slow downloads from waypost, and with as many from nginx for comparison."""
    content = random.randbytes(64 * _MIB)
    servers.call(file_server.server, file_server.key, "POST", "/files/upload/slow?custom=slow", content)
    servers.call(
        file_server.server, file_server.key, "POST", "/url/add", {"url": "https://example.com/", "custom": "hot"}
    )
    ports = {"alone": 0, "with waypost's": file_server.server.port, "with nginx's": nginx.port}
    times: dict[str, list[float]] = {name: [] for name in ports}
    received = 0
    _p99(file_server, folder)
    for _ in range(3):
        for name, port in ports.items():
            if not port:
                times[name].append(_p99(file_server, folder))
                continue
            with _readers(port, "/slow" if port == file_server.server.port else "/file") as progress:
                times[name].append(_p99(file_server, folder))
                received = progress[0]
    alone, ours, theirs = (median(times[name]) for name in ports)
    print(
        f"redirects' p99: {alone:.2f} ms alone, {ours:.2f} ms with {_READERS} slow downloads from waypost (one round:"
        f" {received / _MIB:,.0f} MiB), {theirs:.2f} ms with as many from nginx: {ours / alone:.2f} x (bar: 2),"
        f" of which the machine itself {theirs / alone:.2f} x"
    )


@contextlib.contextmanager
def _readers(port: int, path: str) -> Iterator[list[int]]:
    """Clients that read a little in turn, so that they cause an even, low load."""
    connections, progress, stopping = [], [0], threading.Event()
    for _ in range(_READERS):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
        connection.connect(("127.0.0.1", port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8\r\n\r\n".encode())
        connection.setblocking(False)  # noqa: FBT003  # socket's own
        connections.append(connection)

    def read() -> None:
        while True:
            for connection in connections:
                if stopping.wait(_PAUSE):
                    return
                with contextlib.suppress(BlockingIOError):
                    progress[0] += len(connection.recv(_READ_BYTES))

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(2)
    yield progress
    stopping.set()
    join(thread)
    for connection in connections:
        connection.close()
    time.sleep(1)


def _p99(file_server: FileServer, folder: Path) -> float:
    """Return the 99th percentile of redirects in milliseconds, under moderate load."""
    script = folder / "wrk.lua"
    script.write_text("function delay() return 8 end")
    return servers.wrk(f"{file_server.server.url}/hot", 5, script=script).p99_ms


def _timed(command: list[str], *, expected_output: str = "") -> float:
    started = time.monotonic()
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    spent = time.monotonic() - started
    if completed.returncode or (expected_output and completed.stdout != expected_output):
        sys.exit(f"{command} failed: {completed.stdout} {completed.stderr}")
    return spent


def _fill(path: Path, size: int) -> None:
    path.parent.mkdir()
    with path.open("wb") as file:
        for _ in range(0, size, 64):
            file.write(random.randbytes(64 * _MIB))
    path.chmod(0o644)


@contextlib.contextmanager
def _running_server(folder: Path, storage: Mapping[str, str]) -> Iterator[FileServer]:
    folder.mkdir()
    environment = servers.environment({"data_dir": str(folder), **storage})
    plan = [servers.program(), "plan", "add", "large", "--upload-limit", str(1 << 40), "--rate-limit", "100000"]
    subprocess.run(plan, env=environment, capture_output=True, check=True)
    key = servers.account(folder, "--plan", "large", settings=storage)
    with servers.waypost(folder, storage) as server:
        yield FileServer(server, key)


if __name__ == "__main__":
    main()
