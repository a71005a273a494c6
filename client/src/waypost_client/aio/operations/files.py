# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.files import FileChange, UploadOptions
from waypost_client.models.files import File, FileDetails, FileDone
from waypost_client.models.shared import MessageResponse, Report
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.local_files import Content, Progress
    from waypost_client.records import Page


class AsyncFilesOperations(AsyncRequests):
    """Operations of the API: files."""

    async def list_files(
        self, *, name: str | None = None, limit: int | None = None, page: int | None = None
    ) -> Page[File]:
        """List files, newest first."""
        return await self._page(
            File, ("files",), part="", collection="list", query={"name": name, "limit": limit, "page": page}
        )

    def files(self, *, name: str | None = None, page_size: int = PAGE_SIZE) -> AsyncIterator[File]:
        """Iterate over the items of all pages of `list_files`."""
        return self._pages(lambda page: self.list_files(name=name, limit=page_size, page=page))

    async def upload_file(
        self, filename: str, content: Content, *, progress: Progress | None = None, **options: Unpack[UploadOptions]
    ) -> FileDone:
        """Upload a file.

        The body is the file, or a form with one file. `Content-MD5` and `Repr-Digest` of a body are verified.
        """
        return await self._upload(
            FileDone,
            "POST",
            ("files", "upload", filename),
            content,
            query=check_fields("upload_file", options, UploadOptions.__annotations__),
            progress=progress,
        )

    async def put_file(
        self, filename: str, content: Content, *, progress: Progress | None = None, **options: Unpack[UploadOptions]
    ) -> FileDone:
        """Upload a file.

        The body is the file, or a form with one file. `Content-MD5` and `Repr-Digest` of a body are verified.
        """
        return await self._upload(
            FileDone,
            "PUT",
            ("files", "upload", filename),
            content,
            query=check_fields("put_file", options, UploadOptions.__annotations__),
            progress=progress,
        )

    async def upload_form_file(
        self, filename: str, content: Content, *, progress: Progress | None = None, **options: Unpack[UploadOptions]
    ) -> FileDone:
        """Upload a file of a form, which gives its name."""
        return await self._upload(
            FileDone,
            "POST",
            ("files", "upload"),
            content,
            form_name=filename,
            query=check_fields("upload_form_file", options, UploadOptions.__annotations__),
            progress=progress,
        )

    async def read_file(self, id: int) -> FileDetails:
        """Read the metadata of a file."""
        return await self._fetch(FileDetails, "GET", ("file", id), part="details")

    async def read_file_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the downloads of a file over time and by dimension."""
        return await self._fetch(
            Report,
            "GET",
            ("file", id, "stats"),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    async def update_file(self, id: int, **fields: Unpack[FileChange]) -> MessageResponse:
        """Update the settings of a file.

        Fields that are not sent keep their values; `null` clears a field. An expired file can be extended
        while its bytes
        are stored.
        """
        return await self._fetch(
            MessageResponse,
            "PUT",
            ("file", id, "update"),
            body={**check_fields("update_file", fields, FileChange.__annotations__)},
        )

    async def delete_file(self, id: int) -> MessageResponse:
        """Delete a file and its bytes."""
        return await self._fetch(MessageResponse, "DELETE", ("file", id, "delete"))
