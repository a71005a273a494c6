"""Uploads to a real server on disk and S3: too large, too slow, interrupted; nothing is left in the storage."""

import asyncio
import base64
import hashlib
import json
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import update

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.file_server import CONTENT, LIMIT, FileServer, new_file_server
from tests.support.load import until
from tests.support.threads import join
from waypost.db.schema import plans

pytestmark = ON_BOTH_DATABASES  # uploads of killed workers


@contextmanager
def _connections(file_server: FileServer, number: int) -> Iterator[list[socket.socket]]:
    """Connections whose time limits run at the same time."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(file_server.address)) for _ in range(number)]


def _read_response(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an response, read until the other side closes."""
    connection.settimeout(20)
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_upload_over_limit_of_storage_is_rejected_before_body(file_server: FileServer) -> None:
    if file_server.bucket is None:
        return  # a folder has no such limit
    with closing(file_server.database()) as database:

        def limit(size: int) -> None:
            database.write(lambda tx: tx.execute(update(plans).values(upload_limit=size)))

        limit(10**15)
        with socket.create_connection(file_server.address) as connection:
            connection.sendall(file_server.request_head("Content-Length: 100000000000", "Expect: 100-continue"))
            status, body = _read_response(connection)
        limit(LIMIT)
    assert (status, body["code"]) == (413, "too_large")
    assert "the storage allows 83886080000 bytes" in body["message"]


def test_upload_over_limit_is_rejected_before_body(file_server: FileServer) -> None:
    before = file_server.object_count()
    with socket.create_connection(file_server.address) as connection:
        connection.sendall(file_server.request_head(f"Content-Length: {LIMIT + 1}", "Expect: 100-continue"))
        status, body = _read_response(connection)
        assert (status, body["code"]) == (413, "too_large")
    with _connections(file_server, 2) as (without_expect, of_unknown_size):
        without_expect.sendall(file_server.request_head(f"Content-Length: {LIMIT * 100}") + b"x" * 300_000)
        of_unknown_size.sendall(file_server.request_head("Transfer-Encoding: chunked"))
        piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
        with suppress(ConnectionError):
            for _ in range(LIMIT // (1 << 20) + 1):
                of_unknown_size.sendall(piece)
        for connection in (without_expect, of_unknown_size):
            assert _read_response(connection)[0] == 413
    until(lambda: file_server.object_count() == before and file_server.row_counts()[1] == 0)


def test_expect_100_continue_is_answered(file_server: FileServer) -> None:
    with socket.create_connection(file_server.address) as connection:
        head = file_server.request_head("Content-Length: 5", "Expect: 100-continue", "Connection: close")
        connection.sendall(head)
        connection.settimeout(20)
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"hello")
        status, body = _read_response(connection)
        assert (status, body["error"]) == (200, 0)
    with socket.create_connection(file_server.address) as connection:
        connection.sendall(
            file_server.request_head("Content-Length: 5", "Expect: 100-continue", path="/api/files/upload/%ff")
        )
        assert _read_response(connection)[0] == 400


def test_interrupted_upload_leaves_nothing(file_server: FileServer, big: bytes) -> None:
    before, files = file_server.object_count(), file_server.row_counts()[0]
    for _ in range(3):
        with socket.create_connection(file_server.address) as connection:
            connection.sendall(file_server.request_head(f"Content-Length: {len(big)}") + big[:10_000_000])
        with socket.create_connection(file_server.address) as connection:
            connection.sendall(file_server.request_head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n")
        with socket.create_connection(file_server.address) as connection:
            connection.sendall(file_server.request_head("Transfer-Encoding: chunked") + b"5\r\nhello\r\nnonsense")
    until(lambda: file_server.object_count() == before and file_server.row_counts() == (files, 0))


def test_stalled_upload_returns_408(file_server: FileServer) -> None:
    before, files = file_server.object_count(), file_server.row_counts()[0]
    with socket.create_connection(file_server.address) as silent, socket.create_connection(file_server.address) as slow:
        silent.sendall(file_server.request_head("Content-Length: 1000000"))
        slow.sendall(file_server.request_head("Content-Length: 1000000") + b"hello")
        stopping = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not stopping.wait(0.2):
                    slow.sendall(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        for connection in (silent, slow):
            status, body = _read_response(connection)
            assert (status, body["code"]) == (408, "too_slow")
        stopping.set()
        join(dripping)
    until(lambda: file_server.object_count() == before and file_server.row_counts() == (files, 0))


def test_slow_form_returns_408(file_server: FileServer) -> None:
    before, files = file_server.object_count(), file_server.row_counts()[0]
    types = ("Content-Length: 1000000", "Content-Type: multipart/form-data; boundary=x")
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello\r\n'
    starts = (b"", b"--x\r\nContent-Disposition: form-data", part + b"--x\r\nContent-")
    with _connections(file_server, len(starts)) as connections:
        for connection, start in zip(connections, starts, strict=True):
            connection.sendall(file_server.request_head(*types, path="/api/files/upload") + start)
        for connection, start in zip(connections, starts, strict=True):
            status, body = _read_response(connection)
            assert (status, body["code"]) == (408, "too_slow"), start
    until(lambda: file_server.object_count() == before and file_server.row_counts() == (files, 0))


def test_concurrent_uploads_all_succeed(file_server: FileServer) -> None:
    number = 1000 if file_server.bucket is None else 100
    contents = [b"%d " % n * 50 for n in range(number)]

    async def send(n: int) -> bytes:
        headers = (f"Content-Length: {len(contents[n])}", "Connection: close")
        reader, writer = await asyncio.open_connection(*file_server.address)
        writer.write(file_server.request_head(*headers, path=f"/api/files/upload/a.bin?custom=many-{n}") + contents[n])
        response = await reader.read()
        writer.close()
        return response.partition(b"\r\n")[0]

    async def send_all() -> list[bytes]:
        # Not in threads: on a slow machine some would connect and send nothing until the idle timeout.
        return await asyncio.gather(*map(send, range(number)))

    assert Counter(asyncio.run(send_all())) == {b"HTTP/1.1 200 OK": number}
    for n in range(0, number, 97):
        assert file_server.fetch(f"many-{n}").content == contents[n]
    assert file_server.row_counts()[1] == 0


def test_upload_with_wrong_digest_leaves_nothing(file_server: FileServer) -> None:
    before = file_server.object_count()
    digest = base64.b64encode(hashlib.sha256(b"else").digest()).decode()
    response = file_server.server.call(
        "POST",
        "/api/files/upload/a",
        key=file_server.key,
        content=CONTENT,
        headers={"Repr-Digest": f"sha-256=:{digest}:"},
    )
    assert (response.status_code, response.json()["field"]) == (400, "Repr-Digest")
    assert file_server.object_count() == before


def test_upload_to_killed_worker_is_cleaned_up(file_server: FileServer, big: bytes) -> None:
    before, files = file_server.object_count(), file_server.row_counts()[0]
    with socket.create_connection(file_server.address) as connection:
        connection.sendall(file_server.request_head(f"Content-Length: {len(big)}") + big[:1_000_000])
        until(lambda: file_server.row_counts()[1] == 1)
        for worker in file_server.worker_processes():
            worker.send_signal(signal.SIGKILL)
        until(lambda: file_server.status("nothing") == 404 and len(file_server.worker_processes()) == 2)
    until(lambda: file_server.row_counts() == (files, 0))  # by the workers that replaced them
    assert file_server.object_count() == before
    assert list((file_server.folder / "uploads").iterdir()) == []


def test_large_upload_to_killed_worker_leaves_neither_object_nor_part(file_server: FileServer, big: bytes) -> None:
    before, files = file_server.object_count(), file_server.row_counts()[0]
    with socket.create_connection(file_server.address) as connection:
        connection.sendall(file_server.request_head(f"Content-Length: {len(big)}") + big[:-1])
        until(lambda: file_server.object_count() > before)
        for worker in file_server.worker_processes():
            worker.send_signal(signal.SIGKILL)
    until(lambda: file_server.row_counts() == (files, 0))
    assert file_server.object_count() == before


def test_upload_to_paused_worker_keeps_its_bytes(file_server: FileServer) -> None:
    files = file_server.row_counts()[0]
    with socket.create_connection(file_server.address) as connection:
        connection.sendall(file_server.request_head("Content-Length: 200000", path="/api/files/upload/x.bin") + CONTENT)
        until(lambda: file_server.row_counts()[1] == 1)
        workers = file_server.worker_processes()
        for worker in workers:
            worker.suspend()
        file_server.clean_up()
        for worker in workers:
            worker.resume()
        connection.sendall(CONTENT)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert file_server.row_counts() == (files + 1, 0)


def test_upload_to_killed_service_is_removed_by_next_start(tmp_path: Path) -> None:
    server = new_file_server(tmp_path)
    with server.running(), socket.create_connection(server.address) as connection:
        connection.sendall(server.request_head("Content-Length: 200000") + CONTENT)
        until(lambda: server.object_count() == 1)
        os.killpg(server.server.process.pid, signal.SIGKILL)
    assert server.row_counts() == (0, 1)
    with server.running():
        until(lambda: server.row_counts() == (0, 0))
        assert server.object_count() == 0
