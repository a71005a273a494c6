"""The kinds of requests that operations send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar
from uuid import uuid4

from waypost_client.aio.blocking import in_thread
from waypost_client.aio.transport import AsyncTransport
from waypost_client.calls import Call, Segments, json_object, part_of, path_of
from waypost_client.errors import DigestMismatchError
from waypost_client.local_files import Content, Progress, Sink, Source, Target
from waypost_client.models.files import FileDetails
from waypost_client.pages import Position
from waypost_client.records import Downloaded, Page, Record, parse, parse_page

R = TypeVar("R", bound=Record)


class AsyncRequests:
    """Requests through one transport."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        """Return the URL, never the API key."""
        return f"{type(self).__name__}({self._transport.url!r})"

    async def _send(
        self,
        method: str,
        path: Segments,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        return json_object(await self._transport.send(Call(method, path_of(path), query or {}, body)))

    async def _fetch(
        self,
        kind: type[R],
        method: str,
        path: Segments,
        *,
        part: str = "",
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> R:
        return parse(kind, part_of(await self._send(method, path, query=query, body=body), part))

    async def _page(
        self, kind: type[R], path: Segments, *, part: str, collection: str, query: Mapping[str, Any]
    ) -> Page[R]:
        return parse_page(kind, collection, part_of(await self._send("GET", path, query=query), part))

    async def _pages(self, fetch: Callable[[int], Awaitable[Page[R]]]) -> AsyncIterator[R]:
        """Iterate over the items of all pages."""
        position = Position()
        while position.page is not None:
            page = await fetch(position.page)
            for item in position.unseen(page):
                yield item

    async def _upload(
        self,
        kind: type[R],
        method: str,
        path: Segments,
        content: Content,
        *,
        form_name: str = "",
        query: Mapping[str, Any],
        progress: Progress | None,
    ) -> R:
        """Send content: the file itself, or a form with one file of that name. Raises DigestMismatchError."""
        source = await in_thread(lambda: Source(content))
        try:
            headers = {} if form_name else await in_thread(lambda: digest_of(source))
            is_verified = bool(headers)
            head, tail, more = form_frame(form_name)
            if source.size is not None:
                headers["Content-Length"] = str(len(head) + source.size + len(tail))
            call = Call(
                method,
                path_of(path),
                query,
                headers={**headers, **more},
                content=lambda: self._body(source, head, tail, progress),
                is_repeatable=source.can_rewind,
            )
            done = json_object(await self._transport.send(call))
            if not is_verified:
                await self._verify(done, source)
            return parse(kind, done)
        finally:
            await in_thread(source.close)

    async def _body(self, source: Source, head: bytes, tail: bytes, progress: Progress | None) -> AsyncIterator[bytes]:
        await in_thread(source.rewind)
        size = 0
        if head:
            yield head
        while chunk := await in_thread(source.read):
            yield chunk
            size += len(chunk)
            if progress is not None:
                progress(size, source.size)
        if tail:
            yield tail

    async def _verify(self, done: Mapping[str, Any], source: Source) -> None:
        details = await self._fetch(FileDetails, "GET", ("file", done.get("id", 0)), part="details")
        if details.sha256 != source.hash.hexdigest():
            raise DigestMismatchError(f"File {details.id} does not have the content that was sent. Delete it.")

    async def _export(
        self, path: Segments, target: Target, *, query: Mapping[str, Any] | None = None, progress: Progress | None
    ) -> Downloaded:
        """Write the content of a response to a file."""
        sink = await in_thread(lambda: Sink(target, progress))
        call = Call("GET", path_of(path), query or {}, headers={"Accept": "*/*"}, is_repeatable=sink.can_restart)
        return await self._receive(call, sink)

    async def _receive(self, call: Call, sink: Sink, *, size: int | None = None, sha256: str = "") -> Downloaded:
        """Write the rest of the content, of which `size` bytes are expected. Raises DigestMismatchError."""
        try:
            if not size or sink.size < size:
                await self._transport.send(call, sink)
            return await in_thread(lambda: sink.finish(sha256))
        except BaseException:
            await in_thread(sink.abort)
            raise


def digest_of(source: Source) -> dict[str, str]:
    """Return the header with the digest of content that can be read twice."""
    return source.digest_header() if source.can_rewind else {}


def form_frame(filename: str) -> tuple[bytes, bytes, dict[str, str]]:
    """Return the bytes before and after the file of a form, and the headers of the request."""
    if not filename:
        return b"", b"", {"Content-Type": "application/octet-stream"}
    boundary = uuid4().hex
    escaped = filename.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{escaped}"\r\n\r\n'
    return (
        head.encode(),
        f"\r\n--{boundary}--\r\n".encode(),
        {"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
