"""Fast path: which requests it answers, the order of responses, and its journal lines."""

from collections.abc import Iterator

import pytest
import time_machine

from tests.support.databases import ON_SQLITE
from tests.support.protocol import ProtocolClient, protocol_client
from waypost.core.settings import Settings
from waypost.db.database import Database

pytestmark = ON_SQLITE
HOST = b"Host: go.localhost:8000\r\n"
GET = b"GET /spring HTTP/1.1\r\n" + HOST
END = b"\r\n"
REDIRECT = (
    b"HTTP/1.1 302 Found\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nlocation: https://example.com/spring\r\n"
    b"cache-control: private, no-store\r\ncontent-length: 0\r\n\r\n"
)
START = 1_800_000_000


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application whose link `spring` is hot, behind a proxy on 127.0.0.1."""
    proxied = settings.model_copy(update={"trusted_proxies": "127.0.0.1, 10.0.0.0/8", "country_header": "CF-IPCountry"})
    with protocol_client(proxied, database) as client:
        client.add_link("spring")
        assert client.request(GET + END) == REDIRECT
        client.new_journal_lines()
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        b"User-Agent: curl/8.5\r\nAccept: */*\r\n",
        b"USER-AGENT: x\r\nreferer: https://a.example/\r\nAccept-Language: de\r\nCookie: a=b\r\nCookie: c=d\r\n",
        b"X-Forwarded-For: 203.0.113.7\r\nCF-IPCountry: DE\r\n",
        b"Connection: keep-alive\r\nX-Anything: goes\r\n",
        b"User-Agent: " + b"x" * 20_000 + END,
    ],
)
def test_plain_get_of_hot_link_uses_fast_path(client: ProtocolClient, headers: bytes) -> None:
    assert client.request(GET + headers + END) == REDIRECT
    assert client.worker_state.hits == 1
    assert len(client.new_journal_lines()) == 1


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"HEAD /spring HTTP/1.1\r\n" + HOST + END,
        b"POST /spring HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n" + END,
        b"GET /spring HTTP/1.0\r\n" + HOST + END,
        b"GET /spring?a=b HTTP/1.1\r\n" + HOST + END,
        b"GET /spr%69ng HTTP/1.1\r\n" + HOST + END,
        b"GET /Spring HTTP/1.1\r\n" + HOST + END,
        b"GET http://go.localhost:8000/spring HTTP/1.1\r\n" + HOST + END,
        b"GET /spring HTTP/1.1\r\nHost: brand.example\r\n" + END,
        b"GET /spring HTTP/1.1\r\n" + END,
        *(
            GET + header + b"\r\n" + END
            for header in (
                b"Connection: close",
                b"Content-Length: 0",
                b"Transfer-Encoding: chunked\r\n\r\n0",
                b"Expect: 100-continue",
                b"Upgrade: h2c",
                b"Sec-Purpose: prefetch",
                b"Purpose: prefetch",
                b"X-Moz: prefetch",
                b"host: go.localhost:8000",
                b"User-Agent: a\r\nuser-agent: b",
                b"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 10.0.0.1",
            )
        ),
    ],
)
def test_request_that_is_not_a_plain_get_uses_slow_path(client: ProtocolClient, request_bytes: bytes) -> None:
    assert client.request(request_bytes).startswith(b"HTTP/1.1 ")
    assert client.worker_state.hits == 0


@pytest.mark.parametrize(
    ("query", "passed"),
    [
        (b"a=b&c", b"a=b&c"),
        (b"q=a+b%20c%E9", b"q=a+b%20c%E9"),
        (b"&".join([b"x"] * 500), b"&".join([b"x"] * 500)),
        (b'"<>\\^`{|}', b"%22%3C%3E%5C%5E%60%7B%7C%7D"),
        (b"x=%0d%0aSet-Cookie:a=b", b"x=%0d%0aSet-Cookie:a=b"),
    ],
)
def test_query_is_appended_unchanged(client: ProtocolClient, query: bytes, passed: bytes) -> None:
    response = client.request(b"GET /spring?" + query + b" HTTP/1.1\r\n" + HOST + END)
    assert b"\r\nlocation: https://example.com/spring?" + passed + b"\r\n" in response


def test_qr_redirect_to_app_always_has_page(settings: Settings, database: Database) -> None:
    with protocol_client(settings.model_copy(update={"link_schemes": "shop"}), database) as client:
        client.add_link("spring")  # creates the account, too
        body = {"type": "link", "data": "shop://offer/5", "custom": "offer"}
        assert client.request(client.api_request("POST", "/api/qr/add", body)).startswith(b"HTTP/1.1 200")
        (response,) = {client.request(b"GET /offer HTTP/1.1\r\n" + HOST + END) for _ in range(3)}
        head, _, page = response.partition(b"\r\n\r\n")
        assert b"\r\nlocation: shop://offer/5" in head
        assert b"\r\ncontent-length: %d\r\n" % len(page) in head
        assert len(client.new_journal_lines()) == 3


def test_request_in_pieces_is_answered(client: ProtocolClient) -> None:
    request = GET + b"User-Agent: curl/8.5\r\n" + END
    pipe = client.connect()
    for cut in range(1, len(request)):
        client.send(pipe, [request[:cut], request[cut:]])
    client.send(pipe, [request[index : index + 1] for index in range(len(request))])
    assert pipe.receive() == REDIRECT * len(request)
    assert len(client.new_journal_lines()) == len(request)


def test_pipelined_requests_are_all_answered(client: ProtocolClient) -> None:
    pipe = client.connect()
    client.send(pipe, [(GET + END) * 100])
    assert pipe.receive() == REDIRECT * 100
    assert len(client.new_journal_lines()) == 100


def test_requests_behind_a_slow_one_are_answered_in_the_same_turn(client: ProtocolClient) -> None:
    pipes = [client.connect() for _ in range(3)]
    slow = b"HEAD /spring HTTP/1.1\r\n" + HOST + END
    for pipe, data in zip(pipes, (GET + END, slow, GET + END), strict=True):
        assert pipe.protocol is not None
        pipe.protocol.data_received(data)
    client.send(pipes[1], [])
    assert pipes[0].receive() == pipes[2].receive() == REDIRECT
    assert len(client.new_journal_lines()) == 3


def test_pipelined_responses_keep_order(client: ProtocolClient) -> None:
    cold = b"GET /missing HTTP/1.1\r\n" + HOST + END
    pipe = client.connect()
    client.send(pipe, [GET + END + cold + GET + END + GET + END + cold])
    statuses = [part[:3] for part in pipe.receive().split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"302", b"404", b"302", b"302", b"404"]
    assert [line.split(b"\t")[1] for line in client.new_journal_lines()] == [
        b"link",
        b"missing",
        b"link",
        b"link",
        b"missing",
    ]


def test_garbage_after_request_returns_400(client: ProtocolClient) -> None:
    pipe = client.connect()
    client.send(pipe, [GET + END, b"\x00\x01\x02"])
    response = pipe.receive()
    assert response.startswith(REDIRECT + b"HTTP/1.1 400 Bad Request\r\n")
    assert pipe.is_closing()
    assert len(client.new_journal_lines()) == 1


def test_first_of_repeated_headers_counts(client: ProtocolClient) -> None:
    assert client.request(GET + b"User-Agent: a\r\nUser-Agent: b\r\nReferer: https://a.example/\r\n" + END) == REDIRECT
    assert client.worker_state.hits == 1
    assert client.new_journal_lines()[0].split(b"\t")[6] == b"a"


def test_client_that_disconnects_early_is_not_counted(client: ProtocolClient) -> None:
    pipe = client.connect()
    assert pipe.protocol is not None
    pipe.protocol.data_received(GET + END)
    pipe.close()
    client.send(pipe, [])
    assert (pipe.receive(), client.new_journal_lines()) == (b"", [])


def test_shutdown_answers_pending_requests(client: ProtocolClient) -> None:
    pipe = client.connect()
    assert pipe.protocol is not None
    pipe.protocol.data_received(GET + END)
    pipe.protocol.shutdown()
    client.send(pipe, [])
    assert (pipe.receive(), len(client.new_journal_lines())) == (REDIRECT, 1)


def test_change_takes_effect_on_next_request(client: ProtocolClient) -> None:
    summer = {"url": "https://example.com/summer"}
    assert client.request(client.api_request("PUT", "/api/url/1/update", summer))[9:12] == b"200"
    assert b"location: https://example.com/summer\r\n" in client.request(GET + END)
    assert b"location: https://example.com/summer\r\n" in client.request(GET + END)
    assert client.worker_state.hits == 1  # cached again
    assert client.request(client.api_request("PUT", "/api/url/1/update", {"status": "disabled"}))[9:12] == b"200"
    assert client.request(GET + END)[9:12] == b"403"
    assert client.request(client.api_request("PUT", "/api/url/1/update", {"status": "public"}))[9:12] == b"200"
    assert client.request(GET + END)[9:12] == client.request(GET + END)[9:12] == b"302"
    assert client.request(client.api_request("DELETE", "/api/url/1/delete"))[9:12] == b"200"
    assert client.request(GET + END)[9:12] == b"404"


def test_hot_link_expires_to_the_second(settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as clock, protocol_client(settings, database) as client:
        client.add_link("spring", expiry="2027-01-15 08:00:09")
        for second, status, hits in ((0, b"302", 0), (9, b"302", 1), (10, b"410", 1)):
            clock.move_to(START + second)
            assert (client.request(GET + END)[9:12], client.worker_state.hits) == (status, hits)


def test_hot_response_is_renewed_after_an_hour(settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as clock, protocol_client(settings, database) as client:
        client.add_link("spring")
        for second, hits in ((0, 0), (3599, 1), (3600, 1), (3601, 2)):
            clock.move_to(START + second)
            assert (client.request(GET + END), client.worker_state.hits) == (REDIRECT, hits)


def test_client_that_does_not_read_is_throttled(client: ProtocolClient) -> None:
    pipe = client.connect()
    pipe.is_slow = True
    sent = 0
    while pipe.accepts_data and sent < 100_000:
        client.send(pipe, [(GET + END) * 100])
        sent += 100
    assert len(pipe.written) < 256 * 1024
    pipe.is_slow = False
    answered = pipe.receive()
    client.send(pipe, [])
    answered += pipe.receive()
    assert answered == REDIRECT * sent
    assert len(client.new_journal_lines()) == sent


MALFORMED = (*(b"X: a\x00b", b"X: a\nb", b"X: a\rb", b"X : b"), b"Content-Length: 0\r\nTransfer-Encoding: chunked")


@pytest.mark.parametrize("header", [b"User-Agent: fol\r\n ded", *MALFORMED])
def test_malformed_header_returns_400(client: ProtocolClient, header: bytes) -> None:
    assert client.request(GET + header + b"\r\n" + END)[9:12] == b"400"
    assert client.new_journal_lines() == []


def test_caches_of_names_are_bounded(client: ProtocolClient) -> None:
    for number in range(1500):
        assert REDIRECT in client.request(GET + b"X-%d: 1\r\n" % number + END)
    client.request(GET + b"X" * 9000 + b": 1\r\n" + END)
    layouts = client.worker_state.sniffer._layouts
    assert (len(layouts) <= 1000, max(sum(map(len, names)) for names in layouts) <= 2048) == (True, True)
    for length in range(51, 100):
        client.request(b"GET /" + b"x" * length + b" HTTP/1.1\r\n" + HOST + END)
    assert not [name for name in client.worker_state.cache._resolved if len(name[1]) > 50]


LONG = b"https://news.example/" + b"y" * 3000


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        (b"User-Agent: curl/8.5\r\nReferer: https://a.example/\r\nAccept-Language: de\r\n", b"curl/8.5\thttps://a.example/\tde"),
        (b"User-Agent: a\tb\r\nReferer: \t c\td \t\r\n", b"a b\tc d  \t"),
        (b"User-Agent: " + b"x" * 10_240 + b"\r\nReferer: " + LONG + END, b"x" * 512 + b"\t" + LONG[:1024] + b"\t"),
        (b"User-Agent: a\t" + b"x" * 10_240 + END, b"a " + b"x" * 510 + b"\t\t"),
        (b"Accept-Language: \xff\xfe\xc3\xa9\r\nUser-Agent: \x80\r\n", b"\x80\t\t\xff\xfe\xc3\xa9"),
        (b"Accept-Language: " + b"de\t" * 100 + b"x\r\n", b"\t\t" + b"de " * 21 + b"d"),
    ],
)  # fmt: skip
def test_click_is_one_journal_line_with_any_headers(client: ProtocolClient, headers: bytes, fields: bytes) -> None:
    for request in (GET + headers + END, GET + b"Connection: close\r\n" + headers + END):
        assert b"location: https://example.com/spring\r\n" in client.request(request, peer="203.0.113.9")
    assert client.new_journal_lines() == [b"1\tlink\t1\t\t203.0.113.9\t\t" + fields] * 2
    assert client.worker_state.hits == 1


@pytest.mark.parametrize(
    ("peer", "headers", "ip", "country"),
    [
        ("203.0.113.9", b"", b"203.0.113.9", b""),
        ("203.0.113.9", b"X-Forwarded-For: 1.2.3.4\r\nCF-IPCountry: DE\r\n", b"203.0.113.9", b""),
        ("127.0.0.1", b"X-Forwarded-For: 1.2.3.4\r\nCF-IPCountry: DE\r\n", b"1.2.3.4", b"DE"),
        ("127.0.0.1", b"X-Forwarded-For: 9.9.9.9, 1.2.3.4, 10.1.1.1\r\n", b"1.2.3.4", b""),
        ("127.0.0.1", b"X-Forwarded-For: 9.9.9.9, junk\r\n", b"unknown", b""),
        ("127.0.0.1", b"", b"unknown", b""),
        ("127.0.0.1", b"CF-IPCountry: a\tb\r\n", b"unknown", b"a "),
        ("::ffff:203.0.113.9", b"", b"203.0.113.9", b""),
        ("2001:db8::9", b"", b"2001:db8::9", b""),
    ],
)  # fmt: skip
def test_fast_and_slow_path_log_same_client(
    client: ProtocolClient, peer: str, headers: bytes, ip: bytes, country: bytes
) -> None:
    for request in (GET + headers + END, GET + b"Connection: close\r\n" + headers + END):
        client.request(request, peer=peer)
    assert client.new_journal_lines() == [b"1\tlink\t1\t\t%b\t%b\t\t\t" % (ip, country)] * 2
    assert client.worker_state.hits == 1
