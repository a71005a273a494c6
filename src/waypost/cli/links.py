"""The `waypost link` commands."""

from typing import Annotated, Any

import typer
from sqlalchemy import Connection, select

from waypost.cli import access, console, items
from waypost.core import clock
from waypost.db.crud import Page
from waypost.db.schema import links
from waypost.items.links import bulk, list_search, ops
from waypost.items.links.columns import Status
from waypost.items.links.filters import LinkFilter
from waypost.items.links.ops import Link
from waypost.search import words
from waypost.urls.short_urls import short_url

link = typer.Typer(no_args_is_help=True)
_COLUMNS = ("id", "shorturl", "longurl", "title", "clicks", "created")


@link.command("list")
def list_links(
    identifier: access.AccountArgument,
    q: items.Search = "",
    status: Annotated[Status | None, typer.Option(help="Only links with this status.")] = None,
    limit: items.Limit = 100,
    page_number: items.PageNumber = 1,
    json: console.AsJson = False,
) -> None:
    """List the links of an account, newest first."""
    settings = access.settings()
    base = settings.base
    with access.database_and_account(identifier) as (database, account):
        link_filter = LinkFilter(status=status)
        window = items.window(limit, page_number)

        def work(tx: Connection) -> Page[ops.Link]:
            short = words.short_url(tx, account.id, q, settings=settings)
            return list_search.page(tx, account.id, window, q=q, short=short, link_filter=link_filter)

        page = database.read(work)
    items.print_page(page, [_row(base, each) for each in page.items], _COLUMNS, json=json)


@link.command("show")
def show_link(identifier: access.AccountArgument, id: items.IdArgument, json: console.AsJson = False) -> None:
    """Show a link with all its settings."""
    base = access.settings().base
    with access.database_and_account(identifier) as (database, account):
        shown, details = database.read(lambda tx: ops.get_details(tx, account.id, id))
    expiry = None if details.expiry is None else clock.text(details.expiry)
    items.print_item({**_row(base, shown), **vars(details), "expiry": expiry}, json=json)


@link.command("disable")
def disable_links(identifier: access.AccountArgument, ids: items.IdArguments) -> None:
    """Disable links immediately: visitors get 403."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: bulk.set_status(tx, account.id, ids, "disabled"))
    console.stdout.print(f"Disabled: {', '.join(map(str, ids))}.")


@link.command("enable")
def enable_links(identifier: access.AccountArgument, ids: items.IdArguments) -> None:
    """Make disabled links public again, immediately. Other links keep their status."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: _enable(tx, account.id, ids))
    console.stdout.print(f"Enabled: {', '.join(map(str, ids))}.")


@link.command("delete")
def delete_links(identifier: access.AccountArgument, ids: items.IdArguments, yes: console.Yes = False) -> None:
    """Delete links. Their aliases stay reserved for the account."""
    items.delete(identifier, ids, "link", bulk.remove, yes=yes)


def _enable(tx: Connection, account: int, ids: list[int]) -> None:
    ops.get_owned_many(tx, account, ids)
    is_disabled = (links.c.account == account, links.c.id.in_(ids), links.c.status == "disabled")
    disabled = tx.execute(select(links.c.id).where(*is_disabled)).scalars().all()
    bulk.set_status(tx, account, disabled, "public")


def _row(base: str, shown: Link) -> dict[str, Any]:
    row = items.columns_of(shown)
    scheme, host, longurl = row.pop("scheme"), row.pop("host"), row.pop("url")
    start = {"id": row.pop("id"), "shorturl": short_url(base, host, scheme, shown.alias), "longurl": longurl}
    return {**start, **row, "channel": list(shown.channel)}
