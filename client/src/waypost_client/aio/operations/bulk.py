# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.bulk import BulkRequest
from waypost_client.models.bulk import BulkDone

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncBulkOperations(AsyncRequests):
    """Operations of the API: bulk."""

    async def change_in_bulk(self, **fields: Unpack[BulkRequest]) -> BulkDone:
        """Run up to 1,000 changes in one transaction.

        Each started hundred of changes counts as one request of the rate limit, and each request to another
        server
        after the first one as one more.
        """
        return await self._fetch(
            BulkDone, "POST", ("bulk",), body={**check_fields("change_in_bulk", fields, BulkRequest.__annotations__)}
        )
