"""Load on a server that may be killed, and a check that nothing acknowledged was lost."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from sqlalchemy import Connection

from tests.support.server import Server
from tests.support.threads import join
from waypost.auth import api_keys
from waypost.items.accounts import ops as accounts

ALIASES = [f"link-{number}" for number in range(8)]
LIMIT = 40
_CLIENTS = 6
_PROGRESS = 300  # redirects between two faults
_PAUSE_SECONDS = 0.01  # between two requests of a client: a fault meets requests, and others get processor time
_TIMEOUT_SECONDS = 60  # longer than a node is stopped: its requests are answered when it resumes


class Load:
    """Visitors in a closed loop, and a client that creates links.

    With `refuses`, the server may respond with 503.
    """

    def __init__(self, *, refuses: bool = False) -> None:
        self._may = {302, 503} if refuses else {302}
        self.redirected: Counter[str] = Counter()
        self.unconfirmed = 0  # requests without a complete response
        self.created: list[str] = []
        self._lock = threading.Lock()

    @contextmanager
    def on(self, server: Server, key: str) -> Iterator[None]:
        """Load a server while the block runs."""
        stopping = threading.Event()
        port = urlsplit(server.url).port
        assert port is not None
        threads = [threading.Thread(target=self._visit, args=(port, stopping)) for _ in range(_CLIENTS)]
        threads.append(threading.Thread(target=self._add, args=(port, key, stopping)))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stopping.set()
            join(*threads)

    def wait_for_progress(self) -> None:
        """Wait until a number of visitors has been redirected."""
        expected = self.redirected.total() + _PROGRESS
        until(lambda: self.redirected.total() >= expected)

    def _visit(self, port: int, stopping: threading.Event) -> None:
        client = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        while not stopping.wait(_PAUSE_SECONDS):
            alias = random.choice([*ALIASES, "limited"])
            try:
                client.connect() if client.sock is None else None
            except OSError:
                stopping.wait(0.02)
                continue
            try:
                client.request("GET", f"/{alias}", headers={"User-Agent": "curl/8.5.0", "Accept": "*/*"})
                response = client.getresponse()
                response.read()
            except (OSError, HTTPException):
                client.close()
                with self._lock:
                    self.unconfirmed += 1
                continue
            assert response.status in (self._may | {410} if alias == "limited" else self._may)
            if response.status == 302:
                with self._lock:
                    self.redirected[alias] += 1
        client.close()

    def _add(self, port: int, key: str, stopping: threading.Event) -> None:
        while not stopping.wait(0.02):
            alias = f"made-{random.getrandbits(64):x}"
            client = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
            try:
                client.request("POST", "/api/url/add", new_link(alias), {"Authorization": f"Bearer {key}"})
                if client.getresponse().status == 200:
                    self.created.append(alias)
            except (OSError, HTTPException):
                continue
            finally:
                client.close()


def new_link(alias: str) -> str:
    """Return the body that creates a link; `limited` has a click limit."""
    limit = f', "clicklimit": {LIMIT}' if alias == "limited" else ""
    return f'{{"url": "https://example.com/{alias}", "custom": "{alias}"{limit}}}'


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition is true. Fail after five minutes: a loaded machine is not a fault."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def add_ana(tx: Connection) -> str:
    """Create an account with a high rate limit; return its API key."""
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ana.id, name="first key")


def check(server: Server, key: str, load: Load) -> None:
    """Check that every redirect was counted, every created link exists, and no click limit was exceeded."""
    counted: Counter[str] = Counter()
    for alias in (*ALIASES, "limited"):
        response = server.call("GET", "/api/urls", key=key, params={"short": alias})
        assert response.status_code == 200, response.text
        listed = response.json()["data"]
        assert listed["uniqueClicks"] <= 1
        counted[alias] = listed["clicks"]
    lost = {alias: n - counted[alias] for alias, n in load.redirected.items() if counted[alias] < n}
    assert lost == {}
    assert counted.total() - load.redirected.total() <= load.unconfirmed
    assert load.redirected["limited"] <= counted["limited"] <= LIMIT
    healthy = {"status": "ok", "database": "ok", "storage": "ok", "clicks_lost": 0, "maintenance": False}
    until(lambda: server.call("GET", "/readyz").json() == healthy)  # the counting process may be behind for a moment
    visits = {alias: server.call("GET", f"/{alias}", follow_redirects=False).status_code for alias in load.created}
    missing = [alias for alias, status in visits.items() if status != 302]
    assert (len(load.created) > 0, missing) == (True, [])
