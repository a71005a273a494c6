# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: qr codes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.qr_codes import CodeChange, NewCode, PreviewCode
from waypost_client.models.qr_codes import Code, CodeAnswer, CodeDone, CodesDone, Preview
from waypost_client.models.shared import MessageResponse, Report
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.local_files import Progress, Target
    from waypost_client.records import Downloaded, Page


class AsyncQrCodesOperations(AsyncRequests):
    """Operations of the API: qr codes."""

    async def list_qr_codes(self, *, limit: int | None = None, page: int | None = None) -> Page[Code]:
        """List QR codes, newest first."""
        return await self._page(Code, ("qr",), part="data", collection="qrs", query={"limit": limit, "page": page})

    def qr_codes(self, *, page_size: int = PAGE_SIZE) -> AsyncIterator[Code]:
        """Iterate over the items of all pages of `list_qr_codes`."""
        return self._pages(lambda page: self.list_qr_codes(limit=page_size, page=page))

    async def download_qr_codes(
        self,
        target: Target,
        *,
        campaign: int | None = None,
        channel: int | None = None,
        format: Literal["png", "svg", "pdf"] | None = None,
        size: int | None = None,
        progress: Progress | None = None,
    ) -> Downloaded:
        """Download the QR codes of a campaign or a channel as a ZIP archive.

        It has an image of each QR code and each short URL. Either `campaign` or `channel` is required.
        """
        return await self._export(
            ("qr", "zip"),
            target,
            query={"campaign": campaign, "channel": channel, "format": format, "size": size},
            progress=progress,
        )

    async def read_qr_code(self, id: int) -> CodeAnswer:
        """Read a QR code with the statistics of its scans."""
        return await self._fetch(CodeAnswer, "GET", ("qr", id))

    async def read_qr_code_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the scans of a QR code over time and by dimension."""
        return await self._fetch(
            Report,
            "GET",
            ("qr", id, "stats"),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    async def create_qr_code(
        self,
        *,
        data: str | Mapping[str, Any],
        type: Literal[
            "text", "vcard", "link", "email", "phone", "sms", "wifi", "event", "geo", "whatsapp", "app", "crypto"
        ],
        **fields: Unpack[NewCode],
    ) -> CodeDone:
        """Create a QR code.

        Its image is decoded before the code is saved, so that a style that cannot be scanned is rejected.
        """
        return await self._fetch(
            CodeDone,
            "POST",
            ("qr", "add"),
            body={"data": data, "type": type, **check_fields("create_qr_code", fields, NewCode.__annotations__)},
        )

    async def preview_qr_code(
        self,
        *,
        data: str | Mapping[str, Any],
        type: Literal[
            "text", "vcard", "link", "email", "phone", "sms", "wifi", "event", "geo", "whatsapp", "app", "crypto"
        ],
        **fields: Unpack[PreviewCode],
    ) -> Preview:
        """Draw a QR code without saving it.

        The short URL in the image of a tracked code does not work.
        """
        return await self._fetch(
            Preview,
            "POST",
            ("qr", "preview"),
            body={"data": data, "type": type, **check_fields("preview_qr_code", fields, PreviewCode.__annotations__)},
        )

    async def create_qr_codes(self, *, codes: Sequence[Any]) -> CodesDone:
        """Create up to 500 QR codes.

        One that fails does not affect the others.
        """
        return await self._fetch(CodesDone, "POST", ("qr", "bulk"), body={"codes": codes})

    async def update_qr_code(
        self, id: int, *, data: str | Mapping[str, Any], **fields: Unpack[CodeChange]
    ) -> MessageResponse:
        """Update a QR code.

        Printed copies of a tracked code keep working.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return await self._fetch(
            MessageResponse,
            "PUT",
            ("qr", id, "update"),
            body={"data": data, **check_fields("update_qr_code", fields, CodeChange.__annotations__)},
        )

    async def delete_qr_code(self, id: int) -> MessageResponse:
        """Delete a QR code.

        Printed copies of a tracked code stop working.
        """
        return await self._fetch(MessageResponse, "DELETE", ("qr", id, "delete"))
