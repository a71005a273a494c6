"""Requests of attackers that try to hide a second request from a proxy or a node: raw bytes, and the packets to send.

Each attack names how many responses it may get. Links of the prefix `smuggled-` are requested in bodies only, and
`elsewhere` only with another host, so neither may ever be opened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

SMUGGLED = [f"smuggled-{number}" for number in range(4)]
ELSEWHERE = "elsewhere"
ATTACKER = "attacker"
FORGED_ADDRESS = "198.51.100.7"
_UPGRADES = (
    "Connection: Upgrade\r\nUpgrade: h2c\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2VjcmV0IQ==\r\n",
    "Connection: Upgrade\r\nUpgrade: anything\r\n",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAABAAAAIAAAABAAN_____AAQAAP__\r\n",
    "connection: keep-alive, upgrade\r\nupgrade: TLS/1.0, HTTP/1.1\r\n",
    "Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n",
    "Connection: keep-alive\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n",
    "Connection: Upgrade\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n",
    "Connection: Upgrade\r\nUpgrade: \r\n",
    "Upgrade: h2c\r\n",
    "Connection: Upgrade\r\n",
)
_BODY_PATHS = ("/dashboard/signin", "/api/url/add", f"/{ATTACKER}", "/attacker-cold", "/healthz", "/unknown", "/report")
_METHODS = ("POST", "POST", "PUT", "GET", "DELETE", "PATCH", "OPTIONS")
_HIDDEN_METRICS = ("/metrics", "/metrics/", "//metrics", "/%6detrics", "/metrics?a", "/./metrics", "/x/../metrics")
_GARBAGE = (b"GARBAGE\r\n\r\n", b"\x00\xff\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n")


@dataclass(frozen=True)
class Attack:
    """Bytes of one connection."""

    data: bytes
    answers: int
    """The most responses that are correct: one for each request and one for an error behind them."""
    leaves: bool = False
    """The client closes the connection without waiting for a response."""

    def packets(self, turn: int, random: Random) -> list[bytes]:
        """Cut the data into one to three packets, often behind the headers; `turn` by `turn` at every byte."""
        behind_headers = self.data.index(b"\r\n\r\n") + 4
        anywhere = turn % len(self.data)
        cuts = random.choice(((), (behind_headers,), (behind_headers,), (anywhere,), (behind_headers, anywhere)))
        ends = sorted({*cuts, len(self.data)} - {0})
        return [self.data[start:end] for start, end in zip((0, *ends), ends, strict=False)]


class Attacks:
    """Attacks on the links of a host. A seed makes them reproducible."""

    def __init__(self, host: str, random: Random) -> None:
        self._host = host
        self._random = random

    def __iter__(self) -> Iterator[Attack]:
        while True:
            make, _ = self._random.choices(KINDS, [weight for _, weight in KINDS])[0]
            yield make(self)

    def _upgrade_with_body(self) -> Attack:
        return Attack(self._with_body(self._upgrade()), 1)

    def _upgrade_before_request(self) -> Attack:
        first = self._request(f"/{ATTACKER}", self._upgrade())
        second = self._request("/attacker-cold", self._random.choice(("", self._upgrade())))
        return Attack(first + second, 2)

    def _upgrade_before_garbage(self) -> Attack:
        data = self._request(f"/{ATTACKER}", self._upgrade()) + self._random.choice(_GARBAGE)
        return Attack(data, 2)

    def _abandoned_upgrade(self) -> Attack:
        data = self._with_body(self._upgrade())
        end = self._random.randint(data.index(b"\r\n\r\n") + 4, len(data))
        return Attack(data[:end], 1, leaves=True)

    def _connect(self) -> Attack:
        target = self._random.choice((f"{self._host}:80", "127.0.0.1:80", f"/{ATTACKER}"))
        data = f"CONNECT {target} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode()
        return Attack(data + self._request(f"/{ATTACKER}", ""), 2)

    def _expectation(self) -> Attack:
        expectation = self._random.choice(("100-continue", "100-Continue", "200-ok", "100-continue, 100-continue"))
        upgrade = self._random.choice(("", "", self._upgrade()))
        return Attack(self._with_body(f"Expect: {expectation}\r\n{upgrade}"), 1)

    def _other_host(self) -> Attack:
        own, other = self._host, "other.example"
        target, host = self._random.choice(
            (
                (f"http://{other}/{ELSEWHERE}", own),
                (f"http://{other}:80/{ELSEWHERE}?x=1", own),
                (f"https://{other}/{ELSEWHERE}", own),
                (f"http://{own}@{other}/{ELSEWHERE}", own),
                (f"http://{own}/{ATTACKER}", other),
                (f"http://{own}/metrics", own),
            )
        )
        data = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{self._forged()}\r\n"
        return Attack(data.encode(), 1)

    def _garbage(self) -> Attack:
        return Attack(self._request(f"/{ATTACKER}", "") + self._random.choice(_GARBAGE), 2)

    def _two_lengths(self) -> Attack:
        smuggled = self._smuggled()
        chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(smuggled), smuggled)
        length = chunked.index(b"\r\n") + 2
        encoding = self._random.choice(("chunked", "Chunked", "identity, chunked", "chunked, chunked", "\tchunked"))
        headers = [f"Content-Length: {length}\r\n", f"Transfer-Encoding: {encoding}\r\n", self._upgrade()]
        self._random.shuffle(headers)
        return Attack(self._head("POST", "/dashboard/signin", "".join(headers)) + chunked, 1)

    def _metrics(self) -> Attack:
        path = self._random.choice(_HIDDEN_METRICS)
        return Attack(self._request(path, self._random.choice(("", self._upgrade()))), 1)

    def _with_body(self, headers: str) -> bytes:
        """Return a request with these headers whose body is a request for a link that may not be opened."""
        body = b"".join(self._smuggled() for _ in range(self._random.randint(1, 2)))
        method, path = self._random.choice(_METHODS), self._random.choice(_BODY_PATHS)
        if self._random.random() < 0.6:
            return self._head(method, path, f"{headers}Content-Length: {len(body)}\r\n") + body
        half = self._random.randint(1, len(body) - 1)
        parts = (body,) if self._random.random() < 0.5 else (body[:half], body[half:])
        extension = self._random.choice((b"", b"", b";a=b"))
        chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(part), extension, part) for part in parts)
        trailer = self._random.choice((b"", b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"))
        return self._head(method, path, f"{headers}Transfer-Encoding: chunked\r\n") + chunks + b"0\r\n%b\r\n" % trailer

    def _smuggled(self) -> bytes:
        link = self._random.choice(SMUGGLED)
        path = self._random.choice((f"/{link}", f"/{link}", f"/{link}", f"/{link}/qr?size=900", "/metrics", "/healthz"))
        end = self._random.choice(("\r\n", "\r\n", "X-Rest: "))  # without an end, it takes the next request in
        return f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\nX-Forwarded-For: {FORGED_ADDRESS}\r\n{end}".encode()

    def _request(self, path: str, headers: str) -> bytes:
        return self._head("GET", path, headers)

    def _head(self, method: str, path: str, headers: str) -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n{headers}{self._forged()}\r\n".encode()

    def _upgrade(self) -> str:
        return self._random.choice(_UPGRADES)

    def _forged(self) -> str:
        """Return perhaps a header of the address that may read the metrics."""
        return self._random.choice(("", f"X-Forwarded-For: {FORGED_ADDRESS}\r\n"))


KINDS: list[tuple[Callable[[Attacks], Attack], int]] = [
    (Attacks._upgrade_with_body, 10),
    (Attacks._upgrade_before_request, 2),
    (Attacks._upgrade_before_garbage, 2),
    (Attacks._abandoned_upgrade, 1),
    (Attacks._connect, 1),
    (Attacks._expectation, 2),
    (Attacks._other_host, 2),
    (Attacks._garbage, 1),
    (Attacks._two_lengths, 1),
    (Attacks._metrics, 1),
]
"""The kinds of attacks, and how often each is sent."""
