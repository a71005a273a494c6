"""Files on a real service with two workers, on a disk and on a real S3: crowds, kills, broken lines, slow people."""

import base64
import hashlib
import json
import os
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from sqlalchemy import select, update

from tests.s3 import Bucket, running_s3
from tests.serving import Server, at_once, serving
from waypost import schema
from waypost.accounts import keys
from waypost.accounts import ops as accounts
from waypost.db import Database
from waypost.files.keeping import Keeper
from waypost.settings import Settings
from waypost.storage.opening import open_store
from waypost.upgrade import upgrade

CONTENT = os.urandom(100_000)
BIG = os.urandom(24 * 1024 * 1024)  # several parts of an object, several steps of a claim
_LIMIT = 32 * 1024 * 1024
_SLOW = 2


class House:
    """A running service, the one account in it, and what lies in its storage."""

    def __init__(self, folder: Path, key: str, bucket: Bucket | None) -> None:
        self.folder = folder
        self.key = key
        self.bucket = bucket
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        assert self._server is not None
        return self._server

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", urlsplit(self.server.url).port or 0

    @contextmanager
    def running(self, **more: object) -> Iterator[None]:
        """The service, with two workers."""
        wanted: dict[str, Any] = {**(self.bucket.settings if self.bucket else {}), **more}
        with serving(self.folder, workers=2, transfer_seconds=_SLOW, **wanted) as self._server:
            yield
        assert "Traceback" not in self._server.output(), self._server.output()
        assert "testing" not in self._server.output()

    def send(self, alias: str, content: Any = CONTENT, **query: Any) -> Any:
        path = "/api/files/upload/a.bin"
        return self.server.call("POST", path, key=self.key, content=content, params={"custom": alias, **query})

    def fetch(self, alias: str, **headers: str) -> Any:
        return self.server.call("GET", f"/{alias}", headers={"User-Agent": "curl/8.5.0", **headers})

    def downloads(self, alias: str) -> int:
        found = self.server.call("GET", "/api/files", key=self.key, params={"limit": 1000}).json()["list"]
        return int(next(item["downloads"] for item in found if item["shorturl"].endswith(f"/{alias}")))

    def kept(self) -> int:
        """How many objects, and parts of objects, are in the storage."""
        if self.bucket is not None:
            return self.bucket.parts()
        return sum(path.is_file() for path in (self.folder / "files").rglob("*"))

    def rows(self) -> tuple[int, int]:
        """(files, objects that are noted because they are no file's)."""
        with closing(Database(f"sqlite:///{self.folder / 'waypost.db'}")) as database:
            files, noted = (
                database.read(lambda tx, table=table: len(tx.execute(select(table)).all()))  # type: ignore[misc]  # at once
                for table in (schema.files, schema.leftovers)
            )
            return files, noted

    def head(self, *lines: str, path: str = "/api/files/upload/a.bin") -> bytes:
        """The beginning of an upload, as bytes."""
        told = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.key}", *lines, "", ""]
        return "\r\n".join(told).encode()


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with running_s3("waypost-files") as made:
        yield made


@pytest.fixture(scope="module", params=["disk", "s3"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The service over each kind of storage, running for all tests of this file."""
    folder = tmp_path_factory.mktemp(request.param)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        upgrade(database)
        made = database.write(
            lambda tx: accounts.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
        )
        key = database.write(lambda tx: keys.add(tx, made.id, name="first key"))
        database.write(lambda tx: tx.execute(update(schema.plans).values(upload_limit=_LIMIT)))
    house = House(folder, key, request.getfixturevalue("bucket") if request.param == "s3" else None)
    with house.running():
        yield house


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an answer, read until the other side closes."""
    connection.settimeout(20)
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_what_is_sent_comes_back_whole_and_in_parts(house: House) -> None:
    assert house.send("whole", BIG).status_code == 200
    whole = house.fetch("whole")
    assert (whole.status_code, hashlib.sha256(whole.content).digest()) == (200, hashlib.sha256(BIG).digest())
    assert house.fetch("whole", Range="bytes=9000000-20000000").content == BIG[9_000_000:20_000_001]
    many = house.fetch("whole", Range="bytes=5-9, 17000000-17000009, -3")
    assert many.status_code == 206
    for part in (BIG[5:10], BIG[17_000_000:17_000_010], BIG[-3:]):
        assert b"\r\n\r\n" + part + b"\r\n--" in many.content
    assert house.downloads("whole") == 1


def test_two_hundred_at_once_get_exactly_five_downloads(house: House) -> None:
    assert house.send("five", maxdownloads=5).status_code == 200
    answers = at_once([lambda: house.fetch("five")] * 200)
    assert Counter(answer.status_code for answer in answers) == {200: 5, 410: 195}
    assert all(answer.content == CONTENT for answer in answers if answer.status_code == 200)
    assert house.downloads("five") == 5


def _status(house: House, alias: str) -> int:
    """0 while nobody answers."""
    try:
        return int(house.fetch(alias).status_code)
    except httpx2.TransportError:
        return 0


def _workers(house: House) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(house.server.process.pid).children():
        with suppress(psutil.Error):
            if not any(file.path.endswith("ingest.lock") for file in child.open_files()) and not any(
                "resource_tracker" in word for word in child.cmdline()
            ):
                found.append(child)
    return found


def test_a_limit_holds_while_workers_are_killed_and_after_a_restart(house: House, tmp_path: Path) -> None:
    """Each who has the status line and a byte began a download, whether or not it came to its end."""
    host, port = house.address
    begun, lock, over = [0], threading.Lock(), threading.Event()

    def visit() -> None:
        while not over.is_set():
            client = HTTPConnection(host, port, timeout=20)
            try:
                client.request("GET", "/killed", headers={"User-Agent": "curl/8.5.0", "Accept": "*/*"})
                answer = client.getresponse()
                if answer.status == 200 and answer.read(1):
                    with lock:
                        begun[0] += 1
                if answer.status == 410 and begun[0]:
                    return
                answer.read()
            except (OSError, HTTPException):
                over.wait(0.01)
            finally:
                client.close()

    assert house.send("killed", BIG[:8_000_000], maxdownloads=5).status_code == 200
    crowd = [threading.Thread(target=visit) for _ in range(200)]
    for thread in crowd:
        thread.start()
    for worker in _workers(house):
        with suppress(psutil.Error):
            worker.kill()
    _until(lambda: _status(house, "killed") == 410 and len(_workers(house)) == 2)
    over.set()
    for thread in crowd:
        thread.join()
    assert begun[0] <= 5
    assert house.downloads("killed") <= 5
    with closing(Database(f"sqlite:///{house.folder / 'waypost.db'}")) as database:
        (used,) = database.read(
            lambda tx: tx.execute(select(schema.files.c.taken).where(schema.files.c.alias == "killed")).scalars()
        )
    assert used == 5


def test_too_much_is_refused_before_it_is_sent(house: House) -> None:
    before = house.kept()
    with socket.create_connection(house.address) as line:
        line.sendall(house.head(f"Content-Length: {_LIMIT + 1}", "Expect: 100-continue"))
        status, body = _answer(line)
        assert (status, body["code"]) == (413, "too_large")
    with socket.create_connection(house.address) as line:  # somebody who does not ask first
        line.sendall(house.head(f"Content-Length: {_LIMIT * 100}") + b"x" * 300_000)
        assert _answer(line)[0] == 413
    with socket.create_connection(house.address) as line:  # nobody knows how much it will be
        line.sendall(house.head("Transfer-Encoding: chunked"))
        piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
        with suppress(ConnectionError):
            for _ in range(_LIMIT // (1 << 20) + 1):
                line.sendall(piece)
        assert _answer(line)[0] == 413
    _until(lambda: house.kept() == before and house.rows()[1] == 0)


def test_who_asks_first_is_told_to_go_on(house: House) -> None:
    with socket.create_connection(house.address) as line:
        head = house.head("Content-Length: 5", "Expect: 100-continue", "Connection: close")
        line.sendall(head)
        line.settimeout(20)
        assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(b"hello")
        status, body = _answer(line)
        assert (status, body["error"]) == (200, 0)
    with socket.create_connection(house.address) as line:
        line.sendall(house.head("Content-Length: 5", "Expect: 100-continue", path="/api/files/upload/%ff"))
        assert _answer(line)[0] == 400


def test_a_line_that_breaks_leaves_nothing(house: House) -> None:
    before, files = house.kept(), house.rows()[0]
    for _ in range(3):
        with socket.create_connection(house.address) as line:
            line.sendall(house.head(f"Content-Length: {len(BIG)}") + BIG[:10_000_000])
        with socket.create_connection(house.address) as line:
            line.sendall(house.head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n")
        with socket.create_connection(house.address) as line:
            line.sendall(house.head("Transfer-Encoding: chunked") + b"5\r\nhello\r\nnonsense")
    _until(lambda: house.kept() == before and house.rows() == (files, 0))


def test_who_sends_next_to_nothing_is_told_so(house: House) -> None:
    before, files = house.kept(), house.rows()[0]
    with socket.create_connection(house.address) as silent, socket.create_connection(house.address) as slow:
        silent.sendall(house.head("Content-Length: 1000000"))
        slow.sendall(house.head("Content-Length: 1000000") + b"hello")
        over = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not over.wait(0.2):
                    slow.sendall(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        for line in (silent, slow):
            status, body = _answer(line)
            assert (status, body["code"]) == (408, "too_slow")
        over.set()
        dripping.join()
    _until(lambda: house.kept() == before and house.rows() == (files, 0))


def test_many_uploads_at_once_all_arrive(house: House) -> None:
    number = 1000 if house.bucket is None else 100
    contents = [b"%d " % n * 50 for n in range(number)]
    answers = at_once([lambda n=n: house.send(f"many-{n}", contents[n]) for n in range(number)])  # type: ignore[misc]  # bound at once
    assert Counter(answer.status_code for answer in answers) == {200: number}
    for n in range(0, number, 97):
        assert house.fetch(f"many-{n}").content == contents[n]
    assert house.rows()[1] == 0


def test_a_digest_that_is_wrong_leaves_nothing(house: House) -> None:
    before = house.kept()
    told = base64.b64encode(hashlib.sha256(b"else").digest()).decode()
    answer = house.server.call(
        "POST", "/api/files/upload/a", key=house.key, content=CONTENT, headers={"Repr-Digest": f"sha-256=:{told}:"}
    )
    assert (answer.status_code, answer.json()["field"]) == (400, "Repr-Digest")
    assert house.kept() == before


def test_who_reads_nothing_is_given_up_and_who_reads_slowly_is_not(house: House) -> None:
    assert house.send("slowly", BIG).status_code == 200
    ask = b"GET /slowly HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\n\r\n"
    with ExitStack() as lines:
        slow, dead = (lines.enter_context(socket.socket()) for _ in range(2))
        for line in (slow, dead):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            line.connect(house.address)
            line.sendall(ask)
        got, deadline = 0, time.monotonic() + 3 * _SLOW
        slow.settimeout(20)
        while time.monotonic() < deadline:
            got += len(slow.recv(100_000))
            time.sleep(0.05)
        while part := slow.recv(1 << 20):
            got += len(part)
            if got >= len(BIG):
                break
        assert got > len(BIG)
        dead.settimeout(20)
        came = 0
        with suppress(ConnectionError):
            while part := dead.recv(1 << 20):
                came += len(part)
        assert came < len(BIG)


def test_a_file_may_be_deleted_while_somebody_reads_it(house: House) -> None:
    made = house.send("deleted", BIG).json()
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        line.connect(house.address)
        line.sendall(b"GET /deleted HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nConnection: close\r\n\r\n")
        line.settimeout(20)
        data = line.recv(1000)
        answer = house.server.call("DELETE", f"/api/file/{made['id']}/delete", key=house.key)
        assert answer.status_code == 200
        _keep(house)
        with suppress(ConnectionError):
            while part := line.recv(1 << 20):
                data += part
    body = data.partition(b"\r\n\r\n")[2]
    assert BIG.startswith(body)  # to its end, or to where it broke off; never anything else
    if house.bucket is None:
        assert len(body) == len(BIG)
    assert house.fetch("deleted").status_code == 404


def _keep(house: House) -> None:
    storage: dict[str, Any] = house.bucket.settings if house.bucket else {}
    with closing(Database(f"sqlite:///{house.folder / 'waypost.db'}")) as database:
        Keeper(database, open_store(Settings(data_dir=house.folder, **storage)), grace_days=7).step()


def test_a_worker_that_is_killed_while_it_takes_a_file_leaves_nothing_for_long(house: House) -> None:
    before, files = house.kept(), house.rows()[0]
    with socket.create_connection(house.address) as line:
        line.sendall(house.head(f"Content-Length: {len(BIG)}") + BIG[:1_000_000])
        _until(lambda: house.rows()[1] == 1)
        for worker in _workers(house):
            worker.send_signal(signal.SIGKILL)
        _until(lambda: _status(house, "nothing") == 404 and len(_workers(house)) == 2)
    assert house.rows() == (files, 1)
    with closing(Database(f"sqlite:///{house.folder / 'waypost.db'}")) as database:
        database.write(lambda tx: tx.execute(update(schema.leftovers).values(due=1)))  # an hour later
    _keep(house)
    assert house.rows() == (files, 0)
    assert house.kept() == before


def test_a_download_comes_straight_from_s3_where_that_is_wanted(bucket: Bucket, tmp_path: Path) -> None:
    storage: dict[str, Any] = bucket.settings
    with serving(tmp_path, storage_presigned="on", **storage) as server:
        found = re.search(r"API key +(\S+)", server.output())
        assert found
        path, query = "/api/files/upload/gr%C3%BC%C3%9Fe.html", {"custom": "signed", "maxdownloads": 1}
        assert server.call("POST", path, key=found[1], content=BIG, params=query).status_code == 200
        curl = {"User-Agent": "curl/8.5.0"}
        answer = server.call("GET", "/signed", headers=curl)
        assert (answer.status_code, answer.headers["cache-control"]) == (302, "private, no-store")
        assert answer.headers["location"].startswith(f"{bucket.endpoint}/{bucket.name}/waypost/")
        signed = server.client.get(answer.headers["location"])
        assert (signed.status_code, signed.content == BIG) == (200, True)
        assert signed.headers["content-type"] == "application/octet-stream"
        assert signed.headers["content-disposition"].startswith("attachment; filename=")
        assert server.call("GET", "/signed", headers=curl).status_code == 410
