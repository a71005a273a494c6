"""Parse plain GET requests for the fast path, at a fraction of the cost of uvicorn's own parser callbacks."""

from collections.abc import Callable
from operator import itemgetter

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from waypost.http.connection import MAX_HEADER_BYTES, MAX_HEADERS
from waypost.visits.request import VisitRequest

HOST, AGENT, REFERRER, LANGUAGE, ACCEPT, ENCODING, RANGE, COOKIE, FORWARDED, COUNTRY = range(10)
_CONNECTION, _UNSUPPORTED = 10, 11
"""Indexes of the header values that RequestSniffer returns."""
# Headers that matter to a click or to the response. A request with an unsupported one takes the slow path.
_HEADERS = {
    b"host": HOST,
    b"user-agent": AGENT,
    b"referer": REFERRER,
    b"accept-language": LANGUAGE,
    b"accept": ACCEPT,
    b"accept-encoding": ENCODING,
    b"range": RANGE,
    b"cookie": COOKIE,
    b"x-forwarded-for": FORWARDED,
    b"connection": _CONNECTION,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"if-none-match"), _UNSUPPORTED),
    **dict.fromkeys((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"), _UNSUPPORTED),
}
_MAX_PICKERS = 1000
_MAX_CACHED_BYTES = 2048  # of the header names of one kind of client

HeaderValues = tuple[bytes, ...]
"""The values of the headers above, by their indexes; empty for those that were not sent."""
_Picker = Callable[[dict[bytes, bytes]], HeaderValues]


def visit_request(
    headers: HeaderValues, host: str, alias: str, client_ip: str, country_code: bytes, query: str
) -> VisitRequest:
    """Return the visit that a request with these headers is."""
    return VisitRequest(
        *(host, alias, client_ip, country_code, headers[AGENT], headers[REFERRER], headers[LANGUAGE], query),
        accept=headers[ACCEPT],
        accept_encoding=headers[ENCODING],
        byte_range=headers[RANGE],
        cookie=headers[COOKIE],
    )


class RequestSniffer:
    """Parses a whole request at once, with callbacks into C only: the same strict parser at a fraction of the cost.

    Clients of one kind send the same header names in the same order, so the meaning of the names is cached by kind.
    """

    def __init__(self, country_header: bytes = b"") -> None:
        self._indexes = {**_HEADERS, country_header: COUNTRY} if country_header else _HEADERS
        self._pickers: dict[tuple[bytes, ...], _Picker | None] = {}  # by header names as the client spells them
        self._urls: list[bytes] = []
        self._values = {b"": b""}  # the value of a header that was not sent
        self.on_url = self._urls.append
        self.on_header = self._values.setdefault  # the first header of a name counts
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes) -> tuple[bytes, HeaderValues] | None:
        """Return (path and query, header values) if the data is exactly one plain GET request, else None."""
        try:
            self._parser.feed_data(data)
            result = self._parse(data)
        except (HttpParserError, HttpParserUpgrade):
            result = None
        if result is None:
            self._parser = HttpRequestParser(self)  # the old parser may be in the middle of a request
        self._urls.clear()
        self._values.clear()
        self._values[b""] = b""
        return result

    def _parse(self, data: bytes) -> tuple[bytes, HeaderValues] | None:
        urls, values = self._urls, self._values
        if len(urls) != 1 or not data.startswith(b" HTTP/1.1\r\n", len(b"GET ") + len(urls[0])):
            return None
        lines = data.count(b"\n")
        if len(data) > MAX_HEADER_BYTES or lines > MAX_HEADERS:
            return None  # may be too large
        if lines != len(values) + 1:  # a header was sent twice
            lower = data.lower()
            if lower.count(b"\nhost:") > 1 or lower.count(b"\nx-forwarded-for:") > 1:
                return None
        names = tuple(values)
        try:
            picker = self._pickers[names]
        except KeyError:
            picker = self._learn(names)
        if picker is None:
            return None
        picked = picker(values)
        connection = picked[_CONNECTION]
        if connection and connection.lower() != b"keep-alive":
            return None
        return urls[0], picked

    def _learn(self, names: tuple[bytes, ...]) -> _Picker | None:
        """Return a function that picks the values; None if the headers need the slow path. Caches the result."""
        picker = self._picker(names)
        if sum(map(len, names)) <= _MAX_CACHED_BYTES:
            if len(self._pickers) >= _MAX_PICKERS:
                self._pickers.clear()
            self._pickers[names] = picker
        return picker

    def _picker(self, names: tuple[bytes, ...]) -> _Picker | None:
        keys = [b""] * _UNSUPPORTED
        for name in names:
            index = self._indexes.get(name.lower())
            if index is None:
                continue
            if index == _UNSUPPORTED or keys[index]:
                return None
            keys[index] = name
        return itemgetter(*keys)
