"""Files beside nginx and dd: `python -m bench.files`. One file up and down, on a disk and on a real S3; then a crowd.

Rounds are interleaved because machines have moods. Everything is in one folder that is removed again; it takes up to
five times the size of the file. The file is in the page cache for both servers, so what is compared is their own work.
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

from bench import servers, tools
from bench.servers import Server
from tests.support.s3 import running_s3

_MIB = 1 << 20
_READERS = 200
_READ = 64 * 1024  # bytes that each of them takes at once
_PAUSE = 0.002  # seconds from one to the next: each takes some 150 KiB a second


@dataclass
class House:
    """A running service with an account that may keep large files."""

    server: Server
    key: str
    peaks: list[float] = field(default_factory=list)

    def memory(self) -> int:
        """Bytes that all its processes hold for themselves."""
        found = [psutil.Process(pid).memory_info() for pid in self.server.processes()]
        return sum(memory.rss - memory.shared for memory in found)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Note by how much its memory grows at most while the block runs, in MiB."""
        before, peak, over = self.memory(), 0, threading.Event()

        def watch() -> None:
            nonlocal peak
            while not over.wait(0.05):
                peak = max(peak, self.memory())

        thread = threading.Thread(target=watch)
        thread.start()
        yield
        over.set()
        thread.join()
        self.peaks.append((peak - before) / _MIB)


def main() -> None:
    """Measure and print; say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2048, help="MiB of the file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("disk", "s3"), help="one kind of storage")
    given = parser.parse_args()
    tools.need("nginx", "wrk", "curl", "dd", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        _fill(folder / "served" / "file", given.size)
        with contextlib.ExitStack() as stack:
            nginx = stack.enter_context(servers.nginx(folder, f"root {folder}/served;", "user root;"))
            if given.only != "s3":
                house = stack.enter_context(_house(folder / "disk", {}))
                _compare("disk", house, folder, nginx, given.rounds)
                _crowd(house, folder, nginx)
            if given.only != "disk":
                bucket = stack.enter_context(running_s3("bench"))
                house = stack.enter_context(_house(folder / "s3", bucket.settings))
                _compare("S3", house, folder, nginx, 1)


def _compare(kind: str, house: House, folder: Path, nginx: Server, rounds: int) -> None:
    """Up and down, in turn with dd and nginx; each copy is deleted before the next one comes."""
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
        send = ["curl", "-sS", "-T", str(source), "-X", "POST", "-H", f"Authorization: Bearer {house.key}"]
        with house.watched():
            times["up"].append(_timed([*send, "-o", str(folder / "made"), f"{house.server.url}/api/files/upload/file"]))
        made = json.loads((folder / "made").read_text())
        fetch = ["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}"]
        for _ in range(2):
            times["nginx"].append(_timed([*fetch, f"{nginx.url}/file"], wanted=str(size)))
            with house.watched():
                path = made["shorturl"].rpartition("/")[2]
                times["down"].append(_timed([*fetch, f"{house.server.url}/{path}"], wanted=str(size)))
        servers.call(house.server, house.key, "DELETE", f"/file/{made['id']}/delete")
        time.sleep(8)  # the bytes are removed within seconds
    speed = {name: size / _MIB / median(taken) for name, taken in times.items()}
    told = ", ".join(f"{name} {rate:,.0f}" for name, rate in speed.items())
    print(f"{kind}, {size / _MIB:,.0f} MiB, MiB/s (medians of {rounds} rounds): {told}")
    if kind == "disk":
        plain, synced = (speed["up"] / speed[name] for name in ("dd", "dd, synced"))
        print(
            f"  upload: {plain:.2f} x dd, {synced:.2f} x dd that syncs as we do (bar: 0.4);"
            f" download: {speed['down'] / speed['nginx']:.2f} x nginx (bar: 0.5)"
        )
    print(f"  memory grew by at most {max(house.peaks):.1f} MiB (bar: 64)")


def _crowd(house: House, folder: Path, nginx: Server) -> None:
    """Redirects alone, beside two hundred slow readers of ours, and beside as many of nginx: what the machine does."""
    content = random.randbytes(64 * _MIB)
    servers.call(house.server, house.key, "POST", "/files/upload/slow?custom=slow", content)
    servers.call(house.server, house.key, "POST", "/url/add", {"url": "https://example.com/", "custom": "hot"})
    ports = {"alone": 0, "beside ours": house.server.port, "beside nginx": nginx.port}
    times: dict[str, list[float]] = {name: [] for name in ports}
    read = 0
    _p99(house, folder)
    for _ in range(3):
        for name, port in ports.items():
            if not port:
                times[name].append(_p99(house, folder))
                continue
            with _readers(port, "/slow" if port == house.server.port else "/file") as progress:
                times[name].append(_p99(house, folder))
                read = progress[0]
    alone, ours, theirs = (median(times[name]) for name in ports)
    print(
        f"redirects' p99: {alone:.2f} ms alone, {ours:.2f} ms beside {_READERS} slow readers of ours (the last took"
        f" {read / _MIB:,.0f} MiB), {theirs:.2f} ms beside as many of nginx: {ours / alone:.2f} x (bar: 2),"
        f" of which the machine {theirs / alone:.2f} x"
    )


@contextlib.contextmanager
def _readers(port: int, path: str) -> Iterator[list[int]]:
    """People who take a little at a time, one after the other, so that they cost the machine an even little."""
    lines, progress, over = [], [0], threading.Event()
    for _ in range(_READERS):
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
        line.connect(("127.0.0.1", port))
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8\r\n\r\n".encode())
        line.setblocking(False)  # noqa: FBT003  # socket's own
        lines.append(line)

    def read() -> None:
        while True:
            for line in lines:
                if over.wait(_PAUSE):
                    return
                with contextlib.suppress(BlockingIOError):
                    progress[0] += len(line.recv(_READ))

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(2)
    yield progress
    over.set()
    thread.join()
    for line in lines:
        line.close()
    time.sleep(1)


def _p99(house: House, folder: Path) -> float:
    """Milliseconds, at a modest load."""
    script = folder / "wrk.lua"
    script.write_text("function delay() return 8 end")
    return servers.wrk(f"{house.server.url}/hot", 5, script=script).p99_ms


def _timed(command: list[str], *, wanted: str = "") -> float:
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    spent = time.monotonic() - began
    if done.returncode or (wanted and done.stdout != wanted):
        sys.exit(f"{command} failed: {done.stdout} {done.stderr}")
    return spent


def _fill(path: Path, size: int) -> None:
    path.parent.mkdir()
    with path.open("wb") as file:
        for _ in range(0, size, 64):
            file.write(random.randbytes(64 * _MIB))
    path.chmod(0o644)


@contextlib.contextmanager
def _house(folder: Path, storage: Mapping[str, str]) -> Iterator[House]:
    folder.mkdir()
    own = servers.environment({"data_dir": str(folder), **storage})
    plan = [servers.program(), "plan", "add", "large", "--upload-limit", str(1 << 40), "--rate-limit", "100000"]
    subprocess.run(plan, env=own, capture_output=True, check=True)
    key = servers.account(folder, "--plan", "large", settings=storage)
    with servers.waypost(folder, storage) as server:
        yield House(server, key)


if __name__ == "__main__":
    main()
