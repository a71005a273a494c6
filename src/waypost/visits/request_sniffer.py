"""Parse plain GET requests for the fast path, at a fraction of the cost of uvicorn's own parser callbacks.

Clients of one kind send the same header names in the same order: the layout of their requests. A frequent layout
becomes a regular expression, which accepts no request that the parser would reject. The favorite, which matches most of
all requests, is tried first. For each number of lines there is at most one more, and only while it matches most other
requests, because an attempt that fails costs up to a third of the parser's time.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from waypost.http.connection import MAX_HEADER_BYTES, MAX_HEADERS

HOST, URL, AGENT, REFERRER, LANGUAGE, FORWARDED, COUNTRY, ACCEPT, ENCODING, RANGE, COOKIE, MODE, CONNECTION = range(13)
"""Indexes of the fields of a request. URL: the path and query; MODE: Sec-Fetch-Mode."""
_UNSUPPORTED = 13
_HOT_FIELDS = ACCEPT  # so many fields are all that a response from the cache needs
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
    b"sec-fetch-mode": MODE,
    b"x-forwarded-for": FORWARDED,
    b"connection": CONNECTION,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade"), _UNSUPPORTED),
    **dict.fromkeys((b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since"), _UNSUPPORTED),
    **dict.fromkeys((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"), _UNSUPPORTED),
}
_SINGLE = (b"\nhost:", b"\nx-forwarded-for:", b"\naccept:")  # the slow path joins or refuses repeated ones
_NOT_SENT, _URL_NAME = b"", b":"  # no header has these names
_VALUE = rb"[ -~\x80-\xff]*+"
_CAPTURED_VALUE = rb"([!-~\x80-\xff][ -~\x80-\xff]*+)"  # does not start with a blank, which the parser removes
_EMPTY_GROUP = 1
_MAX_LAYOUTS = 1000
_MAX_CACHED_BYTES = 2048  # of the header names of a layout
_MAX_COMPILED_HEADERS = 40
_REQUESTS_TO_COMPILE = 1000  # parsed ones of a layout: compiling takes a millisecond
_START_LEAD, _MAX_LEAD = 8, 64
_MIN_LEAD_OF_FAVORITE = 8  # with fewer, it may match less than half of the requests

RequestFields = tuple[bytes, ...]
"""The fields of a request by their indexes, up to COUNTRY or all. A header that was not sent is empty.

A tab has become a blank, which means the same in a header, because the fields of a journal line are separated by tabs.
"""


@dataclass(slots=True)
class _Expression:
    """Matches a whole request of one layout.

    `groups`: those of the fields, by their indexes. `hot_groups`: the first of them, up to COUNTRY.
    `lead`: how many more requests with this number of lines it matched than not, within bounds. Requests that it
    matched as the favorite do not count.
    """

    match: Callable[[bytes], re.Match[bytes] | None]
    groups: tuple[int, ...]
    hot_groups: tuple[int, ...]
    lead: int


def compile_layout(indexes: Mapping[bytes, int | None]) -> tuple[re.Pattern[bytes], tuple[int, ...]]:
    """Return an expression for whole requests with these headers, and the groups of the fields by their indexes.

    Unusual requests, such as those with an empty header, do not match it: the parser reads them.
    `indexes`: header names in their order, with the index of the field; None for headers that do not matter.
    """
    lines = [rb"()GET (/(?!api/)[!-~]*+) HTTP/1\.1"]
    groups = [_EMPTY_GROUP] * CONNECTION
    groups[URL] = number = 2
    for name, index in indexes.items():
        value = _VALUE
        if index == CONNECTION:
            value = rb"(?i:keep-alive)"
        elif index is not None:
            value = _CAPTURED_VALUE
            groups[index] = number = number + 1
        lines.append(re.escape(name) + b": " + value)
    return re.compile(b"\r\n".join([*lines, b"", b""])), tuple(groups)


class _Layout:
    """The header names of one kind of client."""

    def __init__(self, indexes: Mapping[bytes, int | None]) -> None:
        """`indexes`: as for `compile_layout`."""
        names = dict.fromkeys(range(_UNSUPPORTED), _NOT_SENT) | {URL: _URL_NAME}
        names |= {index: name for name, index in indexes.items() if index is not None}
        self.pick: Callable[[dict[bytes, bytes]], RequestFields] = itemgetter(*names.values())
        self._indexes = indexes
        self._requests = 0

    def expression_if_frequent(self) -> _Expression | None:
        """Count a parsed request. Return a new expression after every thousandth."""
        self._requests += 1
        if self._requests % _REQUESTS_TO_COMPILE or len(self._indexes) > _MAX_COMPILED_HEADERS:
            return None
        pattern, groups = compile_layout(self._indexes)
        return _Expression(pattern.fullmatch, groups, groups[:_HOT_FIELDS], _START_LEAD)


class RequestSniffer:
    """Parses a whole request at once: with the expression of its layout, or with uvicorn's parser."""

    def __init__(self, country_header: bytes = b"") -> None:
        self._indexes = {**_HEADERS, country_header: COUNTRY} if country_header else _HEADERS
        self._layouts: dict[tuple[bytes, ...], _Layout | None] = {}  # by header names as the client spells them
        self._expressions: dict[int, _Expression] = {}  # by number of lines
        self._favorite: _Expression | None = None
        self._lead_of_favorite = 0  # how many more requests it matched than other expressions did, within bounds
        self._urls: list[bytes] = []
        self._values = {_NOT_SENT: b""}
        self.on_url = self._urls.append
        self.on_header = self._values.setdefault  # the first header of a name counts
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes) -> RequestFields | None:
        """Return the fields if the data is exactly one plain GET request, and not one for the API; else None.

        Perhaps only those up to COUNTRY, because a response from the cache needs no more: see `all_fields`.
        """
        favorite = self._favorite
        if favorite is not None and len(data) <= MAX_HEADER_BYTES and self._lead_of_favorite >= _MIN_LEAD_OF_FAVORITE:
            match = favorite.match(data)  # counting the lines would take longer
            if match is not None:
                if self._lead_of_favorite < _MAX_LEAD:
                    self._lead_of_favorite += 1
                return match.group(*favorite.hot_groups)
        return self._read_by_lines(data)

    def all_fields(self, data: bytes, fields: RequestFields) -> RequestFields:
        """Return all fields of the last request that `read` has read."""
        if len(fields) == CONNECTION:
            return fields
        favorite = self._favorite
        assert favorite is not None
        match = favorite.match(data)
        assert match is not None
        return match.group(*favorite.groups)

    def _read_by_lines(self, data: bytes) -> RequestFields | None:
        if len(data) > MAX_HEADER_BYTES:
            return None  # may be too large
        lines = data.count(b"\n")
        expression = self._expressions.get(lines)
        if expression is not None:
            match = expression.match(data)
            if match is not None:
                if expression.lead < _MAX_LEAD:
                    expression.lead += 1
                self._vote(expression)
                return match.group(*expression.groups)
        if not data.startswith(b"GET /") or data.startswith(b"GET /api/") or not data.endswith(b"\r\n\r\n"):
            return None
        if expression is not None:
            expression.lead -= 1
            if not expression.lead:  # most requests have other layouts
                del self._expressions[lines]
        self._vote(None)
        return self._parse(data, lines)

    def _vote(self, expression: _Expression | None) -> None:
        """Find the expression that matches most requests (majority vote of Boyer and Moore)."""
        if expression is not None and expression is self._favorite:
            self._lead_of_favorite += 1
        elif self._lead_of_favorite:
            self._lead_of_favorite -= 1
        else:
            self._favorite = expression

    def _parse(self, data: bytes, lines: int) -> RequestFields | None:
        try:
            self._parser.feed_data(data)
            fields = self._pick(data, lines)
        except (HttpParserError, HttpParserUpgrade):
            fields = None
        if fields is None:
            self._parser = HttpRequestParser(self)  # the old parser may be in the middle of a request
        self._urls.clear()
        self._values.clear()
        self._values[_NOT_SENT] = b""
        return fields

    def _pick(self, data: bytes, lines: int) -> RequestFields | None:
        urls, values = self._urls, self._values
        if len(urls) != 1 or not data.startswith(b" HTTP/1.1\r\n", len(b"GET ") + len(urls[0])):
            return None
        if lines > MAX_HEADERS:
            return None  # may be too large
        is_repeated = lines != len(values) + 1  # a header was sent twice
        if is_repeated:
            lower = data.lower()
            if any(lower.count(name) > 1 for name in _SINGLE):
                return None
        names = tuple(values)
        layout = self._layouts[names] if names in self._layouts else self._learn(names)
        if layout is None:
            return None
        values[_URL_NAME] = urls[0]
        fields = layout.pick(values)
        if fields[CONNECTION] and fields[CONNECTION].lower() != b"keep-alive":
            return None
        if b"\t" in data:
            fields = tuple(value.replace(b"\t", b" ") for value in fields)
        expression = None if is_repeated or lines in self._expressions else layout.expression_if_frequent()
        if expression is not None:
            self._expressions[lines] = expression
        return fields[:CONNECTION]

    def _learn(self, names: tuple[bytes, ...]) -> _Layout | None:
        """Return the layout with these names; None if the headers need the slow path. Caches the result."""
        layout = self._layout(names)
        if sum(map(len, names)) <= _MAX_CACHED_BYTES:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            self._layouts[names] = layout
        return layout

    def _layout(self, names: tuple[bytes, ...]) -> _Layout | None:
        indexes = {name: self._indexes.get(name.lower()) for name in names if name != _NOT_SENT}
        known = [index for index in indexes.values() if index is not None]
        if _UNSUPPORTED in known or len(set(known)) < len(known):
            return None
        return _Layout(indexes)
