"""Write the headers of a response together with the first part of its body, which saves a system call and a packet."""

import asyncio
from typing import Any


class ResponseWriter:
    """The transport of one response, for uvicorn's cycle of request and response."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._headers = b""
        self._is_started = False

    def write(self, data: bytes) -> None:
        """Write data. The first data waits for more until the next turn of the event loop."""
        if not self._is_started:
            self._is_started = True
            self._headers = data
            self._loop.call_soon(self.flush)
        elif self._headers:
            headers, self._headers = self._headers, b""
            self._transport.writelines((headers, data))
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Write the data that waits, unless the client has left."""
        headers, self._headers = self._headers, b""
        if headers and not self._transport.is_closing():
            self._transport.write(headers)

    def is_closing(self) -> bool:
        """Return whether the connection is being closed."""
        return bool(self._transport.is_closing())

    def close(self) -> None:
        """Close the connection once everything was written."""
        self.flush()
        self._transport.close()
