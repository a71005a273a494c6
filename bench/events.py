"""Webhooks under load: `python -m bench.events [--rounds N] [--seconds N] [--endpoints N] [--hanging N]`.

The first part sends visits and changes at a fixed rate, in turns with three endpoints that get all of them and without
endpoints, and prints the 99th percentile of redirects. The goal is at most 1.1 times that without endpoints. The second
part has many endpoints of which some never answer, and prints the time from a change until the others have it. The goal
is a 99th percentile of 2 s. Exits with the number of missed goals.

Redirects have the first core; the ingester with the sender, the receivers and the load share the second. The load goes
first there, as if it had a machine of its own: otherwise it measures its own waiting. So it needs root.
"""

import argparse
import contextlib
import json
import multiprocessing
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median, quantiles

from sqlalchemy import Connection

from bench import servers
from tests.support.fake_internet import empty
from tests.support.system_packages import require_programs
from tests.support.threads import join
from waypost.admin.new_accounts import create_account
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops as accounts
from waypost.items.channels import ops as channels
from waypost.webhooks import endpoints

_EVENTS, _CHANGES = 1000, 20
"""Events a second, and those of them that are changes. The others are visits."""
_RATIO, _DELIVERY_SECONDS = 1.1, 2.0
_PER_ACCOUNT = endpoints.MAX_ENDPOINTS
_CHANGES_OF_MANY = 10
"""Changes a second of the second part: each is for all endpoints of an account."""
_NEVER = ["webhook.created"]
"""A selection of no event that happens here."""
_SELECTION_SECONDS = 1.5  # until a selection of visits is effective
_SETTLING_SECONDS = 10.0  # until the last message has arrived
_UNLIMITED = 1_000_000_000
_PACED = """
function delay() return %d end
wrk.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36"
"""


class _Receiver(socketserver.ThreadingTCPServer):
    """Answers 204, except to the path `/hang`. Sends the time, the path and the body of each request to a pipe."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, received: Pipe) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received = received
        self.lock = threading.Lock()
        self.never = threading.Event()


class _Handler(socketserver.BaseRequestHandler):
    server: _Receiver

    def handle(self) -> None:
        with contextlib.suppress(OSError), self.request.makefile("rb") as stream:
            path, length = stream.readline().split()[1].decode(), 0
            while (line := stream.readline().rstrip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            body = stream.read(length).decode()
            if path == "/hang":
                self.server.never.wait(60)
                return
            with self.server.lock:
                self.server.received.send((time.time(), path, body))
            self.request.sendall(empty(204))


def _receive(port: Pipe, received: Pipe) -> None:
    """Run a receiver: the body of a process."""
    with _Receiver(received) as server:
        port.send(server.server_address[1])
        server.serve_forever()


@contextlib.contextmanager
def _receiving() -> Iterator[tuple[int, Pipe]]:
    """Run a receiver on the second core. Yield its port, and the pipe of what it gets."""
    context = multiprocessing.get_context("spawn")
    port, other = context.Pipe(duplex=False)
    received, sent = context.Pipe(duplex=False)
    process = context.Process(target=_receive, args=(other, sent), daemon=True)
    process.start()
    assert process.pid is not None
    servers.pin(process.pid, "1")
    try:
        yield port.recv(), received
    finally:
        process.kill()
        process.join(30)


class Received:
    """The number of visits that a receiver has got, and the time of each message of a change by path and label."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.visits = self.messages = 0
        self.times: dict[tuple[str, str], float] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                at, path, body = self._pipe.recv()
                data = json.loads(body)["data"]
                self.messages += 1
                self.visits += len(data.get("visits", ()))
                self.times.setdefault((path, data.get("label", "")), at)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns with endpoints, and as many without")
    parser.add_argument("--seconds", type=int, default=10, help="of a turn; the second part takes three times as long")
    parser.add_argument("--changes", type=int, default=_CHANGES, help="changes a second (default: %(default)s)")
    parser.add_argument("--endpoints", type=int, default=1000)
    parser.add_argument("--hanging", type=int, default=100)
    options = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        missed = int(_redirects(Path(name), options.rounds, options.seconds, options.changes))
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        missed += _deliveries(Path(name), options.endpoints, options.hanging, 3 * options.seconds)
    sys.exit(missed)


def _redirects(folder: Path, rounds: int, seconds: int, changes: int) -> bool:
    """Compare redirects with and without endpoints. Return whether the goal is missed."""
    with contextlib.closing(Database(Settings(data_dir=folder).database)) as database:
        upgrade(database)
        key = create_account(database, email="ana@example.com", username="ana", rate_limit=_UNLIMITED).apikey
    script = folder / "paced.lua"
    script.write_text(_PACED % (servers.CONNECTIONS * 1000 // (_EVENTS - changes)))
    results: dict[bool, list[float]] = {False: [], True: []}
    with _receiving() as (port, pipe), servers.waypost(folder, {"webhook_hosts": f"127.0.0.1:{port}"}) as server:
        received, call = Received(pipe), partial(servers.call, server, key)
        link = call("POST", "/url/add", {"url": "https://example.com/", "custom": "hot"})["id"]
        channel = int(call("POST", "/channel/add", {"name": "News"})["id"])
        urls = [f"http://127.0.0.1:{port}/{number}" for number in range(3)]
        hooks = [int(call("POST", "/webhook/add", {"url": url, "events": _NEVER})["id"]) for url in urls]
        for number in range(2 * rounds + 2):
            is_on = number % 2 == 1
            for hook in hooks:
                call("PUT", f"/webhook/{hook}/update", {"events": ["*", "link.clicked"] if is_on else _NEVER})
            time.sleep(_SELECTION_SECONDS)
            with _changing(partial(_rename, call, channel), changes):
                load = servers.wrk(f"{server.url}/hot", seconds, script=script, goes_first=True)
            if number > 1:  # the first ones warm up
                results[is_on].append(load.p99_ms)
            print(f"{3 * is_on} endpoints: {load.a_second:.0f} visits a second, p99 {load.p99_ms:.2f} ms", flush=True)
        clicks = servers.call_counted(server, key, f"/url/{link}")["data"]["clicks"]
        time.sleep(_SETTLING_SECONDS)
    print(f"{clicks:,} clicks; receivers got {received.visits:,} visits in {received.messages:,} messages")
    ratios = [on / off for on, off in zip(results[True], results[False], strict=True)]
    print(
        f"p99 of redirects: {median(results[False]):.2f} ms without endpoints, {median(results[True]):.2f} ms with 3;"
    )
    print(f"  ratios {', '.join(f'{each:.2f}' for each in ratios)}; median {median(ratios):.2f} (goal {_RATIO})")
    return median(ratios) > _RATIO


def _rename(call: Callable[..., object], channel: int, number: int) -> None:
    call("PUT", f"/channel/{channel}/update", {"name": f"News {number}"})


@contextlib.contextmanager
def _changing(change: Callable[[int], None], a_second: float) -> Iterator[None]:
    """Make changes at a fixed rate while the block runs. `change` gets their number."""
    stop = threading.Event()

    def run() -> None:
        start, number = time.monotonic(), 0
        while not stop.wait(max(0.0, start + number / a_second - time.monotonic())):
            change(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        join(thread)


def _deliveries(folder: Path, count: int, hanging: int, seconds: int) -> bool:
    """Measure deliveries next to endpoints that hang. Return whether the goal is missed."""
    written: dict[str, tuple[int, float]] = {}
    with _receiving() as (port, pipe), contextlib.closing(Database(Settings(data_dir=folder).database)) as database:
        upgrade(database)
        hosts, hangs = f"127.0.0.1:{port}", count // hanging
        settings = Settings(data_dir=folder, webhook_hosts=hosts)
        add = partial(_add_account, settings=settings, url=f"http://127.0.0.1:{port}", hangs=hangs)
        owners = [database.write(partial(add, number=number)) for number in range(count // _PER_ACCOUNT)]

        def change(number: int) -> None:
            owner, name = owners[number % len(owners)], f"Channel {number}"
            database.write(partial(channels.add, account=owner, name=name))
            written[name] = (owner, time.time())

        with servers.waypost(folder, {"webhook_hosts": hosts}):
            received = Received(pipe)
            with _changing(change, _CHANGES_OF_MANY):
                time.sleep(seconds)
            time.sleep(_SETTLING_SECONDS)
    delays = [at - written[label][1] for (_, label), at in received.times.items()]
    expected = len(written) * (_PER_ACCOUNT - _PER_ACCOUNT // hangs)
    p99 = quantiles(delays, n=100)[-1]
    print(
        f"{count:,} endpoints of which {hanging} hang: {len(delays):,} of {expected:,} messages for the others arrived,"
    )
    print(f"  after {median(delays):.2f} s, {p99:.2f} s (p99, goal {_DELIVERY_SECONDS}), at most {max(delays):.2f} s")
    return len(delays) < expected or p99 > _DELIVERY_SECONDS


def _add_account(tx: Connection, *, number: int, settings: Settings, url: str, hangs: int) -> int:
    """Create an account with endpoints for changes of channels. Every `hangs`-th one never answers."""
    name = f"user{number}"
    owner = accounts.add(tx, email=f"{name}@example.com", username=name, password="*").id
    for place in range(_PER_ACCOUNT):
        path = "hang" if place % hangs == 0 else f"{owner}-{place}"
        endpoints.add(tx, owner, settings=settings, url=f"{url}/{path}", events=["channel.*"])
    return owner


if __name__ == "__main__":
    main()
