"""Load on a server that may die under it, and whether afterwards all is there that was promised."""

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
from waypost.accounts import ops as accounts
from waypost.auth import api_keys

ALIASES = [f"link-{number}" for number in range(8)]
LIMIT = 40
_CLIENTS = 6
_PROGRESS = 300  # answers between two faults


class Load:
    """Visitors in a closed loop, and a client that creates links.

    `refuses`: the server may say for a while that it is not available.
    """

    def __init__(self, *, refuses: bool = False) -> None:
        self._may = {302, 503} if refuses else {302}
        self.answered: Counter[str] = Counter()
        self.doubtful = 0  # requests that were sent and whose answer was not read whole
        self.promised: list[str] = []
        self._lock = threading.Lock()

    @contextmanager
    def on(self, server: Server, key: str) -> Iterator[None]:
        """Load a server while the block runs."""
        over = threading.Event()
        port = urlsplit(server.url).port
        assert port is not None
        threads = [threading.Thread(target=self._visit, args=(port, over)) for _ in range(_CLIENTS)]
        threads.append(threading.Thread(target=self._add, args=(port, key, over)))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            join(*threads)

    def wait_for_progress(self) -> None:
        """Wait until visitors have been answered for a while."""
        expected = self.answered.total() + _PROGRESS
        until(lambda: self.answered.total() >= expected)

    def _visit(self, port: int, over: threading.Event) -> None:
        client = HTTPConnection("127.0.0.1", port, timeout=20)
        while not over.is_set():
            alias = random.choice([*ALIASES, "limited"])
            try:
                client.connect() if client.sock is None else None
            except OSError:
                over.wait(0.02)
                continue
            try:
                client.request("GET", f"/{alias}", headers={"User-Agent": "curl/8.5.0", "Accept": "*/*"})
                response = client.getresponse()
                response.read()
            except (OSError, HTTPException):
                client.close()
                with self._lock:
                    self.doubtful += 1
                continue
            assert response.status in (self._may | {410} if alias == "limited" else self._may)
            if response.status == 302:
                with self._lock:
                    self.answered[alias] += 1
        client.close()

    def _add(self, port: int, key: str, over: threading.Event) -> None:
        while not over.wait(0.02):
            alias = f"made-{random.getrandbits(64):x}"
            client = HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                client.request("POST", "/api/url/add", new_link(alias), {"Authorization": f"Bearer {key}"})
                if client.getresponse().status == 200:
                    self.promised.append(alias)
            except (OSError, HTTPException):
                continue
            finally:
                client.close()


def new_link(alias: str) -> str:
    """The body of a call that makes a link; `limited` is good for so many clicks."""
    limit = f', "clicklimit": {LIMIT}' if alias == "limited" else ""
    return f'{{"url": "https://example.com/{alias}", "custom": "{alias}"{limit}}}'


def until(condition: Callable[[], object]) -> None:
    """Wait for what must come true soon."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def add_ana(tx: Connection) -> str:
    """The key of an account that may ask as often as it likes."""
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, ana.id, name="first key")


def check(server: Server, key: str, load: Load) -> None:
    """Every answered click is counted, every promised link is there, and no limit was passed."""
    counted: Counter[str] = Counter()
    for alias in (*ALIASES, "limited"):
        response = server.call("GET", "/api/urls", key=key, params={"short": alias})
        assert response.status_code == 200, response.text
        listed = response.json()["data"]
        assert listed["uniqueClicks"] <= 1
        counted[alias] = listed["clicks"]
    lost = {alias: n - counted[alias] for alias, n in load.answered.items() if counted[alias] < n}
    assert lost == {}
    assert counted.total() - load.answered.total() <= load.doubtful
    assert load.answered["limited"] <= counted["limited"] <= LIMIT
    healthy = {"status": "ok", "database": "ok", "clicks_lost": 0}
    assert server.call("GET", "/readyz").json() == healthy
    visits = {alias: server.call("GET", f"/{alias}", follow_redirects=False).status_code for alias in load.promised}
    missing = [alias for alias, status in visits.items() if status != 302]
    assert (len(load.promised) > 0, missing) == (True, [])
