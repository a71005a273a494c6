# Written by `make docs`. Do not edit: change the code and run it again.
"""The kinds of requests that operations send."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from uuid import uuid4

from waypost_client.calls import Call, Segments, json_object, part_of, path_of
from waypost_client.errors import DigestMismatchError
from waypost_client.local_files import Content, Progress, Sink, Source, Target
from waypost_client.models.files import FileDetails
from waypost_client.pages import Position
from waypost_client.records import Downloaded, Page, Record, parse, parse_page
from waypost_client.sync.blocking import in_thread
from waypost_client.sync.transport import Transport

R = TypeVar("R", bound=Record)


class Requests:
    """Requests through one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        """Return the URL, never the API key."""
        return f"{type(self).__name__}({self._transport.url!r})"

    def _send(
        self,
        method: str,
        path: Segments,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        return json_object(self._transport.send(Call(method, path_of(path), query or {}, body)))

    def _fetch(
        self,
        kind: type[R],
        method: str,
        path: Segments,
        *,
        part: str = "",
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> R:
        return parse(kind, part_of(self._send(method, path, query=query, body=body), part))

    def _page(self, kind: type[R], path: Segments, *, part: str, collection: str, query: Mapping[str, Any]) -> Page[R]:
        return parse_page(kind, collection, part_of(self._send("GET", path, query=query), part))

    def _pages(self, fetch: Callable[[int], Page[R]]) -> Iterator[R]:
        """Iterate over the items of all pages."""
        position = Position()
        while position.page is not None:
            page = fetch(position.page)
            for item in position.unseen(page):
                yield item

    def _upload(
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
        source = in_thread(lambda: Source(content))
        try:
            headers = {} if form_name else in_thread(lambda: digest_of(source))
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
            done = json_object(self._transport.send(call))
            if not is_verified:
                self._verify(done, source)
            return parse(kind, done)
        finally:
            in_thread(source.close)

    def _body(self, source: Source, head: bytes, tail: bytes, progress: Progress | None) -> Iterator[bytes]:
        in_thread(source.rewind)
        size = 0
        if head:
            yield head
        while chunk := in_thread(source.read):
            yield chunk
            size += len(chunk)
            if progress is not None:
                progress(size, source.size)
        if tail:
            yield tail

    def _verify(self, done: Mapping[str, Any], source: Source) -> None:
        details = self._fetch(FileDetails, "GET", ("file", done.get("id", 0)), part="details")
        if details.sha256 != source.hash.hexdigest():
            raise DigestMismatchError(f"File {details.id} does not have the content that was sent. Delete it.")

    def _export(
        self, path: Segments, target: Target, *, query: Mapping[str, Any] | None = None, progress: Progress | None
    ) -> Downloaded:
        """Write the content of a response to a file."""
        sink = in_thread(lambda: Sink(target, progress))
        call = Call("GET", path_of(path), query or {}, headers={"Accept": "*/*"}, is_repeatable=sink.can_restart)
        return self._receive(call, sink)

    def _receive(self, call: Call, sink: Sink, *, size: int | None = None, sha256: str = "") -> Downloaded:
        """Write the rest of the content, of which `size` bytes are expected. Raises DigestMismatchError."""
        try:
            if not size or sink.size < size:
                self._transport.send(call, sink)
            return in_thread(lambda: sink.finish(sha256))
        except BaseException:
            in_thread(sink.abort)
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
