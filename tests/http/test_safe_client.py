"""Outgoing requests: nothing inside the house can be reached, and nothing outside can hold or fill us."""

import time
from collections.abc import Iterator

import pytest

from tests.support.fake_internet import PUBLIC, Answer, Outside, moved, ok, server, world
from waypost.http.safe_client import FetchedResponse, Refused, fetch, is_public

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
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    with world(monkeypatch) as one:
        one.has(NAME, PUBLIC)
        yield one


@pytest.fixture
def house() -> Iterator[tuple[int, list[bytes]]]:
    """A server of our own that nobody outside may make us ask: its port, and what it was asked."""
    asked: list[bytes] = []

    def answer(head: bytes) -> list[bytes]:
        asked.append(head)
        return [ok(b"a secret")]

    with server(answer) as (_, port):
        yield port, asked


def _fetch(outside: Outside, answer: Answer, *, path: str = "/", seconds: float = 5, max_bytes: int = 100) -> FetchedResponse:
    """What comes back from NAME, which stands at a public address and answers like that."""
    with server(answer) as outside.doors[PUBLIC]:
        return fetch(f"http://{NAME}{path}", max_bytes=max_bytes, seconds=seconds)


def test_what_stands_outside_is_fetched_under_its_own_name(outside: Outside) -> None:
    heads: list[bytes] = []

    def answer(head: bytes) -> list[bytes]:
        heads.append(head)
        return [ok(b"hello", b"X-Kind: Greeting")]

    assert _fetch(outside, answer, path="/a?b=c").body == b"hello"
    assert heads[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"\r\nHost: pictures.example\r\n" in heads[0]
    assert outside.reached == [PUBLIC]


def test_header_names_are_lower_case_and_every_status_is_an_answer(outside: Outside) -> None:
    got = _fetch(outside, lambda _: [b"HTTP/1.1 404 No\r\nContent-Length: 2\r\nX-Kind: Greeting\r\n\r\nno"])
    assert (got.status, got.headers["x-kind"], got.body) == (404, "Greeting", b"no")


def test_a_packed_body_is_not_unpacked(outside: Outside) -> None:
    assert _fetch(outside, lambda _: [ok(b"\x1f\x8b packed", b"Content-Encoding: gzip")]).body == b"\x1f\x8b packed"


def test_no_spelling_of_an_internal_address_is_asked(house: tuple[int, list[bytes]]) -> None:
    port, asked = house
    for host in INTERNAL_HOSTS:
        with pytest.raises(Refused):
            fetch(f"http://{host}:{port}/", max_bytes=100)
        assert asked == [], host


@pytest.mark.parametrize("host", ["127.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"])
def test_the_refusal_says_that_the_address_is_internal(host: str) -> None:
    with pytest.raises(Refused, match="leads to an internal address"):
        fetch(f"http://{host}/", max_bytes=100)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, "::1"], ["fe80::1%lo"], []],
    ids=",".join,
)
def test_a_name_with_any_internal_address_is_refused(
    addresses: list[str], outside: Outside, house: tuple[int, list[bytes]]
) -> None:
    port, asked = house
    with pytest.raises(Refused, match="leads to an internal address"):
        fetch(f"http://two.example:{port}/", max_bytes=100, resolver=lambda *_: addresses)
    assert (asked, outside.reached) == ([], [])


def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_the_one_asked(outside: Outside) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    outside.has("two.example", "127.0.0.1")  # what the system's resolver would say by now
    with server(lambda _: [ok(b"hello")]) as outside.doors[PUBLIC]:
        got = fetch("http://two.example/", max_bytes=100, resolver=lambda *_: next(answers))
    assert got.body == b"hello"
    assert outside.reached == [PUBLIC]


def test_a_name_without_an_address_is_refused(outside: Outside) -> None:
    for host in ("nowhere.example", "x" * 64 + ".example"):
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
def test_what_is_no_web_address_is_refused(url: str, outside: Outside) -> None:
    with pytest.raises(Refused):
        fetch(url, max_bytes=100)
    assert outside.reached == []


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{}/", "http://localhost:{}/", "//0x7f.1:{}/", "http://[::1]:{}/"]
)
def test_a_redirect_into_the_house_is_not_followed(
    location: str, outside: Outside, house: tuple[int, list[bytes]]
) -> None:
    port, asked = house
    outside.has("localhost", "127.0.0.1")
    with pytest.raises(Refused, match="leads to an internal address"):
        _fetch(outside, lambda _: [moved(location.format(port).encode())])
    assert asked == []


@pytest.mark.parametrize(
    "location",
    [
        *(b"file:///etc/passwd", b"ftp://pictures.example/", b"javascript:alert(1)", b"http://[", b"http://[x]/"),
        *(b"http://pictures.example:99999/", b"http://\xff\xfe/", b"http://", b"https:pictures.example"),
    ],
)
def test_a_redirect_to_what_is_no_web_address_is_not_followed(location: bytes, outside: Outside) -> None:
    with pytest.raises(Refused):
        _fetch(outside, lambda _: [moved(location)])


def test_a_redirect_outside_is_followed(outside: Outside) -> None:
    def answer(head: bytes) -> list[bytes]:
        return [ok(b"here")] if head.startswith(b"GET /there?x ") else [moved(b"there?x")]

    assert _fetch(outside, answer).body == b"here"


def test_a_redirect_with_letters_of_another_alphabet_is_followed(outside: Outside) -> None:
    def answer(head: bytes) -> list[bytes]:
        return [ok(b"here")] if head.startswith(b"GET /caf%C3%A9%20%25 ") else [moved("/café%20%25".encode())]

    assert _fetch(outside, answer).body == b"here"
    assert _fetch(outside, answer, path="/café%20%25").body == b"here"


def test_a_redirect_that_names_no_place_is_the_answer(outside: Outside) -> None:
    assert _fetch(outside, lambda _: [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"]).status == 302


def test_every_redirect_is_a_connection_of_its_own_and_is_checked_again(outside: Outside) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    with (
        server(lambda _: [moved(b"/next")], keeps_alive=True) as outside.doors[PUBLIC],
        pytest.raises(Refused, match="leads to an internal address"),
    ):
        fetch("http://two.example/", max_bytes=100, resolver=lambda *_: next(answers))
    assert outside.reached == [PUBLIC]


def test_redirects_come_to_an_end(outside: Outside) -> None:
    with pytest.raises(Refused, match="redirects too often"):
        _fetch(outside, lambda _: [moved(b"/")])
    assert len(outside.reached) == 4


def _chunks(size: int) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for _ in range(size):
        yield b"1\r\nx\r\n"
    yield b"0\r\n\r\n"


def test_a_body_may_have_just_as_many_bytes_as_wanted(outside: Outside) -> None:
    assert len(_fetch(outside, lambda _: [ok(b"x" * 100)]).body) == 100
    assert len(_fetch(outside, lambda _: _chunks(100)).body) == 100


@pytest.mark.parametrize(
    "body", [[ok(b"x" * 101)], [ok(b"x" * 10**6)], list(_chunks(101))], ids=["101", "1M", "chunks"]
)
def test_a_body_that_is_too_large_is_refused(body: list[bytes], outside: Outside) -> None:
    with pytest.raises(Refused, match="larger than 100 bytes"):
        _fetch(outside, lambda _: body)


def _dripping(begin: bytes, drop: bytes, end: bytes) -> Answer:
    """An answer that keeps the line busy for a second and then turns out to be a good one."""

    def answer(_: bytes) -> Iterator[bytes]:
        yield begin
        for _drop in range(100):
            time.sleep(0.01)
            yield drop
        yield end

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        _dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"x", b""),
        _dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: ", b"x", b"\r\n\r\n"),
        _dripping(b"", b"", ok(b"")),
    ],
    ids=["body", "headers", "silence"],
)
def test_an_answer_that_takes_too_long_is_refused(answer: Answer, outside: Outside) -> None:
    with pytest.raises(Refused, match="takes too long"):
        _fetch(outside, answer, seconds=0.2)


def test_headers_without_end_are_refused(outside: Outside) -> None:
    with pytest.raises(Refused):
        _fetch(outside, lambda _: [b"HTTP/1.1 200 OK\r\n", *[b"X-More: yes\r\n"] * 100_000])


@pytest.mark.parametrize(
    "said", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"\x00" * 9]
)
def test_a_server_that_breaks_off_or_speaks_something_else_is_refused(said: bytes, outside: Outside) -> None:
    with pytest.raises(Refused, match="did not answer"):
        _fetch(outside, lambda _: [said])


def test_a_server_without_tls_is_refused_where_https_was_asked_for(outside: Outside) -> None:
    with server(lambda _: [ok(b"x")]) as outside.doors[PUBLIC], pytest.raises(Refused, match="did not answer"):
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


def test_only_an_address_of_the_open_internet_is_public() -> None:
    known = {**dict.fromkeys(PUBLIC_ADDRESSES, True), **dict.fromkeys(INTERNAL_ADDRESSES, False)}
    assert {address: is_public(address) for address in known} == known
