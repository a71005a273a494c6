"""`/admin/account/…`: accounts of others, for administrators (API document, section Administration)."""

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection

from waypost.api.context import Change, Context
from waypost.api.responses import MessageResponse
from waypost.api.types import PathId, Timestamp
from waypost.auth.people import Person
from waypost.core import clock
from waypost.core.errors import Kind, Problem, account_not_found
from waypost.items.accounts import deletion, emails, login_changes, lost_phone, ops

router = APIRouter(tags=["Administration"])


class DeletionOut(MessageResponse):
    """The response to the deletion of an account."""

    deletion: Timestamp = Field(description="Time of the deletion, in UTC. Until then it can be canceled.")


@router.delete("/admin/account/{id}/delete")
def delete_account(context: Context, id: PathId) -> Change[DeletionOut]:
    """Delete an account of the installation in 7 days.

    Everything of the account is deleted; its aliases stay reserved. Requires a key of an administrator with the scope
    `account`.
    """

    def work(tx: Connection) -> int:
        _require_administrator(context, tx)
        return deletion.schedule(tx, _existing(tx, id))

    def respond(due: int) -> DeletionOut:
        date = clock.text(due)
        return DeletionOut(message=f"Account will be deleted on {date} UTC.", deletion=date)

    return Change(work, respond)


@router.post("/admin/account/{id}/cancel-deletion")
def cancel_account_deletion(context: Context, id: PathId) -> Change[MessageResponse]:
    """Cancel the deletion of an account. Requires a key of an administrator with the scope `account`."""

    def work(tx: Connection) -> None:
        _require_administrator(context, tx)
        deletion.cancel(tx, _existing(tx, id))

    return Change(work, lambda _: MessageResponse(message="Account is not deleted."))


@router.post("/admin/account/{id}/remove-two-factor")
def delete_two_factor(context: Context, id: PathId) -> MessageResponse:
    """Remove a lost second factor of another account. Requires a key of an administrator with the scope `account`.

    All sessions of the account end, and its owner gets an e-mail.
    """

    def work(tx: Connection) -> Person | None:
        _require_administrator(context, tx)
        return lost_phone.remove_of_other(tx, context.account, id)

    owners: list[Person] = []

    def respond(owner: Person | None) -> MessageResponse:
        if owner is None:
            return MessageResponse(message="The account has no two-factor authentication.")
        owners[:] = [owner]
        return MessageResponse(message="Two-factor authentication was removed.")

    response = context.run(Change(work, respond))
    for owner in owners:
        login_changes.tell(context, owner, emails.FACTOR_REMOVED)
    return response


def _require_administrator(context: Context, tx: Connection) -> None:
    """Raise NOT_FOUND for other accounts, and ACCOUNT_KEY_REQUIRED for a key without the scope `account`."""
    if not ops.get(tx, context.account).owner:
        raise account_not_found()
    if not context.can_change_login:
        raise Problem(
            Kind.ACCOUNT_KEY_REQUIRED, "This API key cannot change other accounts. It needs the scope account."
        )


def _existing(tx: Connection, account: int) -> int:
    return ops.get(tx, account).id
