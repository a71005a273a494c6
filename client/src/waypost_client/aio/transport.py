"""Send calls: retries, errors, and responses that are written to a file while they arrive."""

from __future__ import annotations

from functools import partial

import httpx

from waypost_client.aio.blocking import in_thread, sleep
from waypost_client.calls import Call, error_of
from waypost_client.errors import ConnectionLostError, WaypostError
from waypost_client.local_files import CHUNK, Sink
from waypost_client.retry import Retry

_PARTIAL_CONTENT = 206


class AsyncTransport:
    """An HTTP connection pool with the URL of a service and an API key, which is in no representation of it."""

    def __init__(self, url: str, key: str, *, retry: Retry, http: httpx.AsyncClient) -> None:
        self.url = url
        self._key = key
        self._retry = retry
        self._http = http

    def __repr__(self) -> str:
        """Return the URL only."""
        return f"{type(self).__name__}({self.url!r})"

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, call: Call, sink: Sink | None = None) -> httpx.Response:
        """Return the successful response; its content is written to the sink if there is one.

        Raises ApiError, ConnectionLostError or UnexpectedResponseError after the last attempt.
        """
        attempt = 0
        while True:
            size = sink.size if sink else 0
            try:
                return await self._send_once(call, sink)
            except WaypostError as error:
                if sink and sink.size > size:
                    attempt = 0  # it resumes from there
                delay = self._retry.delay(attempt, error) if call.is_repeatable else None
                if delay is None:
                    raise
            attempt += 1
            await sleep(delay)

    async def _send_once(self, call: Call, sink: Sink | None) -> httpx.Response:
        options = call.options(self.url, self._key)
        if sink is not None:
            options["headers"].update(sink.headers())
        try:
            async with self._http.stream(**options, content=call.payload()) as response:
                if sink is None or not response.is_success:
                    await response.aread()
                else:
                    await self._receive(response, sink)
        except httpx.TransportError as error:
            reason = f"{call.method} {call.path} failed: {str(error) or type(error).__name__}".replace(self._key, "***")
        else:
            if problem := error_of(response, self._key):
                raise problem
            return response
        raise ConnectionLostError(reason)  # outside of `except`: the exception of httpx refers to the request

    async def _receive(self, response: httpx.Response, sink: Sink) -> None:
        length = response.headers.get("content-length")
        is_rest = response.status_code == _PARTIAL_CONTENT
        await in_thread(lambda: sink.begin(is_rest=is_rest, length=int(length) if length else None))
        async for chunk in response.aiter_raw(CHUNK):
            await in_thread(partial(sink.write, chunk))
