"""Safe outgoing requests: resolves a name once, refuses internal addresses, and connects to the address it checked."""

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import quote, urljoin

import httpcore2

Resolve = Callable[[str, int], list[str]]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")  # all of IPv6 that is given out; whatever hides an IPv4 address beside it
_AGENT = "waypost"
_URL_SAFE = "%/:?#[]@!$&'()*+,;=~"


class Refused(Exception):
    """The request was not made, or not finished; the message says why in words for the person who asked."""


class Unreachable(Refused):
    """Nothing answered there, or not in time, or not in the words of HTTP."""


@dataclass(frozen=True)
class Fetched:
    """An answer: status, headers with lower-case names, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Seen:
    """What stands before a page: every URL on the way to it, its status, and all its headers, names in lower case."""

    urls: tuple[str, ...]
    status: int
    headers: tuple[tuple[str, str], ...]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, from the system's resolver. Raises Refused when there are none."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise Unreachable(f"{host} has no address in the DNS") from error


def fetch(
    url: str,
    *,
    max_bytes: int,
    seconds: float = 10,
    redirects: int = 3,
    verify: bool = True,
    resolver: Resolve = resolve,
) -> Fetched:
    """GET `url`, at most `max_bytes` of it in at most `seconds`. Every redirect passes the same checks.

    Raises Refused for an internal address, a broken connection, too many redirects, bytes or seconds.
    """
    with _opened(resolver, seconds, verify=verify) as pool:
        for _ in range(redirects + 1):
            answer = _get(pool, url, max_bytes=max_bytes)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            url = _joined(url, answer.headers["location"])
    raise Refused("it redirects too often")


def look(
    url: str,
    *,
    seconds: float,
    method: Literal["GET", "HEAD"] = "GET",
    agent: str = _AGENT,
    redirects: int = 5,
    resolver: Resolve = resolve,
) -> Seen:
    """Ask for `url` without its body, after its redirects. Raises Refused as `fetch`, Unreachable without an answer."""
    urls = [url]
    with _opened(resolver, seconds) as pool:
        for _ in range(redirects + 1):
            with _exchange(pool, method, urls[-1], agent=agent) as response:
                headers = _told(response)
            location = dict(headers).get("location")
            if response.status not in _REDIRECTS or location is None:
                return Seen(tuple(urls), response.status, headers)
            urls.append(_joined(urls[-1], location))
    raise Refused("it redirects too often")


def post(url: str, body: bytes, *, kind: str, seconds: float, resolver: Resolve = resolve) -> int:
    """POST `body`, of the media type `kind`; the status. Follows no redirect. Raises Refused as `fetch`."""
    with _opened(resolver, seconds) as pool, _exchange(pool, "POST", url, body=body, kind=kind) as response:
        return response.status


def _opened(resolver: Resolve, seconds: float, *, verify: bool = True) -> httpcore2.ConnectionPool:
    network = _Guarded(resolver, time.monotonic() + seconds)
    # No connection is used twice, so that every request passes the guard.
    return httpcore2.ConnectionPool(
        ssl_context=_trust(verify=verify), network_backend=network, max_keepalive_connections=0, max_connections=1
    )


@cache
def _trust(*, verify: bool) -> ssl.SSLContext:
    """Once, because it reads every certificate that the machine trusts: 20 ms."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet, also when it hides in IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
        if parsed not in _UNICAST:
            return False
    return parsed.is_global and not parsed.is_multicast


def _joined(url: str, location: str) -> str:
    """Where a redirect leads; the header's bytes are those that were sent."""
    try:
        return urljoin(url, quote(location, safe=_URL_SAFE, encoding="latin-1"))
    except ValueError as error:  # an IPv6 address that is none
        raise Refused("it leads to something other than http and https") from error


def _get(pool: httpcore2.ConnectionPool, url: str, *, max_bytes: int) -> Fetched:
    body = bytearray()
    with _exchange(pool, "GET", url) as response:
        for chunk in response.iter_stream():
            body += chunk
            if len(body) > max_bytes:
                raise Refused(f"it is larger than {max_bytes} bytes")
        return Fetched(response.status, dict(_told(response)), bytes(body))


@contextmanager
def _exchange(
    pool: httpcore2.ConnectionPool,
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    kind: str = "",
    agent: str = _AGENT,
) -> Iterator[httpcore2.Response]:
    """One request and its answer, whose body has not been read. Raises Refused."""
    if not url.lower().startswith(("http://", "https://")):
        raise Refused("it leads to something other than http and https")
    headers = [("User-Agent", agent), ("Accept", "*/*"), ("Accept-Encoding", "identity")]
    if body is not None:
        headers += [("Content-Type", kind), ("Content-Length", str(len(body)))]
    try:
        with pool.stream(method, quote(url, safe=_URL_SAFE), headers=headers, content=body) as response:
            yield response
    except httpcore2.TimeoutException as error:
        raise Unreachable("it takes too long") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ValueError) as error:
        raise Unreachable(f"it did not answer ({type(error).__name__})") from error


def _told(response: httpcore2.Response) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers)


class _Guarded(httpcore2.NetworkBackend):
    """Connects by TCP, to public addresses and until the deadline only."""

    def __init__(self, resolver: Resolve, deadline: float) -> None:
        self._resolver = resolver
        self._deadline = deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # the deadline is stricter
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = self._resolver(host, port)
        if not addresses or not all(is_public(address) for address in addresses):
            raise Refused(f"{host} leads to an internal address")
        left = _left(self._deadline)
        return _Timed(
            self._sockets.connect_tcp(addresses[0], port, left, local_address, socket_options), self._deadline
        )


class _Timed(httpcore2.NetworkStream):
    """A connection that ends at the deadline: a server cannot hold us by sending a byte now and then."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout
    return left
