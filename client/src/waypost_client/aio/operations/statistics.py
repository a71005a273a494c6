# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.models.shared import Report

if TYPE_CHECKING:
    from waypost_client.local_files import Progress, Target
    from waypost_client.records import Downloaded


class AsyncStatisticsOperations(AsyncRequests):
    """Operations of the API: statistics."""

    async def read_account_statistics(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the visits of the whole account over time and by dimension."""
        return await self._fetch(
            Report,
            "GET",
            ("stats",),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    async def export_visits(
        self,
        target: Target,
        *,
        format: Literal["csv", "jsonl"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
        progress: Progress | None = None,
    ) -> Downloaded:
        """Export every stored visit, oldest first."""
        return await self._export(
            ("stats", "export"),
            target,
            query={"format": format, "from": from_, "to": to, "interval": interval, "timezone": timezone},
            progress=progress,
        )
