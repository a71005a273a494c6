"""Request sniffer: requests are read alike with a compiled layout and with uvicorn's parser."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.visits import request_sniffer
from waypost.visits.request_sniffer import AGENT, COUNTRY, HOST, URL, RequestFields, RequestSniffer

NAMES = [
    *(b"Host", b"host", b"User-Agent", b"Referer", b"Accept-Language", b"Accept", b"Accept-Encoding", b"Range"),
    *(b"Cookie", b"X-Forwarded-For", b"CF-IPCountry", b"Connection", b"X-Any", b"sec-ch-ua", b"X.Odd*'|~!#$%&+^`"),
    *(b"Content-Length", b"Purpose", b"Upgrade", b"Transfer-Encoding"),
]
VALUES = [
    *(b"", b"a", b"a b", b"a\tb", b"\xc3\xa9", b"keep-alive", b"Keep-Alive", b"close", b"go.example:80", b"5"),
    b"x" * 300,
]
SPACES = [b"", b" ", b" ", b" ", b"  ", b"\t", b" \t "]
URLS = [
    *(b"/spring", b"/", b"/api/urls", b"/apis", b"/a?b=c#d", b"//x", b"/%00", b"/caf\xc3\xa9", b"/a b"),
    *(b"*", b"http://x/"),
]
NEVER = 10**9
BROWSER = [b"Host", b"User-Agent", b"Accept", b"Referer", b"Connection", b"CF-IPCountry"]


def _request(url: bytes, headers: list[tuple[bytes, bytes, bytes, bytes]]) -> bytes:
    lines = [b"%b:%b%b%b" % header for header in headers]
    return b"\r\n".join([b"GET %b HTTP/1.1" % url, *lines, b"", b""])


def _read(sniffer: RequestSniffer, data: bytes) -> RequestFields | None:
    """Return all fields."""
    fields = sniffer.read(data)
    if fields is None:
        return None
    every = sniffer.all_fields(data, fields)
    assert fields == every[: len(fields)]
    return every


@st.composite
def requests_of_one_layout(draw: st.DrawFn) -> list[bytes]:
    """Return requests with the same header names in the same order; some are damaged."""
    names = draw(st.one_of(st.just(BROWSER), st.lists(st.sampled_from(NAMES), max_size=8)))
    requests = []
    for _ in range(draw(st.integers(2, 10))):
        values, spaces = st.sampled_from(VALUES), st.sampled_from(SPACES)
        headers = [(name, draw(spaces), draw(values), draw(spaces)) for name in names]
        data = _request(draw(st.sampled_from(URLS)), headers)
        if draw(st.booleans()):
            place, removed = draw(st.integers(0, len(data))), draw(st.integers(0, 2))
            inserted = draw(st.one_of(st.binary(max_size=2), st.sampled_from([b"\r\n", b"\n", b"\r", b"\r\n "])))
            data = data[:place] + inserted + data[place + removed :]
        requests.append(data)
    return requests


@settings(max_examples=500)
@given(requests=requests_of_one_layout())
def test_compiled_layout_reads_like_parser(requests: list[bytes]) -> None:
    compiling, parsing = RequestSniffer(b"cf-ipcountry"), RequestSniffer(b"cf-ipcountry")
    for data in requests:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 1)
            patch.setattr(request_sniffer, "_MIN_LEAD_OF_FAVORITE", 1)
            compiled = _read(compiling, data)
        assert compiled == _read(parsing, data)
    assert not parsing._expressions


def test_frequent_layout_is_read_by_its_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 3)
    sniffer = RequestSniffer(b"cf-ipcountry")
    for number in range(6):
        monkeypatch.setattr(sniffer, "_parse", sniffer._parse if number < 3 else None)
        data = _request(b"/n%d" % number, [(name, b" ", b"keep-alive", b"") for name in BROWSER])
        fields = sniffer.read(data)
        assert fields is not None
        assert (fields[URL], fields[HOST], fields[AGENT], fields[COUNTRY]) == (b"/n%d" % number, *[b"keep-alive"] * 3)


def test_expression_is_kept_while_it_matches_most_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 1)
    sniffer = RequestSniffer()
    first, second = (
        _request(b"/a", [(b"Host", b" ", b"h", b""), (name, b" ", b"x", b"")]) for name in (b"X-1", b"X-2")
    )
    for _ in range(10):
        assert _read(sniffer, first) == _read(sniffer, first) == _read(sniffer, second)
    (expression,) = sniffer._expressions.values()
    assert expression.match(first)
    while sniffer._expressions.get(4) is expression:
        assert _read(sniffer, second) == _read(sniffer, first)
        assert sniffer.read(second) is not None
    assert sniffer.read(second) is not None
    (expression,) = sniffer._expressions.values()
    assert expression.match(second)


def test_favorite_expression_is_tried_first_while_it_matches_most_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 1)
    sniffer = RequestSniffer(b"cf-ipcountry")
    values = {name: b"value of " + name for name in [*BROWSER, b"Cookie"]} | {b"Connection": b"keep-alive"}
    common = _request(b"/a", [(name, b" ", value, b"") for name, value in values.items()])
    rare = [_request(b"/b", [(name, b" ", b"keep-alive", b"") for name in BROWSER[:count]]) for count in (2, 3)]
    expected = RequestSniffer(b"cf-ipcountry").read(common)
    assert expected is not None
    for _ in range(20):
        assert None not in [sniffer.read(data) for data in (common, rare[0], common)]
    monkeypatch.setattr(sniffer, "_expressions", {})
    monkeypatch.setattr(sniffer, "_parse", None)
    fields = sniffer.read(common)
    assert fields == expected[: COUNTRY + 1], "from the favorite expression"
    monkeypatch.undo()
    for _ in range(1000):
        fields = sniffer.read(common)
        assert fields is not None
        assert sniffer.all_fields(common, fields) == expected
    for _ in range(100):
        assert all(sniffer.read(data) for data in rare)
    assert sniffer._favorite is None or not sniffer._favorite.match(common)


def test_requests_with_many_headers_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 1)
    sniffer = RequestSniffer()
    for count in (39, 40):
        data = _request(b"/a", [(b"Host", b" ", b"h", b""), *((b"X-%d" % n, b" ", b"x", b"") for n in range(count))])
        assert sniffer.read(data) is not None
    assert len(sniffer._expressions) == 1


@pytest.mark.parametrize("place", ["url", "value", "other value", "name"])
def test_compiled_layout_accepts_same_bytes_as_parser(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", 1)
    monkeypatch.setattr(request_sniffer, "_START_LEAD", NEVER)
    sniffer = RequestSniffer()
    parts = {"url": b"", "value": b"", "other value": b"", "name": b""}
    for byte in [b"", *(bytes([number]) for number in range(256))]:
        text = parts | {place: byte}
        headers = [(b"Host", b" ", b"h", b""), (b"User-Agent", b" ", b"a%bz" % text["value"], b"")]
        headers.append((b"X%b" % text["name"], b" ", b"a%bz" % text["other value"], b""))
        data = _request(b"/a%bz" % text["url"], headers)
        fields = _read(sniffer, data)
        monkeypatch.setattr(request_sniffer, "_REQUESTS_TO_COMPILE", NEVER)
        assert (byte, fields) == (byte, _read(RequestSniffer(), data))
    assert len(sniffer._expressions) == 1
