"""Responses of a raw HTTP connection, one after the other."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import httptools


@dataclass
class Answer:
    """A final response: its status, and its headers and body as bytes."""

    status: int
    content: bytes = b""


@dataclass
class AnswerReader:
    """Reads the final responses of a connection. Interim responses, such as 100, are skipped.

    Raises HttpParserError if the server sends anything else, and HttpParserUpgrade if it changes the protocol.
    """

    reader: asyncio.StreamReader
    answers: list[Answer] = field(default_factory=list)
    """Complete responses that `next` has not returned yet."""
    received: bytearray = field(default_factory=bytearray)
    """All bytes of the connection."""
    _content: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)

    async def next(self, seconds: float) -> Answer | None:
        """Return the next response; None if none is complete after so many seconds, or at the end of the connection."""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(seconds):
                while not self.answers and (data := await self.reader.read(65536)):
                    self.received += data
                    self._parser.feed_data(data)
        return self.answers.pop(0) if self.answers else None

    def drain(self) -> Iterator[Answer]:
        """Return the responses that have already arrived."""
        while self.answers:
            yield self.answers.pop(0)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._content += name + b": " + value + b"\n"

    def on_body(self, body: bytes) -> None:
        self._content += body

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.answers.append(Answer(status, bytes(self._content)))
        self._content.clear()
