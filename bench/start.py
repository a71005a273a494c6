"""Time and memory of starts: commands, and `serve` until it is ready: `python -m bench.start`.

All rows take turns, so that a busy machine slows all of them. The multiples are of `python -c pass`.
"""

import argparse
import contextlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from bench.servers import environment, free_port, program
from waypost.admin.new_accounts import create_account
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_WORKERS = 2
_MIB = 1024 * 1024
_TIMEOUT = 60.0  # seconds
# A process of its own, because a child inherits the peak memory of the process that starts it.
_LAUNCHER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
start = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet), 0)
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Start:
    """One start: seconds until the end or until ready, seconds of processor time, and peak memory.

    For `serve`, the processor time is that of all processes, and the peak that of the main process.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Row:
    """A row of the table. `bar` is in seconds; None for the comparisons."""

    name: str
    measure: Callable[[], Start]
    bar: float | None = None


def main() -> None:
    """Print the table and the memory of the service; exit with the number of rows above their bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _create_installation(folder)
        service = _Service(folder)
        rows = _rows(folder, service)
        for row in rows:
            row.measure()  # compiles modules and fills the page cache
        starts: dict[str, list[Start]] = {row.name: [] for row in rows}
        for _ in range(options.rounds):
            for row in rows:
                starts[row.name].append(row.measure())
    above = _print_table(rows, starts)
    for process, memory in service.memory.items():
        print(f"memory of {process}: {memory}")
    sys.exit(above)


def _rows(folder: Path, service: "_Service") -> list[Row]:
    def command(*words: str) -> Callable[[], Start]:
        return lambda: _run([program(), *words], folder)

    def python(code: str) -> Callable[[], Start]:
        return lambda: _run([sys.executable, "-c", code], folder)

    return [
        Row("python -c pass", python("pass")),
        Row("import fastapi, sqlalchemy", python("import fastapi, sqlalchemy")),
        Row("waypost version", command("version"), 0.4),
        Row("waypost --version", command("--version"), 0.4),
        Row("waypost --help", command("--help"), 0.4),
        Row("waypost account list", command("account", "list"), 1.0),
        Row(f"waypost serve, {_WORKERS} workers", service.measure, 1.5),
    ]


def _create_installation(folder: Path) -> None:
    settings = Settings(data_dir=folder)
    with contextlib.closing(Database(settings.database)) as database:
        upgrade(database)
        create_account(database, email="ana@example.com", username="ana")


def _run(command: Sequence[str], folder: Path) -> Start:
    """Run a command until it ends."""
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command]
    process = subprocess.run(launcher, env=environment({"data_dir": str(folder)}), capture_output=True, check=False)
    seconds, processor_seconds, peak, code = process.stdout.split()
    if int(code):
        sys.exit(f"{' '.join(command)} ended with code {int(code)}")
    return Start(float(seconds), float(processor_seconds), int(peak) * 1024)


class _Service:
    """Starts `waypost serve`, and keeps the memory of its processes at the last start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.memory: dict[str, str] = {}

    def measure(self) -> Start:
        """Return the time until /readyz answers 200."""
        port = free_port()
        settings = {"data_dir": str(self._folder), "port": str(port), "workers": str(_WORKERS), "log_level": "warning"}
        start = time.perf_counter()
        process = subprocess.Popen([program(), "serve"], env=environment(settings), stderr=subprocess.DEVNULL)
        try:
            while not _is_ready(port):
                if process.poll() is not None or time.perf_counter() - start > _TIMEOUT:
                    sys.exit("waypost serve did not become ready")
                time.sleep(0.01)
            seconds = time.perf_counter() - start
            peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            processes = [psutil.Process(process.pid), *psutil.Process(process.pid).children()]
            processor_seconds = sum(sum(each.cpu_times()[:2]) for each in processes)
            self.memory = _memory(processes)
        finally:
            process.terminate()
            process.wait(_TIMEOUT)
        return Start(seconds, processor_seconds, int(peak[1]) * 1024 if peak else 0)


def _is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _memory(processes: Sequence[psutil.Process]) -> dict[str, str]:
    """Return the memory of the main process, the ingester and the workers. PSS divides shared pages among them."""
    names = ("main process", "ingester", *(f"worker {number}" for number in range(1, _WORKERS + 1)))
    memory = {name: process.memory_full_info() for name, process in zip(names, processes, strict=True)}
    described = {
        name: f"{used.rss / _MIB:.0f} MiB RSS, {used.pss / _MIB:.0f} MiB PSS, {used.uss / _MIB:.0f} MiB of its own"
        for name, used in memory.items()
    }
    return {**described, "all": f"{sum(used.pss for used in memory.values()) / _MIB:.0f} MiB PSS"}


def _print_table(rows: Sequence[Row], starts: dict[str, list[Start]]) -> int:
    """Print the medians. Return the number of rows above their bar."""
    seconds = {row.name: statistics.median(start.seconds for start in starts[row.name]) for row in rows}
    bare, above = seconds[rows[0].name], 0
    print(f"{'':28} {'seconds':>8} {'x bare':>7} {'processor':>10} {'peak MiB':>9} {'bar':>5}")
    for row in rows:
        is_above = row.bar is not None and seconds[row.name] > row.bar
        above += is_above
        peak = statistics.median(start.peak_bytes for start in starts[row.name]) / _MIB
        processor = statistics.median(start.processor_seconds for start in starts[row.name])
        bar = f"{'' if row.bar is None else row.bar:>5}{' above' if is_above else ''}"
        multiple = seconds[row.name] / bare
        print(f"{row.name:28} {seconds[row.name]:8.3f} {multiple:7.1f} {processor:10.3f} {peak:9.0f} {bar}")
    return above


if __name__ == "__main__":
    main()
