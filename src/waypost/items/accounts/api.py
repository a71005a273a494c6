"""`/account` (API document, section Account; decisions 14 and 15)."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from waypost.api.context import Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import Id, Line, Timestamp
from waypost.auth import people
from waypost.core import clock, credentials
from waypost.core.errors import Kind, Problem, account_deleted, invalid
from waypost.items.accounts import login_changes, ops, password_rules

router = APIRouter(tags=["Account"])


class AccountOut(BaseModel):
    """An account."""

    id: Id
    email: str = Field(description="E-mail address, for signing in and notices.", examples=["ana@example.com"])
    username: str = Field(description="Name for signing in and in URLs of list pages.", examples=["ana"])
    avatar: str = Field(description="URL of a picture.", examples=["https://go.example.com/u/ana/avatar.svg"])
    status: ops.Status = Field(description="Status of the plan.", examples=["free"])
    plan: str = Field(description="Name of the plan, which sets the limits.", examples=["free"])
    expires: Timestamp = Field(
        description="End of the plan, in UTC; the year 9999 if there is none.", examples=[clock.NEVER]
    )
    registered: Timestamp = Field(description="Time of registration, in UTC.")


class AccountAnswer(Success):
    """The account of the API key."""

    data: AccountOut = Field(description="The account.")


class AccountChange(Body):
    """The login of the account. One field is required."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"email": "ana@example.com"}]})

    email: Line = Field(
        "",
        description="New e-mail address. If the service can send e-mail, it is used once it is confirmed.",
        examples=["ana@example.com"],
    )
    password: str = Field(
        "",
        description="New password, of 8 to 128 characters, not easy to guess. It ends all sessions of the dashboard.",
        examples=["correct horse battery"],
    )


@router.get("/account")
def read_account(context: Context) -> AccountAnswer:
    """Read the account of the API key."""
    account = context.read(lambda tx: ops.get(tx, context.account), autocommit=True)
    fields = {
        **vars(account),
        "avatar": f"{context.settings.base}/u/{account.username}/avatar.svg",
        "expires": clock.NEVER if account.expires is None else clock.text(account.expires),
    }
    return AccountAnswer(data=AccountOut(**fields))


@router.put("/account/update")
def update_account(context: Context, body: Partial[AccountChange]) -> MessageResponse:
    """Update the e-mail address or the password.

    The API key must have the scope `account`.
    """
    if not context.can_change_login:
        message = "This API key cannot change the e-mail address or password. Use a key with the scope account."
        raise Problem(Kind.ACCOUNT_KEY_REQUIRED, message)
    sent = body.sent()
    if not sent:
        raise invalid("email", "Send email, password or both.")
    owner = context.read(lambda tx: people.owner_of(tx, context.account))
    if owner is None:
        raise account_deleted()
    email, hashed = sent.get("email"), None
    if email is not None:
        ops.checked_email(email)
    if "password" in sent:
        names = (owner.username, email or owner.email)
        hashed = credentials.hash_password(password_rules.checked_password(sent["password"], names))

    def respond(tx: Connection, is_pending: bool) -> MessageResponse:  # noqa: FBT001  # called by login_changes
        message = "Account has been successfully updated."
        if is_pending:
            message += " The new e-mail address is used once it is confirmed by the link that was sent to it."
        return context.answer(tx, MessageResponse(message=message))

    return login_changes.change(context, owner.person, respond, email=email, password=hashed).result
