"""The `waypost file` commands."""

from collections.abc import Sequence
from typing import Any

import typer
from sqlalchemy import Connection

from waypost.cli import access, console, items
from waypost.core import clock
from waypost.items.files import ops
from waypost.items.files.ops import Details
from waypost.search import words
from waypost.urls.short_urls import short_url

file = typer.Typer(no_args_is_help=True)
_COLUMNS = ("id", "shorturl", "name", "size", "downloads", "created")


@file.command("list")
def list_files(
    identifier: access.AccountArgument,
    q: items.Words = "",
    limit: items.Limit = 100,
    page_number: items.PageNumber = 1,
    json: console.AsJson = False,
) -> None:
    """List the files of an account, newest first. Sizes are in bytes."""
    settings, window = access.settings(), items.window(limit, page_number)
    with access.database_and_account(identifier) as (database, account):
        page = database.read(
            lambda tx: ops.search(tx, account.id, window, words=words.parse(tx, account.id, q, settings=settings))
        )
    items.print_page(page, [_row(settings.base, each) for each in page.items], _COLUMNS, json=json)


@file.command("show")
def show_file(identifier: access.AccountArgument, id: items.IdArgument, json: console.AsJson = False) -> None:
    """Show the metadata of a file. `kept`: the storage still has its content."""
    base = access.settings().base
    with access.database_and_account(identifier) as (database, account):
        shown = database.read(lambda tx: ops.get_owned(tx, account.id, id))
    items.print_item(_row(base, shown), json=json)


@file.command("delete")
def delete_files(identifier: access.AccountArgument, ids: items.IdArguments, yes: console.Yes = False) -> None:
    """Delete files. Their aliases stay reserved for the account; a running service soon removes the content."""
    items.delete(identifier, ids, "file", _remove, yes=yes)


def _remove(tx: Connection, account: int, ids: Sequence[int]) -> None:
    for each in sorted(ids):
        ops.remove(tx, account, each)


def _row(base: str, shown: Details) -> dict[str, Any]:
    return {
        "id": shown.id,
        "shorturl": short_url(base, shown.host, shown.scheme, shown.alias),
        "name": shown.name,
        "filename": shown.filename,
        "size": shown.size,
        "type": shown.mime,
        "sha256": shown.sha256.hex(),
        "password": shown.password is not None,
        "expiry": None if shown.expiry is None else clock.text(shown.expiry),
        "maxdownloads": shown.maxdownloads,
        "downloads": shown.downloads,
        "uniquedownloads": shown.uniquedownloads,
        "available": shown.purged is None and not shown.has_ended(clock.now()),
        "kept": shown.purged is None,
        "created": clock.text(shown.created),
    }
