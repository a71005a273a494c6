"""The connection layer reads the same requests as h11, over generated streams that differ every day.

FRAMING_SEED and FRAMING_CASES repeat a failure, or run more cases than the complete run does.
"""

import asyncio
import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from tests.support.framing import Reading, ReadRequest, read_with_h11, streams
from tests.support.protocol import Pipe, ProtocolClient, protocol_client
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.connection import LimitedProtocol
from waypost.visits.fast_path import FastPathProtocol

SEED = int(os.environ.get("FRAMING_SEED", datetime.now(UTC).date().toordinal()))
CASES = int(os.environ.get("FRAMING_CASES", "2000"))
RESPONSE = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r\n]+\r\n)*)\r\n")
QUIET_TURNS = 10
"""Turns of the event loop without a byte, after which a connection waits for more data."""
RAW_TARGET = re.compile(rb"(?:^|\n)[A-Z]+ [^ \r\n]*[\x80-\xff]")
"""A target with bytes that h11 refuses, and waypost reads percent-encoded (test_framing.py)."""
ABSOLUTE = re.compile(rb"(?i:https?)://[^/?]*")
HOT = ReadRequest(b"GET", b"/spring", b"")


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Respond with the request as it was received."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    target = scope["raw_path"].decode() + ("?" + scope["query_string"].decode() if scope["query_string"] else "")
    content = json.dumps([scope["method"], target, base64.b64encode(body).decode()]).encode()
    headers = [(b"x-echo", content), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application with one hot link, whose other requests are echoed."""
    with protocol_client(settings, database) as client:
        client.add_link("spring")
        client.request(b"GET /spring HTTP/1.1\r\nHost: localhost:8000\r\n\r\n")
        client.replace_app(echo)
        yield client


def _answered(responses: bytes) -> Reading:
    """Return the requests that the responses belong to."""
    requests: list[ReadRequest] = []
    position = 0
    while position < len(responses):
        if responses.startswith(b"HTTP/1.1 100 Continue\r\n\r\n", position):
            position += len(b"HTTP/1.1 100 Continue\r\n\r\n")
            continue
        match = RESPONSE.match(responses, position)
        assert match is not None, responses[position:]
        headers = dict(line.split(b": ", 1) for line in match[2].splitlines())
        position = match.end() + int(headers[b"content-length"])
        if match[1] == b"302":
            requests.append(HOT)
        elif b"x-echo" in headers:
            method, target, body = json.loads(headers[b"x-echo"])
            requests.append(ReadRequest(method.encode(), target.encode(), base64.b64decode(body)))
        else:
            assert position == len(responses), "a response follows the refusal of a request"
            return Reading(requests, is_refused=True)
    return Reading(requests, is_refused=False)


async def _send(pipe: Pipe, packets: Sequence[bytes]) -> None:
    """Send packets and wait for all responses; the last request can be incomplete."""
    assert isinstance(pipe.protocol, LimitedProtocol)
    for packet in packets:
        if pipe.is_closing():
            break
        pipe.protocol.data_received(packet)
        quiet_turns = 0
        while quiet_turns < QUIET_TURNS:
            written = len(pipe.written)
            await asyncio.sleep(0)
            is_answering = pipe.protocol.is_busy() and not pipe.protocol.is_in_message and not pipe.is_closing()
            quiet_turns = 0 if is_answering or len(pipe.written) > written else quiet_turns + 1


def _origin_form(request: ReadRequest) -> ReadRequest:
    return request._replace(target=ABSOLUTE.sub(b"", request.target))


def _difference(client: ProtocolClient, protocol: type[LimitedProtocol], packets: Sequence[bytes]) -> str:
    """Return how the connection layer reads the packets differently; "" if it does not, or refuses more than h11."""
    pipe = client.connect(protocol)
    client.loop.run_until_complete(_send(pipe, packets))
    answered = _answered(pipe.receive())
    is_closed = pipe.is_closing()
    pipe.close()
    client.loop.run_until_complete(asyncio.sleep(0))
    expected = read_with_h11(packets)
    requests = [_origin_form(request) for request in expected.requests]
    if answered.requests != requests[: len(answered.requests)]:
        return f"{answered.requests} instead of {requests}"
    if answered.is_refused:
        return "" if is_closed else "the connection stays open after a refusal"
    return "" if len(answered.requests) == len(requests) else f"only {answered.requests} instead of {requests}"


@pytest.mark.parametrize("protocol", [FastPathProtocol, LimitedProtocol])
def test_generated_streams_are_read_as_h11_reads_them(client: ProtocolClient, protocol: type[LimitedProtocol]) -> None:
    for number, packets in enumerate(streams(Random(SEED), CASES)):
        if RAW_TARGET.search(b"".join(packets)):
            continue
        difference = _difference(client, protocol, packets)
        assert not difference, f"FRAMING_SEED={SEED}, stream {number}: {packets}: {difference}"
