"""What the fast lane does with a hot link: which requests it takes, in which order it answers, and what it writes."""

from collections.abc import Iterator

import pytest
import time_machine

from tests.support.protocol import Wire, wired
from waypost.db.database import Database
from waypost.settings import Settings

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
HOST = b"Host: go.localhost:8000\r\n"
GET = b"GET /spring HTTP/1.1\r\n" + HOST
END = b"\r\n"
REDIRECT = (
    b"HTTP/1.1 302 Found\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nlocation: https://example.com/spring\r\n"
    b"cache-control: private, no-store\r\ncontent-length: 0\r\n\r\n"
)
START = 1_800_000_000


@pytest.fixture
def wire(settings: Settings, database: Database) -> Iterator[Wire]:
    """A service whose link `spring` is hot, behind a proxy on 127.0.0.1."""
    behind = settings.model_copy(update={"trusted_proxies": "127.0.0.1, 10.0.0.0/8", "country_header": "CF-IPCountry"})
    with wired(behind, database) as made:
        made.link("spring")
        assert made.ask(GET + END) == REDIRECT
        made.lines()
        yield made


@pytest.mark.parametrize(
    "more",
    [
        b"",
        b"User-Agent: curl/8.5\r\nAccept: */*\r\n",
        b"USER-AGENT: x\r\nreferer: https://a.example/\r\nAccept-Language: de\r\nCookie: a=b\r\nCookie: c=d\r\n",
        b"X-Forwarded-For: 203.0.113.7\r\nCF-IPCountry: DE\r\n",
        b"Connection: keep-alive\r\nX-Anything: goes\r\n",
        b"User-Agent: " + b"x" * 20_000 + END,
    ],
)
def test_a_plain_get_of_a_hot_link_takes_the_lane(wire: Wire, more: bytes) -> None:
    assert wire.ask(GET + more + END) == REDIRECT
    assert wire.traffic.hits == 1
    assert len(wire.lines()) == 1


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
def test_everything_else_goes_the_full_way(wire: Wire, request_bytes: bytes) -> None:
    assert wire.ask(request_bytes).startswith(b"HTTP/1.1 ")
    assert wire.traffic.hits == 0


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
def test_the_query_of_a_visit_goes_on_byte_by_byte(wire: Wire, query: bytes, passed: bytes) -> None:
    answer = wire.ask(b"GET /spring?" + query + b" HTTP/1.1\r\n" + HOST + END)
    assert b"\r\nlocation: https://example.com/spring?" + passed + b"\r\n" in answer


def test_a_code_into_an_app_is_the_same_at_every_scan(settings: Settings, database: Database) -> None:
    with wired(settings.model_copy(update={"link_schemes": "shop"}), database) as wire:
        wire.link("spring")  # and with it Ana
        body = {"type": "link", "data": "shop://offer/5", "custom": "offer"}
        assert wire.ask(wire.api("POST", "/api/qr/add", body)).startswith(b"HTTP/1.1 200")
        answers = {wire.ask(b"GET /offer HTTP/1.1\r\n" + HOST + END) for _ in range(3)}
        (answer,) = answers
        head, _, page = answer.partition(b"\r\n\r\n")
        assert b"\r\nlocation: shop://offer/5" in head
        assert b"\r\ncontent-length: %d\r\n" % len(page) in head
        assert len(wire.lines()) == 3


def test_a_request_may_arrive_in_any_two_pieces(wire: Wire) -> None:
    request = GET + b"User-Agent: curl/8.5\r\n" + END
    pipe = wire.connect()
    for cut in range(1, len(request)):
        wire.send(pipe, [request[:cut], request[cut:]])
    wire.send(pipe, [request[place : place + 1] for place in range(len(request))])
    assert pipe.taken() == REDIRECT * len(request)
    assert len(wire.lines()) == len(request)


def test_many_requests_in_one_piece_are_answered_one_by_one(wire: Wire) -> None:
    pipe = wire.connect()
    wire.send(pipe, [(GET + END) * 500])
    assert pipe.taken() == REDIRECT * 500
    assert len(wire.lines()) == 500


def test_answers_come_in_the_order_of_the_questions(wire: Wire) -> None:
    cold = b"GET /nobody HTTP/1.1\r\n" + HOST + END
    pipe = wire.connect()
    wire.send(pipe, [GET + END + cold + GET + END + GET + END + cold])
    statuses = [part[:3] for part in pipe.taken().split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"302", b"404", b"302", b"302", b"404"]
    assert [line.split(b"\t")[1] for line in wire.lines()] == [b"link", b"missing", b"link", b"link", b"missing"]


def test_rubbish_behind_a_request_is_refused(wire: Wire) -> None:
    pipe = wire.connect()
    wire.send(pipe, [GET + END, b"\x00\x01\x02"])
    answer = pipe.taken()
    assert answer.startswith(REDIRECT + b"HTTP/1.1 400 Bad Request\r\n")
    assert pipe.is_closing()
    assert len(wire.lines()) == 1


def test_the_first_of_a_header_counts(wire: Wire) -> None:
    assert wire.ask(GET + b"User-Agent: a\r\nUser-Agent: b\r\nHost: unknown.example\r\n" + END) == REDIRECT
    assert wire.traffic.hits == 1
    assert wire.lines()[0].split(b"\t")[6] == b"a"


def test_nobody_is_counted_who_left_before_the_answer(wire: Wire) -> None:
    pipe = wire.connect()
    assert pipe.protocol is not None
    pipe.protocol.data_received(GET + END)
    pipe.close()
    wire.send(pipe, [])
    assert (pipe.taken(), wire.lines()) == (b"", [])


def test_a_server_that_stops_answers_what_it_was_asked(wire: Wire) -> None:
    pipe = wire.connect()
    assert pipe.protocol is not None
    pipe.protocol.data_received(GET + END)
    pipe.protocol.shutdown()
    wire.send(pipe, [])
    assert (pipe.taken(), len(wire.lines())) == (REDIRECT, 1)


def test_a_change_is_in_force_on_the_next_request(wire: Wire) -> None:
    assert wire.ask(wire.api("PUT", "/api/url/1/update", {"url": "https://example.com/summer"}))[9:12] == b"200"
    assert b"location: https://example.com/summer\r\n" in wire.ask(GET + END)
    assert b"location: https://example.com/summer\r\n" in wire.ask(GET + END)
    assert wire.traffic.hits == 1  # hot again
    assert wire.ask(wire.api("PUT", "/api/url/1/update", {"status": "disabled"}))[9:12] == b"200"
    assert wire.ask(GET + END)[9:12] == b"403"
    assert wire.ask(wire.api("PUT", "/api/url/1/update", {"status": "public"}))[9:12] == b"200"
    assert wire.ask(GET + END)[9:12] == wire.ask(GET + END)[9:12] == b"302"
    assert wire.ask(wire.api("DELETE", "/api/url/1/delete"))[9:12] == b"200"
    assert wire.ask(GET + END)[9:12] == b"404"


def test_a_hot_link_ends_with_its_last_second(settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as clock, wired(settings, database) as wire:
        wire.link("spring", expiry="2027-01-15 08:00:09")
        for second, status, hits in ((0, b"302", 0), (9, b"302", 1), (10, b"410", 1)):
            clock.move_to(START + second)
            assert (wire.ask(GET + END)[9:12], wire.traffic.hits) == (status, hits)


def test_a_hot_answer_is_asked_for_again_after_an_hour(settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as clock, wired(settings, database) as wire:
        wire.link("spring")
        for second, hits in ((0, 0), (3599, 1), (3600, 1), (3601, 2)):
            clock.move_to(START + second)
            assert (wire.ask(GET + END), wire.traffic.hits) == (REDIRECT, hits)


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(wire: Wire) -> None:
    idle, busy = wire.connect(), wire.connect()
    for _ in range(4):
        wire.send(busy, [GET + END])
        wire.wait(4)
    assert idle.is_closing()
    assert not busy.is_closing()
    wire.wait(6)
    wire.wait(6)
    assert busy.is_closing()


def test_a_client_that_reads_nothing_cannot_fill_the_memory(wire: Wire) -> None:
    pipe = wire.connect()
    pipe.is_slow = True
    sent = 0
    while pipe.reads and sent < 100_000:
        wire.send(pipe, [(GET + END) * 100])
        sent += 100
    assert len(pipe.written) < 256 * 1024
    pipe.is_slow = False
    answered = pipe.taken()
    wire.send(pipe, [])
    answered += pipe.taken()
    assert answered == REDIRECT * sent
    assert len(wire.lines()) == sent


@pytest.mark.parametrize(
    "header",
    [
        b"User-Agent: fol\r\n ded",
        b"X: a\x00b",
        b"X: a\nb",
        b"X: a\rb",
        b"X : b",
        b"Content-Length: 0\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_header_that_could_hide_another_one_is_refused(wire: Wire, header: bytes) -> None:
    assert wire.ask(GET + header + b"\r\n" + END)[9:12] == b"400"
    assert wire.lines() == []


def test_names_that_somebody_invents_do_not_fill_the_memory(wire: Wire) -> None:
    for start in range(0, 3000, 100):
        invented = b"".join(b"X-%d: 1\r\n" % n for n in range(start, start + 100))
        wire.ask(GET + invented + b"X" * 9000 + b": 1\r\n" + END)
    names = wire.traffic.sniffer._harmless
    assert (len(names) <= 1000, max(map(len, names)) <= 64) == (True, True)
    for length in range(51, 100):
        wire.ask(b"GET /" + b"x" * length + b" HTTP/1.1\r\n" + HOST + END)
    assert not [name for name in wire.traffic.cache._found if len(name[1]) > 50]


LONG = b"https://news.example/" + b"y" * 3000


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        (b"User-Agent: curl/8.5\r\nReferer: https://a.example/\r\nAccept-Language: de\r\n", b"curl/8.5\thttps://a.example/\tde"),
        (b"User-Agent: a\tb\r\nReferer: \t c\td \t\r\n", b"a b\tc d  \t"),
        (b"User-Agent: " + b"x" * 10_240 + b"\r\nReferer: " + LONG + END, b"x" * 512 + b"\t" + LONG[:1024] + b"\t"),
        (b"User-Agent: a\t" + b"x" * 10_240 + END, b"a " + b"x" * 510 + b"\t\t"),
        (b"Accept-Language: \xff\xfe\xc3\xa9\r\nUser-Agent: \x80\r\n", b"\x80\t\t\xff\xfe\xc3\xa9"),
        (b"Accept-Language: " + b"de\t" * 100 + b"x\r\n", b"\t\t" + b"de " * 21 + b"d"),
    ],
)  # fmt: skip
def test_a_click_is_one_line_whatever_its_headers_hold(wire: Wire, headers: bytes, kept: bytes) -> None:
    for request in (GET + headers + END, GET + b"Connection: close\r\n" + headers + END):
        assert b"location: https://example.com/spring\r\n" in wire.ask(request, peer="203.0.113.9")
    assert wire.lines() == [b"1\tlink\t1\t\t203.0.113.9\t\t" + kept] * 2
    assert wire.traffic.hits == 1


@pytest.mark.parametrize(
    ("peer", "headers", "address", "country"),
    [
        ("203.0.113.9", b"", b"203.0.113.9", b""),
        ("203.0.113.9", b"X-Forwarded-For: 1.2.3.4\r\nCF-IPCountry: DE\r\n", b"203.0.113.9", b""),
        ("127.0.0.1", b"X-Forwarded-For: 1.2.3.4\r\nCF-IPCountry: DE\r\n", b"1.2.3.4", b"DE"),
        ("127.0.0.1", b"X-Forwarded-For: 9.9.9.9, 1.2.3.4, 10.1.1.1\r\n", b"1.2.3.4", b""),
        ("127.0.0.1", b"X-Forwarded-For: 9.9.9.9, junk\r\n", b"127.0.0.1", b""),
        ("127.0.0.1", b"CF-IPCountry: a\tb\r\n", b"127.0.0.1", b"a "),
        ("::ffff:203.0.113.9", b"", b"203.0.113.9", b""),
        ("2001:db8::9", b"", b"2001:db8::9", b""),
    ],
)  # fmt: skip
def test_the_lane_and_the_full_path_agree_on_who_it_was(
    wire: Wire, peer: str, headers: bytes, address: bytes, country: bytes
) -> None:
    for request in (GET + headers + END, GET + b"Connection: close\r\n" + headers + END):
        wire.ask(request, peer=peer)
    assert wire.lines() == [b"1\tlink\t1\t\t%b\t%b\t\t\t" % (address, country)] * 2
    assert wire.traffic.hits == 1
