"""The client: one method for each operation of the API, and helpers for lists, files and bulk changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from waypost_client.aio.blocking import in_thread
from waypost_client.aio.bulk import AsyncBulk
from waypost_client.aio.operations import AsyncOperations
from waypost_client.aio.transport import AsyncTransport
from waypost_client.calls import Call, check_base_url, check_key
from waypost_client.local_files import Progress, Sink
from waypost_client.records import Downloaded
from waypost_client.retry import Retry
from waypost_client.version import USER_AGENT

if TYPE_CHECKING:
    import os

    from typing_extensions import Self, Unpack

    from waypost_client.fields.files import UploadOptions
    from waypost_client.models.files import FileDone


class AsyncWaypost(AsyncOperations, AsyncBulk):
    """A client of one service with one API key. Use it in a `with` block, or close it.

    `timeout` is in seconds without any progress. `transport` is one of httpx, for proxies or tests.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 60,
        retry: Retry | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        http = httpx.AsyncClient(timeout=timeout, transport=transport, headers={"User-Agent": USER_AGENT})
        super().__init__(AsyncTransport(check_base_url(url), check_key(key), retry=retry or Retry(), http=http))

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Send any request, such as ("GET", "/urls"), for endpoints and fields that this version does not know."""
        return await self._send(method, tuple(path.strip("/").split("/")), query=query, body=body)

    async def upload(
        self, path: str | os.PathLike[str], *, progress: Progress | None = None, **options: Unpack[UploadOptions]
    ) -> FileDone:
        """Upload a file under its own name."""
        return await self.upload_file(Path(path).name, path, progress=progress, **options)

    async def download_file(
        self,
        id: int,
        path: str | os.PathLike[str],
        *,
        password: str | None = None,
        progress: Progress | None = None,
    ) -> Downloaded:
        """Download a file of the account and verify its digest. Raises DigestMismatchError.

        A lost connection is resumed. An interrupted download leaves a `.part` file next to the path, and the next one
        to the same path continues it. A client that was closed in the meantime counts as another download.
        """
        details = await self.read_file(id)
        sink = await in_thread(lambda: Sink(path, progress, resume_name=details.sha256[:16]))
        call = Call("GET", f"/file/{id}", visit=(details.shorturl, password))
        return await self._receive(call, sink, size=details.size, sha256=details.sha256)
