"""Forms with files in them (multipart/form-data, RFC 7578), taken in as they come: no file is ever whole in memory."""

from collections import deque
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request
from starlette.types import Message

from waypost.errors import Problem, invalid

_MOST_PARTS = 500
_LONGEST_FIELD = 16 * 1024  # bytes


@dataclass(eq=False)
class Part:
    """A field of a form, or a file: what it is called in the form, and how the sender names the file."""

    name: str
    filename: str | None
    _parts: "Parts" = field(repr=False)

    async def text(self) -> str:
        """What was typed into a field."""
        typed = bytearray()
        while (chunk := await self._parts.chunk(self)) is not None:
            typed += chunk
            if len(typed) > _LONGEST_FIELD:
                raise invalid(self.name, f"{self.name} is too long.")
        return _text(bytes(typed))

    def request(self) -> Request:
        """A request whose body is the file, for whoever takes such in."""
        return Request({"type": "http", "method": "POST", "headers": []}, self._receive)

    async def _receive(self) -> Message:
        chunk = await self._parts.chunk(self)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}


class Parts:
    """The parts of a form, in their order. Raises INVALID for what is no such form, or breaks off."""

    def __init__(self, request: Request) -> None:
        kind, told = parse_options_header(request.headers.get("content-type"))
        boundary = told.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise invalid("form", "The form must be sent as multipart/form-data.")
        self._receive = request.receive
        self._came: deque[Part | bytes | None] = deque()  # a part begins, bytes of it, its end
        self._count = 0
        self._now: Part | None = None
        self._is_closed = False
        self._name = bytearray()
        self._value = bytearray()
        self._headers: dict[bytes, bytes] = {}
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._headers.clear,
                    "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                    "on_header_end": self._header_ends,
                    "on_headers_finished": self._begins,
                    "on_part_data": lambda data, start, end: self._came.append(data[start:end]),
                    "on_part_end": lambda: self._came.append(None),
                    "on_end": self._ends,
                },
            )
        except FormParserError:
            raise _broken() from None

    async def next(self) -> Part | None:
        """The next part, when there is one; what is left of the one before is passed over."""
        while (event := await self._event()) is not _END:
            if isinstance(event, Part):
                self._now = event
                return event
        return None

    async def chunk(self, part: Part) -> bytes | None:
        """The next bytes of the part that came last; None at its end."""
        if self._now is not part:
            return None
        event = await self._event()
        if isinstance(event, bytes):
            return event
        self._now = None
        return None

    async def _event(self) -> "Part | bytes | _End | None":
        while not self._came:
            if self._is_closed:
                return _END
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise invalid("body", "The upload broke off.")
            try:
                self._parser.write(message.get("body", b""))
            except FormParserError:
                raise _broken() from None
            if not message.get("more_body", False) and not self._is_closed:
                raise _broken()
        return self._came.popleft()

    def _header_ends(self) -> None:
        self._headers[bytes(self._name).lower()] = bytes(self._value)
        self._name.clear()
        self._value.clear()

    def _begins(self) -> None:
        told = parse_options_header(self._headers.get(b"content-disposition"))[1]
        self._count += 1
        if b"name" not in told or self._count > _MOST_PARTS:
            raise _broken()
        filename = told.get(b"filename")
        # What browsers make of the signs that would end a name.
        plain = None if filename is None else _text(filename).replace("%22", '"').replace("%0D", "").replace("%0A", "")
        self._came.append(Part(_text(told[b"name"]), plain, self))

    def _ends(self) -> None:
        self._is_closed = True


class _End:
    """Behind the last part."""


_END = _End()


def _text(told: bytes) -> str:
    return told.decode("utf-8", "replace").replace("\x00", "")


def _broken() -> Problem:
    return invalid("form", "The form broke off on its way. Please try again.")
