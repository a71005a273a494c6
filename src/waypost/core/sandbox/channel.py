"""Messages between a process and its child: frames of JSON and bytes, with their lengths before them.

Nothing but JSON is read: the child interprets the files of strangers, so the parent must not trust it.
"""

import json
import socket
import struct
import time
from typing import Any, Literal, NamedTuple, get_args

from waypost.core import bounded_json

MAX_TEXT, MAX_VALUES = 8 << 20, 250_000
"""Bytes and values of the JSON of a message."""
MAX_DATA = 64 << 20
"""Bytes behind the JSON of a message, for example of a picture."""
MessageKind = Literal["value", "problem", "system_error", "error"]
"""A message of the function in the child, or how it ended: a Problem, an OSError, or an unexpected error."""
_KINDS = get_args(MessageKind)
_HEADER = struct.Struct("!BII")


class BrokenMessage(Exception):
    """Raised for a message that is too large, or not JSON."""


class Message(NamedTuple):
    """A JSON value, and bytes that belong to it."""

    value: Any
    data: bytes = b""
    kind: MessageKind = "value"


class Channel:
    """One end of a connection. Messages raise TimeoutError after `deadline`, a time of time.monotonic."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline: float | None = None

    def send(self, value: Any, data: bytes = b"", *, kind: MessageKind = "value") -> None:
        """Send a message. Raises BrokenMessage for one that the other end would refuse, OSError."""
        self.send_text(json.dumps(value, separators=(",", ":")).encode(), data, kind=kind)

    def send_text(self, text: bytes, data: bytes = b"", *, kind: MessageKind = "value") -> None:
        """Send a message whose value is JSON text already. Raises as `send`."""
        if _is_too_large(len(text), len(data)) or bounded_json.count_values(text) > MAX_VALUES:
            raise BrokenMessage("the message is too large")
        self._limit_time()
        self.connection.sendall(_HEADER.pack(_KINDS.index(kind), len(text), len(data)) + text)
        if data:
            self._limit_time()
            self.connection.sendall(data)

    def receive(self) -> Message:
        """Return the next message. Raises EOFError at the end, BrokenMessage, OSError."""
        kind, length, size = _HEADER.unpack(self._read(_HEADER.size))
        if _is_too_large(length, size) or kind >= len(_KINDS):
            raise BrokenMessage("the message is too large, or of an unknown kind")
        text, data = self._read(length), self._read(size)
        try:
            return Message(bounded_json.loads(text, MAX_VALUES), bytes(data), _KINDS[kind])
        except (ValueError, RecursionError) as error:
            raise BrokenMessage(str(error)) from None

    def _read(self, size: int) -> bytearray:
        content = bytearray(size)
        view, position = memoryview(content), 0
        while position < size:
            self._limit_time()
            count = self.connection.recv_into(view[position:])
            if not count:
                raise EOFError
            position += count
        return content

    def _limit_time(self) -> None:
        if self.deadline is not None:
            self.connection.settimeout(max(self.deadline - time.monotonic(), 0.001))


def _is_too_large(length: int, size: int) -> bool:
    return length > MAX_TEXT or size > MAX_DATA
