"""Live visits: `python -m bench.live [--views N] [--clicks N] [--seconds N]`.

Opens pages with live visits of ten accounts on SQLite. Prints the share of a core that the service needs without and
with them, while nothing happens and while links are clicked, and the time from the end of a redirect until its visit
arrives at a page.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import httpx2
import psutil
from sqlalchemy import Connection

from tests.conftest import PASSWORD
from tests.support.live_visits import HOST, LiveStream, Viewer, visit
from tests.support.server import Server, free_port, serving
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops as accounts

_NAMES = [f"user{number}" for number in range(10)]
_CLICK_SECONDS = 0.2  # between two clicks


def _add_account(tx: Connection, name: str) -> str:
    hashed = credentials.hash_password(PASSWORD)
    account = accounts.add(tx, email=f"{name}@example.com", username=name, password=hashed, rate_limit=1_000_000)
    return api_keys.add(tx, account.id, name="first key")


def _processor_seconds(server: Server) -> float:
    main = psutil.Process(server.process.pid)
    total = 0.0
    for process in (main, *main.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _click(server: Server, seconds: float) -> None:
    """Click on the links of all accounts in turn."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        visit(server, f"of-{_NAMES[number % len(_NAMES)]}")
        number += 1
        time.sleep(_CLICK_SECONDS)


def _measure(server: Server, title: str, seconds: float) -> None:
    """Print the share of a core that the service needs while nothing happens, and while links are clicked."""
    shares = []
    for work in (time.sleep, partial(_click, server)):
        before, began = _processor_seconds(server), time.monotonic()
        work(seconds)
        shares.append((_processor_seconds(server) - before) / (time.monotonic() - began))
    print(f"{title}: {shares[0]:.2%} of a core, {shares[1]:.2%} with {1 / _CLICK_SECONDS:.0f} clicks a second")


def _read(stream: LiveStream) -> None:
    with suppress(httpx2.TransportError):  # the service has ended
        for _ in stream.messages():
            pass


def _delays(server: Server, stream: LiveStream, clicks: int) -> Sequence[float]:
    """Return the seconds from the end of each redirect until its visit arrives."""
    delays = []
    for number in range(clicks):
        visit(server, f"of-{_NAMES[0]}")
        answered = time.monotonic()
        stream.visits(1)
        delays.append(time.monotonic() - answered)
        time.sleep(_CLICK_SECONDS * (1 + number % 7 / 7))  # at different moments between two reads
    return delays


def _run(server: Server, views: int, clicks: int, seconds: float) -> None:
    viewers = [Viewer(server, name) for name in _NAMES]
    _measure(server, "no page", seconds)
    with ExitStack() as stack:
        threads = []
        for number in range(views):
            stream = stack.enter_context(viewers[number % len(viewers)].watching("?sort=all"))
            threads.append(threading.Thread(target=_read, args=(stream,), daemon=True))
            threads[-1].start()
        _measure(server, f"{views} pages", seconds)
        with viewers[0].watching("?sort=all") as stream:
            delays = _delays(server, stream, clicks)
        p95 = quantiles(delays, n=20)[-1]
        print(f"{clicks} visits arrive after {median(delays) * 1000:.0f} ms (median), {p95 * 1000:.0f} ms (p95)")
        server.process.terminate()
        for thread in threads:
            thread.join(60)


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", type=int, default=200)
    parser.add_argument("--clicks", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/waypost.db")
        upgrade(database)
        keys = {name: database.write(partial(_add_account, name=name)) for name in _NAMES}
        database.close()
        port = free_port()
        with serving(Path(folder), port=port, base_url=f"http://{HOST}:{port}", forks=False) as server:
            for name, key in keys.items():
                body = {"url": "https://example.com", "custom": f"of-{name}"}
                server.call("POST", "/api/url/add", key=key, json=body).raise_for_status()
            _run(server, options.views, options.clicks, options.seconds)


if __name__ == "__main__":
    main()
