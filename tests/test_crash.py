"""Whatever is killed under load: every click that was answered is counted, every write that was promised is there."""

import itertools
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection

from tests.serving import Server, processes, serving
from waypost.accounts import keys
from waypost.accounts import ops as accounts
from waypost.db import Database

ALIASES = [f"link-{number}" for number in range(8)]
LIMIT = 40
_CLIENTS = 6
_PROGRESS = 300  # answers between two kills


class Load:
    """Visitors that come as fast as they are answered, and somebody who makes links."""

    def __init__(self) -> None:
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
            for thread in threads:
                thread.join()

    def wait_for_progress(self) -> None:
        """Wait until visitors have been answered for a while."""
        wanted = self.answered.total() + _PROGRESS
        _until(lambda: self.answered.total() >= wanted)

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
                answer = client.getresponse()
                answer.read()
            except (OSError, HTTPException):
                client.close()
                with self._lock:
                    self.doubtful += 1
                continue
            assert answer.status in ((302, 410) if alias == "limited" else (302,))
            if answer.status == 302:
                with self._lock:
                    self.answered[alias] += 1
        client.close()

    def _add(self, port: int, key: str, over: threading.Event) -> None:
        while not over.wait(0.02):
            alias = f"made-{random.getrandbits(64):x}"
            client = HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                client.request("POST", "/api/url/add", _new(alias), {"Authorization": f"Bearer {key}"})
                if client.getresponse().status == 200:
                    self.promised.append(alias)
            except (OSError, HTTPException):
                continue
            finally:
                client.close()


def _new(alias: str) -> str:
    limit = f', "clicklimit": {LIMIT}' if alias == "limited" else ""
    return f'{{"url": "https://example.com/{alias}", "custom": "{alias}"{limit}}}'


def _add_ana(tx: Connection) -> str:
    ana = accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return keys.add(tx, ana.id, name="first key")


def _kill(server: Server, what: str) -> None:
    """SIGKILL to one worker, to the ingester, to the parent alone, or to all there is."""
    if what == "everything":
        os.killpg(server.process.pid, signal.SIGKILL)
    elif what == "parent":
        server.process.kill()
    else:
        place = ("worker", "ingester").index(what)
        _until(lambda: processes(server)[place])
        random.choice(processes(server)[place]).kill()
        return
    server.process.wait()
    _until(lambda: not _listens(server))  # so that it can be started again


def _listens(server: Server) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(server.url).port)) == 0


def _until(condition: Callable[[], object]) -> None:
    """Wait for what must come true soon."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _check(server: Server, key: str, load: Load) -> None:
    counted: Counter[str] = Counter()
    for alias in (*ALIASES, "limited"):
        data = server.call("GET", "/api/urls", key=key, params={"short": alias}).json()["data"]
        assert data["uniqueClicks"] <= 1
        counted[alias] = data["clicks"]
    lost = {alias: n - counted[alias] for alias, n in load.answered.items() if counted[alias] < n}
    assert lost == {}
    assert counted.total() - load.answered.total() <= load.doubtful
    assert load.answered["limited"] <= counted["limited"] <= LIMIT
    kept = {"status": "ok", "database": "ok", "clicks_lost": 0}
    assert server.call("GET", "/readyz").json() == kept
    visits = {alias: server.call("GET", f"/{alias}", follow_redirects=False).status_code for alias in load.promised}
    missing = [alias for alias, status in visits.items() if status != 302]
    assert (len(load.promised) > 0, missing) == (True, [])


def _rounds(kills: int) -> list[list[str]]:
    """So many kills, by the lives of a server: each ends with one that it does not survive."""
    single = itertools.cycle(("worker", "ingester", "worker"))
    ends = itertools.cycle(("everything", "parent"))
    lives: list[list[str]] = []
    while kills > 0:
        lives.append([*itertools.islice(single, min(4, kills) - 1), next(ends)])
        kills -= len(lives[-1])
    return lives


@pytest.mark.parametrize(
    ("database_url", "rounds"),
    [
        ("sqlite", _rounds(20)),
        ("postgresql", _rounds(6)),
    ],
    indirect=["database_url"],
)
def test_no_answered_click_and_no_promised_write_is_lost_by_a_kill(
    database: Database, database_url: str, tmp_path: Path, rounds: list[list[str]]
) -> None:
    key = database.write(_add_ana)
    folder, load = tmp_path / "node", Load()
    for number, kills in enumerate(rounds):
        with serving(folder, database_url=database_url, workers=2) as server:
            for alias in (*ALIASES, "limited") if not number else ():
                assert server.call("POST", "/api/url/add", key=key, content=_new(alias)).status_code == 200
            with load.on(server, key):
                for what in kills:
                    load.wait_for_progress()
                    _kill(server, what)
    with serving(folder, database_url=database_url, workers=2) as server:
        _check(server, key, load)
        with load.on(server, key):
            load.wait_for_progress()
        _check(server, key, load)
        assert "Traceback" not in server.output()
    assert not list((folder / "journal").glob("*.log"))
