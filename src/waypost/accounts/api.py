"""`/account` (API document, section Account; decisions 14 and 15)."""

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost import clock, credentials
from waypost.accounts import login_changes, ops
from waypost.api.context import Context
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import Line, Timestamp
from waypost.errors import Kind, Problem, invalid

router = APIRouter(tags=["Account"])


class AccountOut(BaseModel):
    """The account, as the API document shows it."""

    id: int
    email: str
    username: str
    avatar: str
    status: ops.Status
    plan: str
    expires: Timestamp
    registered: Timestamp


class AccountAnswer(Success):
    data: AccountOut


class AccountChange(Body):
    email: Line | None = None
    password: str | None = Field(None, description="8 to 128 characters.")


@router.get("/account")
def read_account(context: Context) -> AccountAnswer:
    account = context.read(lambda tx: ops.get(tx, context.account), autocommit=True)
    fields = {
        **vars(account),
        "avatar": f"{context.settings.base}/u/{account.username}/avatar.svg",
        "expires": clock.NEVER if account.expires is None else clock.text(account.expires),
    }
    return AccountAnswer(data=AccountOut(**fields))


@router.put("/account/update")
def update_account(context: Context, body: AccountChange) -> MessageResponse:
    if not context.can_change_login:
        message = "This API key cannot change the e-mail address or password. Use a key with the scope account."
        raise Problem(Kind.ACCOUNT_KEY_REQUIRED, message)
    sent = body.sent()
    for field in ("email", "password"):
        if field in sent and sent[field] is None:
            raise invalid(field, f"{field} cannot be cleared.")
    if not sent.keys() & {"email", "password"}:
        raise invalid("email", "Send email, password or both.")
    hashed = None
    if body.email is not None:
        ops.checked_email(body.email)
    if body.password is not None:
        hashed = credentials.hash_password(ops.checked_password(body.password))

    def respond(tx: Connection, is_pending: bool) -> MessageResponse:  # noqa: FBT001  # called by login_changes
        message = "Account has been successfully updated."
        if is_pending:
            message += " The new e-mail address is used once it is confirmed by the link that was sent to it."
        return context.answer(tx, MessageResponse(message=message))

    return login_changes.change(context, respond, email=body.email, password=hashed).result
