"""The name of an account on the public pages of its files, which is shown only if the account has entered one."""

from typing import Annotated

from pydantic import AfterValidator, Field
from sqlalchemy import Connection, select

from waypost.api.request_body import Body
from waypost.api.types import Line
from waypost.db import account_rows, change_log
from waypost.db.schema import accounts, files


class Sender(Body):
    """The form of the name; without one, no name is shown."""

    sender: Annotated[Line, AfterValidator(str.strip), Field(max_length=64)] = ""


def name_of(tx: Connection, account: int) -> str:
    """Return the name that visitors of files see; "" for none."""
    return str(tx.execute(select(accounts.c.sender).where(accounts.c.id == account)).scalar_one())


def choose_name(tx: Connection, account: int, *, sender: str = "") -> None:
    """Store the name that visitors of files see; "" shows none."""
    if account_rows.change(tx, account, "sender", {"sender": sender}):
        change_log.record_items(tx, files, files.c.account == account)
