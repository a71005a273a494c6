"""Framing: the bytes of a body are never read as a request, and each request gets one response, in order."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from tests.support.protocol import ProtocolClient, protocol_client
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.connection import LimitedProtocol
from waypost.visits.fast_path import FastPathProtocol

PROTOCOLS = pytest.mark.parametrize("protocol", [FastPathProtocol, LimitedProtocol])
HOST = b"Host: localhost:8000\r\n"
OFFERS = {
    "h2c": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "websocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
    "anything": b"Upgrade: a/1, b/2\r\nConnection: keep-alive, UPGRADE\r\n",
    "twice": b"Upgrade: h2c\r\nUPGRADE: x\r\nConnection: upgrade\r\nConnection: keep-alive\r\n",
    "without connection": b"Upgrade: h2c\r\n",
}
IN_BODY = b"GET /inbody HTTP/1.1\r\nHost: localhost:8000\r\n\r\n"


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application with the links /spring and /inbody, both hot."""
    with protocol_client(settings, database) as client:
        for alias in ("spring", "inbody"):
            client.add_link(alias)
            client.request(b"GET /%b HTTP/1.1\r\n" % alias.encode() + HOST + b"\r\n")
        client.new_journal_lines()
        yield client


def _body(framing: str) -> bytes:
    if framing == "length":
        return b"Content-Length: %d\r\n\r\n%b" % (len(IN_BODY), IN_BODY)
    return b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(IN_BODY), IN_BODY)


def _statuses(responses: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", responses)]


def _talk(client: ProtocolClient, protocol: type[LimitedProtocol], pieces: Sequence[bytes]) -> list[int]:
    pipe = client.connect(protocol)
    client.send(pipe, pieces)
    statuses = _statuses(pipe.receive())
    pipe.close()
    client.send(pipe, [])
    return statuses


def _cuts(data: bytes) -> Iterator[list[bytes]]:
    """Yield the data as one packet, in two for every place, and byte by byte."""
    yield [data]
    yield from ([data[:place], data[place:]] for place in range(1, len(data)))
    yield [data[start:end] for start, end in pairwise(range(len(data) + 1))]


@PROTOCOLS
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("offer", OFFERS)
def test_body_of_request_that_offers_upgrade_is_no_request(
    client: ProtocolClient, protocol: type[LimitedProtocol], offer: str, framing: str
) -> None:
    first = b"POST /missing HTTP/1.1\r\n" + HOST + OFFERS[offer] + _body(framing)
    second = b"GET /spring HTTP/1.1\r\n" + HOST + b"\r\n"
    for pieces in _cuts(first):
        assert _talk(client, protocol, [*pieces, second]) == [404, 302]
    assert _talk(client, protocol, [first + second + first + second]) == [404, 302, 404, 302]
    assert not any(b"inbody" in line for line in client.new_journal_lines())


@PROTOCOLS
@pytest.mark.parametrize("offer", OFFERS)
def test_visit_that_offers_upgrade_redirects(
    client: ProtocolClient, protocol: type[LimitedProtocol], offer: str
) -> None:
    visit = b"GET /spring HTTP/1.1\r\n" + HOST + OFFERS[offer] + b"\r\n"
    assert _talk(client, protocol, [visit * 3]) == [302] * 3
    assert _talk(client, protocol, [visit, visit]) == [302] * 2
    assert len(client.new_journal_lines()) == 5


def test_api_request_that_offers_upgrade_keeps_its_body(client: ProtocolClient) -> None:
    request = client.api_request("POST", "/api/url/add", {"url": "https://example.com/new"})
    for offer in OFFERS.values():
        response = client.request(request.replace(b"Host: localhost\r\n", b"Host: localhost\r\n" + offer))
        assert (_statuses(response), b'"error":0' in response) == ([200], True)


@PROTOCOLS
@pytest.mark.parametrize(("method", "status"), [(b"GET", 404), (b"PATCH", 405)])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_response_before_body_that_client_holds_back_closes_connection(
    client: ProtocolClient, protocol: type[LimitedProtocol], framing: str, method: bytes, status: int
) -> None:
    head, end, body = _body(framing).partition(b"\r\n\r\n")
    request = method + b" /missing HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\n" + head + end
    visit = b"GET /spring HTTP/1.1\r\n" + HOST + b"\r\n"
    for behind in ([visit], [body, visit], [body[:9], body[9:], visit]):
        pipe = client.connect(protocol)
        client.send(pipe, [request])
        client.send(pipe, behind)
        responses = pipe.receive()
        assert (_statuses(responses), responses.lower().count(b"connection: close\r\n")) == ([status], 1)
        assert pipe.is_closing()
    assert not any(b"inbody" in line or b"spring" in line for line in client.new_journal_lines())
    assert _talk(client, protocol, [request + body + visit]) == [status, 302]  # this client did not wait


def test_connection_is_kept_after_body_that_client_held_back(client: ProtocolClient) -> None:
    data = client.api_request("POST", "/api/url/add", {"url": "https://example.com/new"})
    head, end, body = data.partition(b"\r\n\r\n")
    request = head + b"\r\nExpect: 100-continue" + end
    assert _talk(client, FastPathProtocol, [request, body, data]) == [100, 200, 200]


@PROTOCOLS
@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"GET /spring HTTP/1.1\r\n\r\n", 400),
        (b"GET /spring HTTP/2.0\r\n" + HOST + b"\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"CONNECT localhost:8000 HTTP/1.1\r\n" + HOST + _body("length"), 501),
        (b"POST /spring HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + IN_BODY, 501),
        (b"POST /spring HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + IN_BODY, 400),
        (b"POST /spring HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + IN_BODY, 400),
        (b"POST /spring HTTP/1.1\r\n" + HOST + b"Expect: 100-continue, 100-continue\r\n" + _body("length"), 417),
        (b"GET /spring HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 70_000 + b"\r\n\r\n", 431),
    ],
    ids=["garbage", "no host", "HTTP/2.0", "preface", "CONNECT", "gzip", "chunked 1.0", "chunk", "Expect", "headers"],
)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_requests_before_invalid_one_are_answered_then_connection_is_closed(
    client: ProtocolClient, protocol: type[LimitedProtocol], before: int, bad: bytes, status: int
) -> None:
    good = b"GET /spring HTTP/1.1\r\n" + HOST + b"\r\n"
    expected = [302] * before + [status]
    for pieces in ([good * before + bad + good], [good] * before + [bad, good], [good * before, bad + good]):
        assert _talk(client, protocol, pieces) == expected
        assert len(client.new_journal_lines()) == before


@PROTOCOLS
@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://localhost:8000/spring", b"localhost:8000", 302),
        (b"HTTP://LOCALHOST:8000/spring?a=b", b"localhost:8000", 302),
        (b"http://localhost:8000/spring", b"evil.example", 302),
        (b"http://evil.example/spring", b"localhost:8000", 404),
        (b"https://evil.example:8000/spring", b"localhost:8000", 404),
        (b"http://localhost:8000", b"localhost:8000", 302),
        (b"http://localhost:8000?x", b"localhost:8000", 302),
        (b"http://me@localhost:8000/spring", b"localhost:8000", 400),
        (b"http:///spring", b"localhost:8000", 400),
        (b"ftp://localhost:8000/spring", b"localhost:8000", 400),
        (b"http://localhost:8000/spring", b"a\r\nHost: b", 400),
    ],
)
def test_host_of_absolute_target_replaces_that_of_header(
    client: ProtocolClient, protocol: type[LimitedProtocol], target: bytes, host: bytes, status: int
) -> None:
    assert _talk(client, protocol, [b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (target, host)]) == [status]


@PROTOCOLS
@pytest.mark.parametrize(
    ("target", "status", "location"),
    [
        (b"/spring?q=B\xc3\xbcro", 302, b"?q=B%C3%BCro"),
        (b"/spring?q=B\xfcro", 302, b"?q=B%FCro"),
        (b"/spr\xc3\xafng", 404, b""),
        (b"/api/urls?q=B\xc3\xbcro", 401, b""),
    ],
)
def test_target_that_is_not_encoded_is_read_as_if_it_were(
    client: ProtocolClient, protocol: type[LimitedProtocol], target: bytes, status: int, location: bytes
) -> None:
    pipe = client.connect(protocol)
    for _ in range(2):  # the second one on a used connection
        client.send(pipe, [b"GET %b HTTP/1.1\r\n" % target + HOST + b"\r\n"])
        response = pipe.receive()
        assert _statuses(response) == [status]
        assert location in response


@PROTOCOLS
def test_body_that_is_not_ascii_is_not_changed(client: ProtocolClient, protocol: type[LimitedProtocol]) -> None:
    body = b"GET /\xff HTTP/1.1\r\n\r\n"
    head = b"POST /api/url/add HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body)
    assert _talk(client, protocol, [head, body]) == [401]
    assert _talk(client, protocol, [b"\x16\x03\x01\x02\xff /\xff\r\n\r\n"]) == [400]
