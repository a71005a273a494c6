"""Generated streams of HTTP/1.1 requests, and the requests that h11 reads in them."""

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import h11

HOST = b"localhost:8000"
_TARGETS = [b"/spring", b"/spring", b"/x/1?a=b", b"/x/%32", b"/api/x", b"http://localhost:8000/spring", b"/x//y", b"*"]
_METHODS = [b"GET"] * 6 + [b"POST"] * 4 + [b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT", b"get"]
_VERSIONS = [b"HTTP/1.1"] * 20 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1"]
_HEADERS = [
    *(b"Connection: Upgrade", b"Connection: keep-alive, upgrade", b"Connection: close", b"Connection: keep-alive"),
    *(b"Upgrade: h2c", b"Upgrade: websocket", b"Upgrade: a, b", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
    *(b"Expect: 100-continue", b"Accept: */*", b"User-Agent: test", b"X-Odd: \xe9\t x", b"X-Empty:", b"Cookie: a=b"),
    *(b"X-Forwarded-For: 203.0.113.9", b"Range: bytes=0-", b"Content-Length: 0", b"Transfer-Encoding: chunked"),
]
_MUTATIONS = [b"", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"\x00", b"0", b"x", b",", b"\xff"]
_BODIES = [b"", b"a", b"GET /spring HTTP/1.1\r\nHost: localhost:8000\r\n\r\n", b"0\r\n\r\n", b"\r\n\r\n", b"x" * 300]
_BLANKS = re.compile(rb"\A(\S+) +(\S+) +(HTTP/1\.[01]\r\n)")


class ReadRequest(NamedTuple):
    """A request as a server reads it."""

    method: bytes
    target: bytes
    body: bytes


class Reading(NamedTuple):
    """The complete requests of a stream. `is_refused`: an invalid one follows them."""

    requests: list[ReadRequest]
    is_refused: bool


def streams(random: Random, count: int) -> Iterator[list[bytes]]:
    """Yield the packets of streams: some with one request, some with many, some damaged."""
    for _ in range(count):
        data = b"".join(_request(random) for _ in range(random.choice((1, 2, 2, 3, 5))))
        for _ in range(random.choice((0, 0, 0, 1, 1, 3))):
            place = random.randrange(len(data) + 1)
            data = data[:place] + random.choice(_MUTATIONS) + data[place + random.choice((0, 0, 1, 2)) :]
        yield _packets(random, data)


def _request(random: Random) -> bytes:
    lines = [b"%b %b %b" % (random.choice(_METHODS), random.choice(_TARGETS), random.choice(_VERSIONS))]
    headers = [b"Host: " + HOST, *random.sample(_HEADERS, random.choice((0, 1, 2, 2, 3, 4)))]
    body = random.choice(_BODIES)
    if random.random() < 0.3:
        headers.append(b"Transfer-Encoding: chunked")
        chunks = [body[:7], body[7:]] if random.random() < 0.5 else [body]
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk) + b"0\r\n\r\n"
    elif body and random.random() < 0.95:
        headers.append(b"Content-Length: %d" % len(body))
    elif not random.randrange(3):
        body = b""
    random.shuffle(headers)
    return b"\r\n".join([*lines, *headers, b"", body])


def _packets(random: Random, data: bytes) -> list[bytes]:
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.choice((0, 0, 1, 2, 5))))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if end > start]


def read_with_h11(packets: Sequence[bytes]) -> Reading:
    """Return the requests that h11 reads, with a response to each.

    Blank lines in front of a request are skipped, and several blanks in its first line count as one, as llhttp does.
    """
    data = b"".join(packets)
    requests: list[ReadRequest] = []
    is_open = True
    try:
        while is_open:
            connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
            connection.receive_data(_BLANKS.sub(rb"\1 \2 \3", data.lstrip(b"\r\n")))
            request = _next_request(connection)
            if request is None:
                break
            requests.append(request)
            connection.send(h11.Response(status_code=200, headers=[(b"content-length", b"0")]))
            connection.send(h11.EndOfMessage())
            is_open = connection.our_state is h11.DONE
            data = connection.trailing_data[0]
    except h11.RemoteProtocolError:
        return Reading(requests, is_refused=True)
    return Reading(requests, is_refused=False)


def _next_request(connection: h11.Connection) -> ReadRequest | None:
    """Return the next complete request. Raises RemoteProtocolError for an invalid one."""
    method = target = body = b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            if event.method == b"CONNECT":
                raise h11.RemoteProtocolError("h11 would let the response open a tunnel")
            method, target = event.method, event.target
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return ReadRequest(method, target, body)
        else:
            return None
