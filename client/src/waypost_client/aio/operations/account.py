# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.account import AccountChange
from waypost_client.models.account import Account
from waypost_client.models.shared import MessageResponse

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncAccountOperations(AsyncRequests):
    """Operations of the API: account."""

    async def read_account(self) -> Account:
        """Read the account of the API key."""
        return await self._fetch(Account, "GET", ("account",), part="data")

    async def update_account(self, **fields: Unpack[AccountChange]) -> MessageResponse:
        """Update the e-mail address or the password.

        The API key must have the scope `account`.
        """
        return await self._fetch(
            MessageResponse,
            "PUT",
            ("account", "update"),
            body={**check_fields("update_account", fields, AccountChange.__annotations__)},
        )
