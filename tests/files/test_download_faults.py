"""Downloads from a real service, on a disk and on a real S3: crowds, kills, and people who hardly read."""

import hashlib
import re
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select

from tests.support.file_server import CONTENT, SLOW, House
from tests.support.load import until
from tests.support.s3 import Bucket
from tests.support.server import at_once, serving
from waypost.db import schema


def test_what_is_sent_comes_back_whole_and_in_parts(house: House, big: bytes) -> None:
    assert house.send("whole", big).status_code == 200
    whole = house.fetch("whole")
    assert (whole.status_code, hashlib.sha256(whole.content).digest()) == (200, hashlib.sha256(big).digest())
    assert house.fetch("whole", Range="bytes=9000000-20000000").content == big[9_000_000:20_000_001]
    many = house.fetch("whole", Range="bytes=5-9, 17000000-17000009, -3")
    assert many.status_code == 206
    for part in (big[5:10], big[17_000_000:17_000_010], big[-3:]):
        assert b"\r\n\r\n" + part + b"\r\n--" in many.content
    assert house.downloads("whole") == 1


def test_two_hundred_at_once_get_exactly_five_downloads(house: House) -> None:
    assert house.send("five", maxdownloads=5).status_code == 200
    answers = at_once([lambda: house.fetch("five")] * 200)
    assert Counter(answer.status_code for answer in answers) == {200: 5, 410: 195}
    assert all(answer.content == CONTENT for answer in answers if answer.status_code == 200)
    assert house.downloads("five") == 5


def test_a_limit_holds_while_workers_are_killed_and_after_a_restart(house: House, big: bytes, tmp_path: Path) -> None:
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

    assert house.send("killed", big[:8_000_000], maxdownloads=5).status_code == 200
    crowd = [threading.Thread(target=visit) for _ in range(200)]
    for thread in crowd:
        thread.start()
    for worker in house.workers():
        with suppress(psutil.Error):
            worker.kill()
    until(lambda: house.status("killed") == 410 and len(house.workers()) == 2)
    over.set()
    for thread in crowd:
        thread.join()
    assert begun[0] <= 5
    assert house.downloads("killed") <= 5
    with closing(house.database()) as database:
        (used,) = database.read(
            lambda tx: tx.execute(select(schema.files.c.taken).where(schema.files.c.alias == "killed")).scalars()
        )
    assert used == 5


def test_who_reads_nothing_is_given_up_and_who_reads_slowly_is_not(house: House, big: bytes) -> None:
    assert house.send("slowly", big).status_code == 200
    ask = b"GET /slowly HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\n\r\n"
    with ExitStack() as lines:
        slow, dead = (lines.enter_context(socket.socket()) for _ in range(2))
        for line in (slow, dead):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            line.connect(house.address)
            line.sendall(ask)
        got, deadline = 0, time.monotonic() + 3 * SLOW
        slow.settimeout(20)
        while time.monotonic() < deadline:
            got += len(slow.recv(100_000))
            time.sleep(0.05)
        while part := slow.recv(1 << 20):
            got += len(part)
            if got >= len(big):
                break
        assert got > len(big)
        dead.settimeout(20)
        came = 0
        with suppress(ConnectionError):
            while part := dead.recv(1 << 20):
                came += len(part)
        assert came < len(big)


def test_a_file_may_be_deleted_while_somebody_reads_it(house: House, big: bytes) -> None:
    made = house.send("deleted", big).json()
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        line.connect(house.address)
        line.sendall(b"GET /deleted HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nConnection: close\r\n\r\n")
        line.settimeout(20)
        data = line.recv(1000)
        answer = house.server.call("DELETE", f"/api/file/{made['id']}/delete", key=house.key)
        assert answer.status_code == 200
        house.keep()
        with suppress(ConnectionError):
            while part := line.recv(1 << 20):
                data += part
    body = data.partition(b"\r\n\r\n")[2]
    assert big.startswith(body)  # to its end, or to where it broke off; never anything else
    if house.bucket is None:
        assert len(body) == len(big)
    assert house.fetch("deleted").status_code == 404


def test_a_download_comes_straight_from_s3_where_that_is_wanted(bucket: Bucket, big: bytes, tmp_path: Path) -> None:
    storage: dict[str, Any] = bucket.settings
    with serving(tmp_path, storage_presigned="on", **storage) as server:
        found = re.search(r"API key +(\S+)", server.output())
        assert found
        path, query = "/api/files/upload/gr%C3%BC%C3%9Fe.html", {"custom": "signed", "maxdownloads": 1}
        assert server.call("POST", path, key=found[1], content=big, params=query).status_code == 200
        curl = {"User-Agent": "curl/8.5.0"}
        answer = server.call("GET", "/signed", headers=curl)
        assert (answer.status_code, answer.headers["cache-control"]) == (302, "private, no-store")
        assert answer.headers["location"].startswith(f"{bucket.endpoint}/{bucket.name}/waypost/")
        signed = server.client.get(answer.headers["location"])
        assert (signed.status_code, signed.content == big) == (200, True)
        assert signed.headers["content-type"] == "application/octet-stream"
        assert signed.headers["content-disposition"].startswith("attachment; filename=")
        assert server.call("GET", "/signed", headers=curl).status_code == 410
