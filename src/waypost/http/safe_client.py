"""HTTP client for URLs of users, safe against SSRF.

It resolves a name once, rejects internal addresses, and connects to the address that it checked. Connections end at a
deadline, or as soon as the work that uses them is canceled. A server that answers slowly holds few of the threads that
serve requests.
"""

import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, TypeVar
from urllib.parse import urljoin

import httpcore2

from waypost.core import ip_networks
from waypost.core.errors import Kind, Problem
from waypost.core.uris import encoded, to_uri

T = TypeVar("T")
Check = Callable[[], object]
_CHECK_SECONDS = 1.0
Resolver = Callable[[str, int], list[str]]
HostPorts = Set[tuple[str, int]]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT_SECONDS = 10.0
_SENT_BYTES = 4096
"""Written at once: a server that reads slowly gets no more time than the deadline."""
_MAX_HEAD_BYTES = 256 * 1024
"""Read in addition to a body: a server can send interim responses without end."""
_HTTPS_PORT = 443
_NO_ADDRESS = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})
_MAX_LOOKUPS = 2048
"""Names that wait for the DNS at the same time: other work of the process needs threads, too."""
_AGENT = "waypost"
MAX_OF_ACCOUNT = 4
_MAX = 20  # half of the threads of the API
_RETRY_SECONDS = 5


class Deadline:
    """The end of a request. Waits take a second at most, so that `check` can end it before, by raising."""

    def __init__(self, seconds: float, check: Check) -> None:
        self._at, self._check = time.monotonic() + seconds, check

    def left(self) -> float:
        """Return the seconds left. Raises ReadTimeout if there are none."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout
        return seconds

    def wait(self, work: Callable[[float], T], timed_out: type[Exception]) -> T:
        """Return the result of `work`, which gets seconds and raises `timed_out` if they were not enough."""
        while True:
            self._check()
            seconds = min(_CHECK_SECONDS, self.left())
            with suppress(timed_out):
                return work(seconds)


class DeadlineStream(httpcore2.NetworkStream):
    """A connection that fails at the deadline, and after `max_bytes`.

    A server cannot delay it by sending or reading single bytes, nor use the processor by sending without end.
    """

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline, max_bytes: int) -> None:
        self._stream = stream
        self._deadline = deadline
        self._left = max_bytes

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._left <= 0:
            raise httpcore2.ReadError
        received = self._deadline.wait(lambda seconds: self._stream.read(max_bytes, seconds), httpcore2.ReadTimeout)
        self._left -= len(received)
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _SENT_BYTES):
            self._stream.write(buffer[start : start + _SENT_BYTES], self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        encrypted = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return DeadlineStream(encrypted, self._deadline, self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class Refused(Exception):
    """The request was not sent, or not completed; the message gives the reason for the user."""


class Unreachable(Refused):
    """The server did not answer, answered too late, or did not answer with HTTP."""


class NoServer(Unreachable):
    """There is certainly no such server: no address in the DNS, a refused connection, or a certificate that fails."""


@dataclass(frozen=True)
class FetchedResponse:
    """A response: status, headers with lower-case names, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class RedirectChain:
    """A response without its body: all URLs of the redirect chain, the status, and headers with lower-case names."""

    urls: tuple[str, ...]
    status: int
    headers: tuple[tuple[str, str], ...]


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name, from the system's resolver.

    Raises NoServer if the DNS says that there are none, Unreachable if it says nothing.
    """
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError as error:
        message = f"{host} has no address in the DNS"
        raise (NoServer if error.errno in _NO_ADDRESS else Unreachable)(message) from error


def fetch(
    url: str,
    *,
    max_bytes: int,
    seconds: float = 10,
    max_redirects: int = 3,
    verify: bool = True,
    resolver: Resolver = resolve,
) -> FetchedResponse:
    """GET `url`: at most `max_bytes` in at most `seconds`. Every redirect passes the same checks.

    Raises Refused for an internal address, a broken connection, too many redirects, bytes or seconds.
    """
    with _open_pool(resolver, seconds, max_bytes, verify=verify) as pool:
        for _ in range(max_redirects + 1):
            response = _get(pool, url, max_bytes=max_bytes)
            if response.status not in _REDIRECTS or "location" not in response.headers:
                return response
            url = _redirect_url(url, response.headers["location"])
    raise Refused("it redirects too often")


def request(
    url: str,
    *,
    headers: Mapping[str, str],
    form: bytes | None = None,
    max_bytes: int,
    seconds: float,
    trusted_hosts: HostPorts = frozenset(),
    resolver: Resolver = resolve,
    check: Check = lambda: None,
) -> FetchedResponse:
    """GET `url`, or POST a form, with headers such as a token. Follows no redirects, so the token stays with its host.

    `trusted_hosts` may have internal addresses. `check` is called every second, and can raise to end the request.
    Raises Refused as `fetch`.
    """
    with _open_pool(resolver, seconds, max_bytes, trusted_hosts=trusted_hosts, check=check) as pool:
        method, media_type = ("GET", "") if form is None else ("POST", "application/x-www-form-urlencoded")
        exchange = _exchange(pool, method, url, body=form, media_type=media_type, headers=headers)
        with exchange as response:
            return _read(response, max_bytes)


def probe(
    url: str,
    *,
    seconds: float,
    method: Literal["GET", "HEAD"] = "GET",
    agent: str = _AGENT,
    redirects: int = 5,
    resolver: Resolver = resolve,
) -> RedirectChain:
    """Request `url` after its redirects, without reading the body. Raises Refused as `fetch`."""
    urls = [url]
    with _open_pool(resolver, seconds) as pool:
        for _ in range(redirects + 1):
            with _exchange(pool, method, urls[-1], agent=agent) as response:
                headers = _headers(response)
            location = dict(headers).get("location")
            if response.status not in _REDIRECTS or location is None:
                return RedirectChain(tuple(urls), response.status, headers)
            urls.append(_redirect_url(urls[-1], location))
    raise Refused("it redirects too often")


def post(
    url: str,
    body: bytes,
    *,
    media_type: str,
    seconds: float,
    agent: str = _AGENT,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = 0,
    trusted_hosts: HostPorts = frozenset(),
    resolver: Resolver = resolve,
) -> FetchedResponse:
    """POST `body`. Return the response with the first `max_bytes` of its body, or fewer if it breaks off.

    Follows no redirects. `trusted_hosts` may have internal addresses. Raises Refused as `fetch`.
    """
    with (
        _open_pool(resolver, seconds, max_bytes, trusted_hosts=trusted_hosts) as pool,
        _exchange(pool, "POST", url, body=body, media_type=media_type, agent=agent, headers=headers) as response,
    ):
        beginning = _beginning(response, max_bytes) if max_bytes else b""
        return FetchedResponse(response.status, dict(_headers(response)), beginning)


def certificate_end(host: str, *, seconds: float, resolver: Resolver = resolve) -> int:
    """Return when the certificate of `https://host` ends, in seconds since 1970, UTC.

    Raises NoServer if it is not valid, Refused as `fetch`.
    """
    with _refusals():
        stream = _GuardedBackend(resolver, Deadline(seconds, lambda: None), frozenset(), _MAX_HEAD_BYTES).connect_tcp(
            host, _HTTPS_PORT
        )
        try:
            stream = stream.start_tls(_ssl_context(verify=True), host)
            certificate = stream.get_extra_info("ssl_object").getpeercert()
        finally:
            stream.close()
    return int(ssl.cert_time_to_seconds(certificate["notAfter"]))


def _open_pool(
    resolver: Resolver,
    seconds: float,
    max_bytes: int = 0,
    *,
    verify: bool = True,
    trusted_hosts: HostPorts = frozenset(),
    check: Check = lambda: None,
) -> httpcore2.ConnectionPool:
    # Twice, because each part of a chunked body has a head.
    network = _GuardedBackend(resolver, Deadline(seconds, check), trusted_hosts, 2 * max_bytes + _MAX_HEAD_BYTES)
    # Connections are not reused, so that every request is checked.
    return httpcore2.ConnectionPool(
        ssl_context=_ssl_context(verify=verify), network_backend=network, max_keepalive_connections=0, max_connections=1
    )


_contexts = threading.Lock()


def _ssl_context(*, verify: bool) -> ssl.SSLContext:
    """Return the TLS context. The first requests, which can be many at once, wait for one of them to create it."""
    with _contexts:
        return _new_ssl_context(verify=verify)


@cache
def _new_ssl_context(*, verify: bool) -> ssl.SSLContext:
    """Return a TLS context. Cached, because loading the trusted certificates takes 20 ms."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def is_public(address: str) -> bool:
    """Return whether a text is the IP address of a server in the internet."""
    parsed = ip_networks.parse(address)
    return parsed is not None and ip_networks.is_public(parsed)


def _redirect_url(url: str, location: str) -> str:
    """Return the URL of a redirect. Bytes of the header that are not UTF-8 are percent-encoded."""
    try:
        raw = location.encode("latin-1")
        return to_uri(urljoin(url, raw.decode() if _is_utf8(raw) else encoded(raw)))
    except ValueError as error:  # an invalid IPv6 address
        raise Refused("its URL does not begin with http:// or https://") from error


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _get(pool: httpcore2.ConnectionPool, url: str, *, max_bytes: int) -> FetchedResponse:
    with _exchange(pool, "GET", url) as response:
        return _read(response, max_bytes)


def _read(response: httpcore2.Response, max_bytes: int) -> FetchedResponse:
    body = bytearray()
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > max_bytes:
            raise Refused(f"it is larger than {max_bytes} bytes")
    return FetchedResponse(response.status, dict(_headers(response)), bytes(body))


def _beginning(response: httpcore2.Response, max_bytes: int) -> bytes:
    """Read the first bytes of a body. The status is known, so an interruption only shortens it."""
    body = bytearray()
    with suppress(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
        for chunk in response.iter_stream():
            body += chunk
            if len(body) >= max_bytes:
                break
    return bytes(body[:max_bytes])


@contextmanager
def _exchange(
    pool: httpcore2.ConnectionPool,
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    media_type: str = "",
    agent: str = _AGENT,
    headers: Mapping[str, str] | None = None,
) -> Iterator[httpcore2.Response]:
    """Send one request; the body of the response has not been read. Raises Refused."""
    if not url.lower().startswith(("http://", "https://")):
        raise Refused("its URL does not begin with http:// or https://")
    sent = [("User-Agent", agent), ("Accept", "*/*"), ("Accept-Encoding", "identity"), *(headers or {}).items()]
    if body is not None:
        sent += [("Content-Type", media_type), ("Content-Length", str(len(body)))]
    with _refusals(), pool.stream(method, to_uri(url), headers=sent, content=body) as response:
        yield response


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors of connections into Refused."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise Unreachable("it takes too long") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, ValueError) as error:
        message = f"it did not answer ({type(error).__name__})"
        raise (NoServer if _is_no_server(error) else Unreachable)(message) from error


def _is_no_server(error: BaseException) -> bool:
    """Return whether a server refused a connection, or TLS failed otherwise than by an interruption."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionRefusedError | ssl.SSLError):
        cause = cause.__context__  # the pool of connections removes `__cause__`
    return cause is not None and not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError)


def _headers(response: httpcore2.Response) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers)


class _GuardedBackend(httpcore2.NetworkBackend):
    """Network backend that connects only to public addresses and trusted hosts, until a deadline."""

    def __init__(self, resolver: Resolver, deadline: Deadline, trusted_hosts: HostPorts, max_bytes: int) -> None:
        self._resolver = resolver
        self._max_bytes = max_bytes
        self._trusted_hosts = trusted_hosts
        self._deadline = deadline
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # the deadline is stricter
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = self._resolve(host, port)
        is_trusted = (host.lower(), port) in self._trusted_hosts
        if not addresses or not (is_trusted or all(map(is_public, addresses))):
            raise Refused(f"{host} has an internal address")
        timeout = min(_CONNECT_SECONDS, self._deadline.left())
        stream = self._backend.connect_tcp(addresses[0], port, timeout, local_address, socket_options)
        return DeadlineStream(stream, self._deadline, self._max_bytes)

    def _resolve(self, host: str, port: int) -> list[str]:
        """Resolve until the deadline. The system's resolver itself can take half a minute and cannot be stopped."""
        return self._deadline.wait(_in_thread(partial(self._resolver, host, port)).result, TimeoutError)


_lookups = threading.BoundedSemaphore(_MAX_LOOKUPS)


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    """Let a future have the result of `work`, or its error."""
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise


def _in_thread(work: Callable[[], T]) -> Future[T]:
    """Run `work` in a thread of its own: name servers that do not answer hold no other request, nor the process."""
    future, lookups = Future[T](), _lookups
    if not lookups.acquire(blocking=False):
        raise Unreachable("too many names wait for the DNS")
    future.add_done_callback(lambda _: lookups.release())
    try:
        threading.Thread(target=_settle, args=(future, work), name="dns", daemon=True).start()
    except RuntimeError as error:
        future.cancel()
        raise Unreachable("this machine has no thread for its name") from error
    return future


class FetchSlots:
    """Counts the requests that wait for other servers in a process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()

    @contextmanager
    def hold(self, account: int) -> Iterator[None]:
        """Hold a slot for the block. Raises RATE_LIMITED if its account, UNAVAILABLE if all, hold too many."""
        with self._lock:
            if self._waiting[account] >= MAX_OF_ACCOUNT:
                message = f"{MAX_OF_ACCOUNT} requests of this account wait for other servers. Try again after them."
                raise Problem(Kind.RATE_LIMITED, message, retry_after=_RETRY_SECONDS)
            if self._waiting.total() >= _MAX:
                message = "Too many requests wait for other servers right now. Please try again."
                raise Problem(Kind.UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
            self._waiting[account] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[account] -= 1
                self._waiting += Counter()  # without accounts that wait for nothing
