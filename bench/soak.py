"""Memory over time: `python -m bench.soak [--links N] [--minutes M]`.

A worker with a million links in its database and 100,000 of them hot is asked for these at random; its memory and its
ingester's are printed every half minute.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import servers
from bench.redirect import SCRIPT, warm
from bench.seed import alias, fill
from bench.servers import Server
from tests.support.system_packages import require_programs

_HOT = 100_000
_BAR_MIB = 150
_EVERY = 30  # seconds
_DELAY_MS = 4


def main() -> None:
    """Fill, warm, load, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=int, default=10)
    arguments = parser.parse_args()
    require_programs("wrk", "taskset", "pgrep")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        folder = Path(name)
        fill(folder / "data", arguments.links)
        (folder / "names").write_text("\n".join(alias(n) for n in range(1, _HOT + 1)))
        script = folder / "wrk.lua"
        script.write_text(SCRIPT.format(folder=folder, delay=f"function delay() return {_DELAY_MS} end"))
        with servers.waypost(folder / "data") as server, ThreadPoolExecutor(1) as loading:
            _print_memory("at the start", server)
            warm(server, _HOT)
            worker = _print_memory(f"{_HOT:,} links hot", server)
            load = loading.submit(servers.wrk, server.url, arguments.minutes * 60, script=script)
            grown = [_print_memory(f"after {after:g} minutes", server) for after in _halves(arguments.minutes)]
            print(f"{load.result().a_second:,.0f} requests a second, {load.result().other} answers were no redirects")
            print(f"RSS of the worker with {_HOT:,} hot links: {worker:.0f} MiB (bar: {_BAR_MIB})")
            print(f"from the first to the last half minute of the load: {grown[-1] - grown[0]:+.1f} MiB (bar: flat)")


def _halves(minutes: int) -> Iterator[float]:
    for turn in range(1, minutes * 60 // _EVERY + 1):
        time.sleep(_EVERY)
        yield turn * _EVERY / 60


def _print_memory(when: str, server: Server) -> float:
    """Print the memory of the service's processes; MiB of the worker."""
    resident = {pid: _resident(pid) for pid in server.processes()}
    worker = resident.pop(server.answering())
    others = ", ".join(f"{mib:.1f}" for mib in resident.values() if mib)
    print(f"{when:20} worker {worker:.1f} MiB, its ingester and other processes {others} MiB", flush=True)
    return worker


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0.0)


if __name__ == "__main__":
    main()
