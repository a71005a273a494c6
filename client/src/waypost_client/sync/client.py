# Written by `make docs`. Do not edit: change the code and run it again.
"""The client: one method for each operation of the API, and helpers for lists, files and bulk changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from waypost_client.calls import Call, check_base_url, check_key
from waypost_client.local_files import Progress, Sink
from waypost_client.records import Downloaded
from waypost_client.retry import Retry
from waypost_client.sync.blocking import in_thread
from waypost_client.sync.bulk import Bulk
from waypost_client.sync.operations import Operations
from waypost_client.sync.transport import Transport
from waypost_client.version import USER_AGENT

if TYPE_CHECKING:
    import os

    from typing_extensions import Self, Unpack

    from waypost_client.fields.files import UploadOptions
    from waypost_client.models.files import FileDone


class Waypost(Operations, Bulk):
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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        http = httpx.Client(timeout=timeout, transport=transport, headers={"User-Agent": USER_AGENT})
        super().__init__(Transport(check_base_url(url), check_key(key), retry=retry or Retry(), http=http))

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Send any request, such as ("GET", "/urls"), for endpoints and fields that this version does not know."""
        return self._send(method, tuple(path.strip("/").split("/")), query=query, body=body)

    def upload(
        self, path: str | os.PathLike[str], *, progress: Progress | None = None, **options: Unpack[UploadOptions]
    ) -> FileDone:
        """Upload a file under its own name."""
        return self.upload_file(Path(path).name, path, progress=progress, **options)

    def download_file(
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
        details = self.read_file(id)
        sink = in_thread(lambda: Sink(path, progress, resume_name=details.sha256[:16]))
        call = Call("GET", f"/file/{id}", visit=(details.shorturl, password))
        return self._receive(call, sink, size=details.size, sha256=details.sha256)
