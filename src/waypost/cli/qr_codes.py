"""The `waypost qr` commands."""

from collections.abc import Sequence
from typing import Any

import typer
from sqlalchemy import Connection

from waypost.cli import access, console, items
from waypost.items.qr import ops
from waypost.items.qr.ops import Listed
from waypost.search import words
from waypost.urls.short_urls import short_url

qr = typer.Typer(no_args_is_help=True)
_COLUMNS = ("id", "shorturl", "name", "type", "dynamic", "scans", "created")


@qr.command("list")
def list_codes(
    identifier: access.AccountArgument,
    q: items.Words = "",
    limit: items.Limit = 100,
    page_number: items.PageNumber = 1,
    json: console.AsJson = False,
) -> None:
    """List the QR codes of an account, newest first."""
    settings, window = access.settings(), items.window(limit, page_number)
    with access.database_and_account(identifier) as (database, account):
        page = database.read(
            lambda tx: ops.page(tx, account.id, window, words=words.parse(tx, account.id, q, settings=settings))
        )
    items.print_page(page, [_row(settings.base, code) for code in page.items], _COLUMNS, json=json)


@qr.command("show")
def show_code(identifier: access.AccountArgument, id: items.IdArgument, json: console.AsJson = False) -> None:
    """Show a QR code with its content and style."""
    base = access.settings().base
    with access.database_and_account(identifier) as (database, account):
        code = database.read(lambda tx: ops.get_owned(tx, account.id, id))
    items.print_item(_row(base, code), json=json)


@qr.command("delete")
def delete_codes(identifier: access.AccountArgument, ids: items.IdArguments, yes: console.Yes = False) -> None:
    """Delete QR codes. Their aliases stay reserved for the account."""
    items.delete(identifier, ids, "QR code", _remove, yes=yes)


def _remove(tx: Connection, account: int, ids: Sequence[int]) -> None:
    for code in sorted(ids):
        ops.remove(tx, account, code)


def _row(base: str, code: Listed) -> dict[str, Any]:
    row = items.columns_of(code)
    return {"id": row.pop("id"), "shorturl": short_url(base, "", None, code.alias), **row}
