# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: administration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost_client.models.administration import Deletion
from waypost_client.models.shared import MessageResponse
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    pass


class AdministrationOperations(Requests):
    """Operations of the API: administration."""

    def delete_account(self, id: int) -> Deletion:
        """Delete an account of the installation in 7 days.

        Everything of the account is deleted; its aliases stay reserved. Requires a key of an administrator
        with the scope
        `account`.
        """
        return self._fetch(Deletion, "DELETE", ("admin", "account", id, "delete"))

    def cancel_account_deletion(self, id: int) -> MessageResponse:
        """Cancel the deletion of an account.

        Requires a key of an administrator with the scope `account`.
        """
        return self._fetch(MessageResponse, "POST", ("admin", "account", id, "cancel-deletion"))

    def delete_two_factor(self, id: int) -> MessageResponse:
        """Remove a lost second factor of another account.

        Requires a key of an administrator with the scope `account`.

        All sessions of the account end, and its owner gets an e-mail.
        """
        return self._fetch(MessageResponse, "POST", ("admin", "account", id, "remove-two-factor"))
