"""Safe HTTP client: it reaches no internal address, and limits time and size of responses."""

import errno
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from tests.support.fake_internet import PUBLIC, FakeInternet, Responder, moved, ok, server
from tests.support.server import at_once
from waypost.http import safe_client
from waypost.http.safe_client import FetchedResponse, NoServer, Refused, Unreachable, fetch, is_public, post, probe

NAME = "pictures.example"
INTERNAL_HOSTS = (
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001"),
    *("0.0.0.0", "0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1"),
    *("192.0.0.1", "192.0.2.1", "198.51.100.7", "203.0.113.5", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::7f00:1]"),
    *("[::ffff:0:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]"),
    *("[2001:0:5db8:d822::80ff:fffe]", "[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[fec0::1]", "[ff02::1]"),
    *("[2001:db8::1]", "[100::1]", "[4000::1]", "user@127.0.0.1", "user:pass@[::1]"),
)


@pytest.fixture
def internet(internet: FakeInternet) -> FakeInternet:
    """The fake internet with NAME."""
    internet.add_host(NAME, PUBLIC)
    return internet


@pytest.fixture
def internal_server() -> Iterator[tuple[int, list[bytes]]]:
    """An internal server that must not receive requests: its port, and the requests that it received."""
    requests: list[bytes] = []

    def answer(head: bytes) -> list[bytes]:
        requests.append(head)
        return [ok(b"a secret")]

    with server(answer) as (_, port):
        yield port, requests


def _fetch(
    internet: FakeInternet, respond: Responder, *, path: str = "/", seconds: float = 5, max_bytes: int = 100
) -> FetchedResponse:
    """Fetch from NAME, a server at a public address that answers with `answer`."""
    with server(respond) as internet.routes[PUBLIC]:
        return fetch(f"http://{NAME}{path}", max_bytes=max_bytes, seconds=seconds)


def test_public_server_receives_request_with_its_host_name(internet: FakeInternet) -> None:
    heads: list[bytes] = []

    def answer(head: bytes) -> list[bytes]:
        heads.append(head)
        return [ok(b"hello", b"X-Kind: Greeting")]

    assert _fetch(internet, answer, path="/a?b=c").body == b"hello"
    assert heads[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"\r\nHost: pictures.example\r\n" in heads[0]
    assert internet.connections == [PUBLIC]


def test_error_status_is_returned_with_lower_case_header_names(internet: FakeInternet) -> None:
    response = _fetch(internet, lambda _: [b"HTTP/1.1 404 No\r\nContent-Length: 2\r\nX-Kind: Greeting\r\n\r\nno"])
    assert (response.status, response.headers["x-kind"], response.body) == (404, "Greeting", b"no")


def test_compressed_body_is_not_decompressed(internet: FakeInternet) -> None:
    assert _fetch(internet, lambda _: [ok(b"\x1f\x8b packed", b"Content-Encoding: gzip")]).body == b"\x1f\x8b packed"


def test_internal_address_in_any_spelling_receives_no_request(internal_server: tuple[int, list[bytes]]) -> None:
    port, requests = internal_server
    for host in INTERNAL_HOSTS:
        with pytest.raises(Refused):
            fetch(f"http://{host}:{port}/", max_bytes=100)
        assert requests == [], host


@pytest.mark.parametrize("host", ["127.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"])
def test_internal_address_is_named_as_the_reason(host: str) -> None:
    with pytest.raises(Refused, match="has an internal address"):
        fetch(f"http://{host}/", max_bytes=100)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, "::1"], ["fe80::1%lo"], []],
    ids=",".join,
)
def test_name_with_any_internal_address_is_rejected(
    addresses: list[str], internet: FakeInternet, internal_server: tuple[int, list[bytes]]
) -> None:
    port, requests = internal_server
    with pytest.raises(Refused, match="has an internal address"):
        fetch(f"http://two.example:{port}/", max_bytes=100, resolver=lambda *_: addresses)
    assert (requests, internet.connections) == ([], [])


def test_name_is_resolved_once_and_checked_address_is_used(internet: FakeInternet) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    internet.add_host("two.example", "127.0.0.1")  # what the system's resolver returns now
    with server(lambda _: [ok(b"hello")]) as internet.routes[PUBLIC]:
        response = fetch("http://two.example/", max_bytes=100, resolver=lambda *_: next(answers))
    assert response.body == b"hello"
    assert internet.connections == [PUBLIC]


@pytest.mark.parametrize("host", ["nowhere.example", "x" * 64 + ".example"])
def test_name_without_address_is_rejected(internet: FakeInternet, host: str) -> None:
    with pytest.raises(Refused):
        fetch(f"http://{host}/", max_bytes=100)


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://pictures.example/", "gopher://pictures.example/", "javascript:alert(1)"),
        *(
            "data:text/plain,x",
            "//pictures.example/",
            "/",
            "",
            "http:",
            "http://",
            "http:///x",
            "http://[::1",
            "https:",
        ),
        *("http://pictures.example:99999/", "http://pictures.example:x/", "http://ünï.example/", " http://a.example/"),
    ],
)
def test_url_that_is_not_http_is_rejected(url: str, internet: FakeInternet) -> None:
    with pytest.raises(Refused):
        fetch(url, max_bytes=100)
    assert internet.connections == []


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{}/", "http://localhost:{}/", "//0x7f.1:{}/", "http://[::1]:{}/"]
)
def test_redirect_to_internal_address_is_not_followed(
    location: str, internet: FakeInternet, internal_server: tuple[int, list[bytes]]
) -> None:
    port, requests = internal_server
    internet.add_host("localhost", "127.0.0.1")
    with pytest.raises(Refused, match="has an internal address"):
        _fetch(internet, lambda _: [moved(location.format(port).encode())])
    assert requests == []


@pytest.mark.parametrize(
    "location",
    [
        *(b"file:///etc/passwd", b"ftp://pictures.example/", b"javascript:alert(1)", b"http://[", b"http://[x]/"),
        *(b"http://pictures.example:99999/", b"http://\xff\xfe/", b"http://", b"https:pictures.example"),
    ],
)
def test_redirect_to_url_that_is_not_http_is_not_followed(location: bytes, internet: FakeInternet) -> None:
    with pytest.raises(Refused):
        _fetch(internet, lambda _: [moved(location)])


def test_redirect_to_public_address_is_followed(internet: FakeInternet) -> None:
    def answer(head: bytes) -> list[bytes]:
        return [ok(b"here")] if head.startswith(b"GET /there?x ") else [moved(b"there?x")]

    assert _fetch(internet, answer).body == b"here"


def test_redirect_with_non_ascii_path_is_followed(internet: FakeInternet) -> None:
    def answer(head: bytes) -> list[bytes]:
        return [ok(b"here")] if head.startswith(b"GET /caf%C3%A9%20%25 ") else [moved("/café%20%25".encode())]

    assert _fetch(internet, answer).body == b"here"
    assert _fetch(internet, answer, path="/café%20%25").body == b"here"


def test_redirect_without_location_is_returned(internet: FakeInternet) -> None:
    assert _fetch(internet, lambda _: [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"]).status == 302


def test_redirect_on_same_host_is_resolved_and_checked_again(internet: FakeInternet) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    with (
        server(lambda _: [moved(b"/next")], keeps_alive=True) as internet.routes[PUBLIC],
        pytest.raises(Refused, match="has an internal address"),
    ):
        fetch("http://two.example/", max_bytes=100, resolver=lambda *_: next(answers))
    assert internet.connections == [PUBLIC]


def test_too_many_redirects_are_rejected(internet: FakeInternet) -> None:
    with pytest.raises(Refused, match="redirects too often"):
        _fetch(internet, lambda _: [moved(b"/")])
    assert len(internet.connections) == 4


def _chunks(size: int) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(size):
        yield b"1\r\nx\r\n"
    yield b"0\r\n\r\n"


def test_body_of_maximum_size_is_returned(internet: FakeInternet) -> None:
    assert len(_fetch(internet, lambda _: [ok(b"x" * 100)]).body) == 100
    assert len(_fetch(internet, lambda _: _chunks(100)).body) == 100


@pytest.mark.parametrize(
    "body", [[ok(b"x" * 101)], [ok(b"x" * 10**6)], list(_chunks(101))], ids=["101", "1M", "chunks"]
)
def test_body_over_maximum_size_is_rejected(body: list[bytes], internet: FakeInternet) -> None:
    with pytest.raises(Refused, match="larger than 100 bytes"):
        _fetch(internet, lambda _: body)


def _slow_response(begin: bytes, piece: bytes, end: bytes) -> Responder:
    """A valid response that takes a second."""

    def answer(head: bytes) -> Iterator[bytes]:
        yield begin
        for _ in range(100):
            time.sleep(0.01)
            yield piece
        yield end

    return answer


@pytest.mark.parametrize(
    "respond",
    [
        _slow_response(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"x", b""),
        _slow_response(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: ", b"x", b"\r\n\r\n"),
        _slow_response(b"", b"", ok(b"")),
    ],
    ids=["body", "headers", "silence"],
)
def test_slow_response_is_rejected(respond: Responder, internet: FakeInternet) -> None:
    with pytest.raises(Refused, match="takes too long"):
        _fetch(internet, respond, seconds=0.2)


def test_slow_name_server_is_abandoned_at_the_deadline() -> None:
    answered = threading.Event()

    def resolve(host: str, port: int) -> list[str]:  # the signature of a Resolver
        answered.wait(30)
        return [PUBLIC]

    try:
        with pytest.raises(Refused, match="takes too long"):
            fetch(f"http://{NAME}/", max_bytes=100, seconds=0.2, resolver=resolve)
        assert not answered.is_set()
    finally:
        answered.set()


def test_name_servers_that_hang_hold_no_other_request(internet: FakeInternet) -> None:
    answered = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        answered.wait(30)
        return [PUBLIC]

    try:
        for _ in range(30):
            with pytest.raises(Refused):
                fetch(f"http://{NAME}/", max_bytes=100, seconds=0.01, resolver=resolve)
        assert _fetch(internet, lambda _: [ok(b"hello")]).body == b"hello"
    finally:
        answered.set()


def test_names_that_wait_for_the_dns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups, answered = threading.BoundedSemaphore(2), threading.Event()
    monkeypatch.setattr(safe_client, "_lookups", lookups)

    def resolve(host: str, port: int) -> list[str]:
        answered.wait(30)
        return ["127.0.0.1"]

    def error_of_fetch(seconds: float) -> str:
        with pytest.raises(Refused) as refused:
            fetch(f"http://{NAME}/", max_bytes=100, seconds=seconds, resolver=resolve)
        return str(refused.value)

    try:
        assert [error_of_fetch(0.01) for _ in range(3)] == ["it takes too long"] * 2 + [
            "too many names wait for the DNS"
        ]
    finally:
        answered.set()
    assert all(lookups.acquire(timeout=30) for _ in range(2)), "lookups that have ended count no more"
    lookups.release(2)
    assert "internal address" in error_of_fetch(30)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (socket.gaierror(socket.EAI_NONAME, "not known"), NoServer),
        (socket.gaierror(socket.EAI_NODATA, "no address"), NoServer),
        (socket.gaierror(socket.EAI_AGAIN, "temporary failure"), Unreachable),
        (socket.gaierror(socket.EAI_FAIL, "name server refuses"), Unreachable),
        (OSError(errno.EMFILE, "too many open files"), Unreachable),
    ],
)
def test_only_an_answer_of_the_dns_says_that_there_is_no_server(
    error: OSError, kind: type[Unreachable], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(Unreachable) as raised:
        safe_client.resolve(NAME, 80)
    assert type(raised.value) is kind


def test_first_requests_of_many_threads_load_the_certificates_once(
    internet: FakeInternet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading takes 20 ms of the processor, so that the first webhooks after a start would wait for seconds."""
    loaded, create, pause = [], ssl.create_default_context, threading.Event()

    def load() -> ssl.SSLContext:
        loaded.append(1)
        pause.wait(0.05)  # so that all threads are here, without a lock
        return create()

    safe_client._new_ssl_context.cache_clear()
    monkeypatch.setattr(ssl, "create_default_context", load)
    with server(lambda _: [ok(b"x")]) as internet.routes[PUBLIC]:
        at_once([partial(fetch, f"http://{NAME}/", max_bytes=100)] * 8)
    assert loaded == [1]


def test_server_that_reads_slowly_is_given_up_at_the_deadline(internet: FakeInternet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        internet.routes[PUBLIC] = listening.getsockname()
        reading = threading.Thread(target=_read_slowly, args=(listening,))
        reading.start()
        with pytest.raises(Refused, match="takes too long"):
            post(f"http://{NAME}/", bytes(40_000_000), media_type="text/plain", seconds=0.5)
        reading.join(30)


def _read_slowly(listening: socket.socket) -> None:
    """Read a request, and answer after its last byte."""
    pause = threading.Event()
    with suppress(OSError), listening.accept()[0] as connection:
        while received := connection.recv(65_536):
            pause.wait(0.02)
            if len(received) < 65_536:
                connection.sendall(ok(b""))


def test_endless_interim_responses_are_rejected(internet: FakeInternet) -> None:
    def answer(_: bytes) -> Iterator[bytes]:
        while True:
            yield b"HTTP/1.1 100 Continue\r\n\r\n" * 1000

    with pytest.raises(Refused, match="did not answer"):
        _fetch(internet, answer, seconds=30)


def test_endless_headers_are_rejected(internet: FakeInternet) -> None:
    with pytest.raises(Refused):
        _fetch(internet, lambda _: [b"HTTP/1.1 200 OK\r\n", *[b"X-More: yes\r\n"] * 100_000])


@pytest.mark.parametrize(
    "content", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"\x00" * 9]
)
def test_incomplete_or_invalid_response_is_rejected(content: bytes, internet: FakeInternet) -> None:
    with pytest.raises(Refused, match="did not answer"):
        _fetch(internet, lambda _: [content])


def test_https_url_of_server_without_tls_is_rejected(internet: FakeInternet) -> None:
    with server(lambda _: [ok(b"x")]) as internet.routes[PUBLIC], pytest.raises(Refused, match="did not answer"):
        fetch(f"https://{NAME}/", max_bytes=100, seconds=5)


PUBLIC_ADDRESSES = (
    *("8.8.8.8", "1.1.1.1", PUBLIC, "172.15.255.255", "172.32.0.1", "11.0.0.1", "100.63.0.1", "100.128.0.1"),
    *("2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
)
INTERNAL_ADDRESSES = (
    *("127.0.0.1", "127.255.255.254", "10.0.0.0", "172.31.255.255", "192.168.0.0", "169.254.0.1", "100.127.255.255"),
    *("0.0.0.0", "0.1.2.3", "224.0.0.251", "239.255.255.250", "::1", "::", "::ffff:10.0.0.1", "::10.0.0.1"),
    *("::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "2002:a00:1::1", "fec0::1", "fe80::1%eth0"),
    *("fdff::1", "ff0e::1", "::ffff:224.0.0.1", "2001:db8::1", "2001:2::1", "5f00::1", "e000::1"),
)


def test_only_global_unicast_addresses_are_public() -> None:
    known = {**dict.fromkeys(PUBLIC_ADDRESSES, True), **dict.fromkeys(INTERNAL_ADDRESSES, False)}
    assert {address: is_public(address) for address in known} == known


def test_request_and_its_redirects_go_to_uris(internet: FakeInternet) -> None:
    heads: list[bytes] = []
    locations = iter(("http://bücher.example/ü".encode(), b"http://b%C3%BCcher.example/\xfc", b"/%C3%BC"))

    def answer(head: bytes) -> list[bytes]:
        heads.append(head)
        location = next(locations, None)
        return [ok(b"hello") if location is None else moved(location)]

    internet.add_host("xn--bcher-kva.example", PUBLIC)
    with server(answer) as internet.routes[PUBLIC]:
        chain = probe("http://bücher.example/straße?q=ü", seconds=20)
    paths = ("/stra%C3%9Fe?q=%C3%BC", "/%C3%BC", "/%FC", "/%C3%BC")
    assert [head.split()[1].decode() for head in heads] == list(paths)
    assert all(b"Host: xn--bcher-kva.example\r\n" in head for head in heads)
    assert list(chain.urls[1:]) == [f"http://xn--bcher-kva.example{path}" for path in paths[1:]]
