"""Uploads to a real service, on a disk and on a real S3: too much, too slow, broken off, killed; nothing is left."""

import asyncio
import base64
import hashlib
import json
import signal
import socket
import threading
from collections import Counter
from contextlib import closing, suppress
from typing import Any

from sqlalchemy import update

from tests.support.file_server import CONTENT, LIMIT, House
from tests.support.load import until
from waypost.db import schema


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an answer, read until the other side closes."""
    connection.settimeout(20)
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_too_much_is_refused_before_it_is_sent(house: House) -> None:
    before = house.kept()
    with socket.create_connection(house.address) as line:
        line.sendall(house.head(f"Content-Length: {LIMIT + 1}", "Expect: 100-continue"))
        status, body = _answer(line)
        assert (status, body["code"]) == (413, "too_large")
    with socket.create_connection(house.address) as line:  # somebody who does not ask first
        line.sendall(house.head(f"Content-Length: {LIMIT * 100}") + b"x" * 300_000)
        assert _answer(line)[0] == 413
    with socket.create_connection(house.address) as line:  # nobody knows how much it will be
        line.sendall(house.head("Transfer-Encoding: chunked"))
        piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
        with suppress(ConnectionError):
            for _ in range(LIMIT // (1 << 20) + 1):
                line.sendall(piece)
        assert _answer(line)[0] == 413
    until(lambda: house.kept() == before and house.rows()[1] == 0)


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


def test_a_line_that_breaks_leaves_nothing(house: House, big: bytes) -> None:
    before, files = house.kept(), house.rows()[0]
    for _ in range(3):
        with socket.create_connection(house.address) as line:
            line.sendall(house.head(f"Content-Length: {len(big)}") + big[:10_000_000])
        with socket.create_connection(house.address) as line:
            line.sendall(house.head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n")
        with socket.create_connection(house.address) as line:
            line.sendall(house.head("Transfer-Encoding: chunked") + b"5\r\nhello\r\nnonsense")
    until(lambda: house.kept() == before and house.rows() == (files, 0))


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
    until(lambda: house.kept() == before and house.rows() == (files, 0))


def test_many_uploads_at_once_all_arrive(house: House) -> None:
    number = 1000 if house.bucket is None else 100
    contents = [b"%d " % n * 50 for n in range(number)]

    async def send(n: int) -> bytes:
        told = (f"Content-Length: {len(contents[n])}", "Connection: close")
        reader, writer = await asyncio.open_connection(*house.address)
        writer.write(house.head(*told, path=f"/api/files/upload/a.bin?custom=many-{n}") + contents[n])
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n")[0]

    async def send_all() -> list[bytes]:
        # Not by a thread each: on a slow machine some would connect, and say nothing until they are given up.
        return await asyncio.gather(*map(send, range(number)))

    assert Counter(asyncio.run(send_all())) == {b"HTTP/1.1 200 OK": number}
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


def test_a_worker_that_is_killed_while_it_takes_a_file_leaves_nothing_for_long(house: House, big: bytes) -> None:
    before, files = house.kept(), house.rows()[0]
    with socket.create_connection(house.address) as line:
        line.sendall(house.head(f"Content-Length: {len(big)}") + big[:1_000_000])
        until(lambda: house.rows()[1] == 1)
        for worker in house.workers():
            worker.send_signal(signal.SIGKILL)
        until(lambda: house.status("nothing") == 404 and len(house.workers()) == 2)
    assert house.rows() == (files, 1)
    with closing(house.database()) as database:
        database.write(lambda tx: tx.execute(update(schema.orphan_objects).values(due=1)))  # an hour later
    house.keep()
    assert house.rows() == (files, 0)
    assert house.kept() == before
