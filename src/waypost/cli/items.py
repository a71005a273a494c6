"""Arguments and output that the commands for links, QR codes and files share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from waypost.cli import access, console
from waypost.cli.access import MAX_INTEGER
from waypost.core import clock
from waypost.db.crud import Page, PageRequest

Search = Annotated[str, typer.Option("--search", help="Only those that contain this text, ignoring case.")]
Words = Annotated[str, typer.Option("--search", help="Only those that match all words, as in the dashboard.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Length of a page.")]
PageNumber = Annotated[int, typer.Option("--page", min=1, max=MAX_INTEGER // 1000, help="Number of the page.")]
IdArgument = Annotated[int, typer.Argument(metavar="ID", min=1, max=MAX_INTEGER, help="Id shown by `list`.")]
IdArguments = Annotated[list[int], typer.Argument(metavar="ID...", min=1, max=MAX_INTEGER, help="Ids shown by `list`.")]


def print_page(page: Page[Any], rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, json: bool) -> None:
    """Print the rows of a page. Unless as JSON, standard error tells which of all rows they are."""
    console.print_rows(rows, columns, json=json)
    if not json and len(rows) < page.result:
        first = page.window.offset + 1
        shown = f"{first} to {first + len(rows) - 1}" if rows else "none"
        after = page.window.offset + len(rows) < page.result and bool(rows)
        more = f" Next: --page {page.window.page + 1}" if after else ""
        console.stderr.print(f"Shown: {shown} of {page.result}.{more}")


def window(limit: int, number: int) -> PageRequest:
    """Return the requested page."""
    return PageRequest(limit=limit, page=number)


def columns_of(item: Any) -> dict[str, Any]:
    """Return the fields of a record, with `created` as text."""
    row = {field.name: getattr(item, field.name) for field in fields(item)}
    return {**row, "created": clock.text(row["created"])}


def print_item(row: Mapping[str, Any], *, json: bool) -> None:
    """Print one item as JSON, or one line for each field."""
    if json:
        console.as_json(row)
    else:
        console.print_fields(row)


def delete(
    identifier: str,
    ids: Sequence[int],
    noun: str,
    remove: Callable[[Connection, int, Sequence[int]], None],
    *,
    yes: bool,
) -> None:
    """Delete items of an account in one transaction: all of them or, if one does not exist, none."""
    unique = list(dict.fromkeys(ids))
    things = f"{len(unique)} {noun}{'s' if len(unique) > 1 else ''}"
    with access.database_and_account(identifier) as (database, account):
        console.confirm_deletion(f"{things} of {account.username}", yes=yes)
        database.write(lambda tx: remove(tx, account.id, unique))
    console.stdout.print(f"{things} of {account.username} deleted.")
