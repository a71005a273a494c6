"""Streaming parser for multipart/form-data (RFC 7578): files are never held in memory as a whole."""

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message as Headers

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request
from starlette.types import Message

from waypost.core.errors import Kind, Problem, invalid
from waypost.http.body_headers import refuse_partial_or_encoded

_MAX_PARTS = 500
_MAX_FIELD_BYTES = 16 * 1024
_ENCODED_WORD = re.compile(r"=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=(\s+=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=)*")
_PLAIN_ENCODINGS = frozenset({b"", b"binary", b"7bit", b"8bit"})


@dataclass(eq=False)
class Part:
    """A field of the form: its name, and for a file the name that the client gave it."""

    name: str
    filename: str | None
    _reader: "MultipartReader" = field(repr=False)

    async def text(self, *, max_bytes: int = _MAX_FIELD_BYTES) -> str:
        """Read the value of a text field. Raises INVALID if it is longer."""
        value = bytearray()
        async with self._reader.field_time():
            while (chunk := await self._reader.read_chunk(self)) is not None:
                value += chunk
                if len(value) > max_bytes:
                    raise invalid(self.name, f"{self.name} is too long.")
        return _decode(bytes(value), self.name)

    def as_request(self) -> Request:
        """Return a request whose body is this part, for code that stores request bodies."""
        return Request({"type": "http", "method": "POST", "headers": []}, self._receive)

    async def _receive(self) -> Message:
        chunk = await self._reader.read_chunk(self)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}


class MultipartReader:
    """Reads the parts of a form in order. Raises INVALID for a malformed or interrupted body.

    The reader of a file limits the time of its bytes. Everything else may take `field_seconds` in
    total, otherwise it raises TOO_SLOW.
    """

    def __init__(self, request: Request, *, field_seconds: float, max_parts: int = _MAX_PARTS) -> None:
        media_type, options = parse_options_header(request.headers.get("content-type"))
        boundary = options.get(b"boundary")
        if media_type != b"multipart/form-data" or not boundary:
            raise invalid("form", "The form must be sent as multipart/form-data with a boundary.")
        self._field_seconds = field_seconds
        self._max_parts = max_parts
        self._receive = request.receive
        self._events: deque[Part | bytes | None] = deque()  # start of a part, bytes of it, its end
        self._count = 0
        self._current: Part | None = None
        self._is_closed = False
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._headers: dict[bytes, bytes] = {}
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._headers.clear,
                    "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._start_part,
                    "on_part_data": lambda data, start, end: self._events.append(data[start:end]),
                    "on_part_end": lambda: self._events.append(None),
                    "on_end": self._end_form,
                },
            )
        except FormParserError:
            raise _malformed() from None

    async def next_part(self) -> Part | None:
        """Return the next part, skipping the unread rest of the previous one; None after the last."""
        async with self.field_time():
            while (event := await self._next_event()) is not _END:
                if isinstance(event, Part):
                    self._current = event
                    return event
        return None

    @asynccontextmanager
    async def field_time(self) -> AsyncIterator[None]:
        """Limit the total time of everything except files."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._field_seconds) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise Problem(Kind.TOO_SLOW, "The form did not arrive in time.") from None
        finally:
            self._field_seconds -= time.monotonic() - started

    async def read_chunk(self, part: Part) -> bytes | None:
        """Return the next bytes of the current part; None after the last ones and for any other part."""
        if self._current is not part:
            return None
        event = await self._next_event()
        if isinstance(event, bytes):
            return event
        self._current = None
        return None

    async def _next_event(self) -> "Part | bytes | _End | None":
        while not self._events:
            if self._is_closed:
                return _END
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise invalid("body", "The upload was interrupted.")
            try:
                self._parser.write(message.get("body", b""))
            except FormParserError:
                raise _malformed() from None
            if not message.get("more_body", False) and not self._is_closed:
                raise _malformed()
        return self._events.popleft()

    def _end_header(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _start_part(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        options = parse_options_header(disposition)[1]
        self._count += 1
        if b"name" not in options or self._count > self._max_parts:
            raise _malformed()
        name = _decode(options[b"name"], "form")
        if self._headers.get(b"content-transfer-encoding", b"").strip().lower() not in _PLAIN_ENCODINGS:
            raise invalid(name, f"{name} must be sent without a Content-Transfer-Encoding.")
        refuse_partial_or_encoded(
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in self._headers.items()
        )
        self._events.append(Part(name, _file_name(disposition, options.get(b"filename")), self))

    def _end_form(self) -> None:
        self._is_closed = True


class _End:
    """Marks the end of the form."""


_END = _End()


def _decode(value: bytes, field: str, *, errors: str = "replace") -> str:
    """Return the text. Raises INVALID on the field if it contains a NUL character, which no database stores."""
    if b"\0" in value:
        raise invalid(field, f"{field} must not contain NUL characters.")
    return value.decode("utf-8", errors)


def _file_name(disposition: bytes, plain: bytes | None) -> str | None:
    """Return the file name of a part: that of `filename*`, if both are there (RFC 6266, section 4.3).

    `plain` is `filename`, which has the browser's escapes for quotes and line breaks, or is one encoded word. Of a
    path, as programs and folders of browsers send, only the name is used (RFC 7578, section 4.2).
    """
    name = _extended_name(disposition)
    if not name and plain is not None:
        name = _decode_name(plain).replace("%22", '"').replace("%0D", "").replace("%0A", "")
        name = _decoded_word(name) if _ENCODED_WORD.fullmatch(name) else name
    return name and name.rpartition("/")[2]


def _decode_name(value: bytes) -> str:
    """Return a file name; one that is not UTF-8 has the characters of Windows, whose programs send it, such as curl."""
    try:
        return _decode(value, "file", errors="strict")
    except UnicodeDecodeError:
        return value.decode("cp1252", "replace")


def _decoded_word(name: str) -> str:
    """Return the text of encoded words (RFC 2047); the name itself if they cannot be decoded."""
    try:
        text = str(make_header(decode_header(name)))
    except (MessageError, LookupError, ValueError):
        return name
    return _decode(text.encode("utf-8", "replace"), "file") or name


def _extended_name(disposition: bytes) -> str | None:
    """Return the file name of a parameter `filename*` (RFC 8187), or `filename*0` (RFC 2231); None without one."""
    if b"filename*" not in disposition.lower():
        return None
    headers = Headers()
    headers["Content-Disposition"] = disposition.decode("latin-1")
    for name, value in headers.get_params([], header="Content-Disposition"):
        if name.lower() == "filename" and isinstance(value, tuple):
            with suppress(LookupError, ValueError):
                charset, _, text = value
                return _decode(text.encode("latin-1").decode(charset or "ascii").encode(), "file")
    return _decode((headers.get_filename() or "").encode("utf-8", "replace"), "file")


def _malformed() -> Problem:
    return invalid("form", "The form is malformed or was cut off. Please try again.")
