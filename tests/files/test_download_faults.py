"""Downloads from a real server on disk and S3: concurrency, killed workers, slow clients."""

import hashlib
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

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.file_server import CONTENT, IDLE_TIMEOUT, FileServer
from tests.support.load import until
from tests.support.s3 import Bucket
from tests.support.server import at_once, serving
from tests.support.threads import join
from waypost.db import schema

pytestmark = ON_BOTH_DATABASES  # limits under concurrency


def test_upload_can_be_downloaded_whole_and_in_ranges(file_server: FileServer, big: bytes) -> None:
    assert file_server.upload("whole", big).status_code == 200
    whole = file_server.fetch("whole")
    assert (whole.status_code, hashlib.sha256(whole.content).digest()) == (200, hashlib.sha256(big).digest())
    assert file_server.fetch("whole", Range="bytes=9000000-20000000").content == big[9_000_000:20_000_001]
    many = file_server.fetch("whole", Range="bytes=5-9, 17000000-17000009, -3")
    assert many.status_code == 206
    for part in (big[5:10], big[17_000_000:17_000_010], big[-3:]):
        assert b"\r\n\r\n" + part + b"\r\n--" in many.content
    assert file_server.downloads("whole") == 1


def test_concurrent_downloads_never_exceed_limit(file_server: FileServer) -> None:
    assert file_server.upload("five", maxdownloads=5).status_code == 200
    responses = at_once([lambda: file_server.fetch("five")] * 200)
    assert Counter(response.status_code for response in responses) == {200: 5, 410: 195}
    assert all(response.content == CONTENT for response in responses if response.status_code == 200)
    assert file_server.downloads("five") == 5


def test_download_limit_is_exact_when_workers_are_killed(file_server: FileServer, big: bytes, tmp_path: Path) -> None:
    """A client that received the status line and one byte has started a download, complete or not."""
    host, port = file_server.address
    started, lock, stopping = [0], threading.Lock(), threading.Event()

    def visit() -> None:
        while not stopping.is_set():
            client = HTTPConnection(host, port, timeout=20)
            try:
                client.request("GET", "/killed", headers={"User-Agent": "curl/8.5.0", "Accept": "*/*"})
                response = client.getresponse()
                if response.status == 200 and response.read(1):
                    with lock:
                        started[0] += 1
                if response.status == 410 and started[0]:
                    return
                response.read()
            except (OSError, HTTPException):
                stopping.wait(0.01)
            finally:
                client.close()

    assert file_server.upload("killed", big[:8_000_000], maxdownloads=5).status_code == 200
    clients = [threading.Thread(target=visit) for _ in range(200)]
    for thread in clients:
        thread.start()
    for worker in file_server.worker_processes():
        with suppress(psutil.Error):
            worker.kill()
    until(lambda: file_server.status("killed") == 410 and len(file_server.worker_processes()) == 2)
    stopping.set()
    join(*clients)
    assert started[0] <= 5
    assert file_server.downloads("killed") <= 5
    with closing(file_server.database()) as database:
        (taken,) = database.read(
            lambda tx: tx.execute(select(schema.files.c.taken).where(schema.files.c.alias == "killed")).scalars()
        )
    assert taken == 5


def test_stalled_client_is_disconnected_and_slow_client_is_not(file_server: FileServer, big: bytes) -> None:
    assert file_server.upload("slowly", big).status_code == 200
    request = b"GET /slowly HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\n\r\n"
    with ExitStack() as connections:
        slow, stalled = (connections.enter_context(socket.socket()) for _ in range(2))
        for connection in (slow, stalled):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            connection.connect(file_server.address)
            connection.sendall(request)
        received, deadline = 0, time.monotonic() + 3 * IDLE_TIMEOUT
        slow.settimeout(20)
        while time.monotonic() < deadline:
            received += len(slow.recv(100_000))
            time.sleep(0.05)
        while part := slow.recv(1 << 20):
            received += len(part)
            if received >= len(big):
                break
        assert received > len(big)
        stalled.settimeout(20)
        received = 0
        with suppress(ConnectionError):
            while part := stalled.recv(1 << 20):
                received += len(part)
        assert received < len(big)


def test_deleting_file_during_download_sends_only_its_bytes(file_server: FileServer, big: bytes) -> None:
    uploaded = file_server.upload("deleted", big).json()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(file_server.address)
        connection.sendall(
            b"GET /deleted HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nConnection: close\r\n\r\n"
        )
        connection.settimeout(20)
        data = connection.recv(1000)
        response = file_server.server.call("DELETE", f"/api/file/{uploaded['id']}/delete", key=file_server.key)
        assert response.status_code == 200
        file_server.clean_up()
        with suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                data += part
    body = data.partition(b"\r\n\r\n")[2]
    assert big.startswith(body)  # complete or interrupted, and never other bytes
    if file_server.bucket is None:
        assert len(body) == len(big)
    assert file_server.fetch("deleted").status_code == 404


def test_presigned_download_redirects_to_s3(bucket: Bucket, big: bytes, tmp_path: Path) -> None:
    storage: dict[str, Any] = bucket.settings
    with serving(tmp_path, storage_presigned="on", **storage) as server:
        path, query = "/api/files/upload/gr%C3%BC%C3%9Fe.html", {"custom": "signed", "maxdownloads": 1}
        assert server.call("POST", path, key=server.owner_key, content=big, params=query).status_code == 200
        curl = {"User-Agent": "curl/8.5.0"}
        response = server.call("GET", "/signed", headers=curl)
        assert (response.status_code, response.headers["cache-control"]) == (302, "private, no-store")
        assert response.headers["location"].startswith(f"{bucket.endpoint}/{bucket.name}/waypost/")
        signed = server.client.get(response.headers["location"])
        assert (signed.status_code, signed.content == big) == (200, True)
        assert signed.headers["content-type"] == "application/octet-stream"
        assert signed.headers["content-disposition"].startswith("attachment; filename=")
        assert server.call("GET", "/signed", headers=curl).status_code == 410
