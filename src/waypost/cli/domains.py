"""The `waypost domain` commands: branded domains of all accounts."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from sqlalchemy import Connection, select

from waypost.cli import access, console
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.items.accounts import ops as accounts
from waypost.items.domains import ops
from waypost.items.links import ops as link_ops
from waypost.urls import hostnames

domain = typer.Typer(no_args_is_help=True)
HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="Host name, such as go.brand.example.")]
_BATCH = 200  # links in a transaction: redirects and other writes continue in between


@domain.command("list")
def list_domains(json: console.AsJson = False) -> None:
    """List the branded domains of all accounts, and the number of items on each.

    `also` is the second name of a domain that answers with and without `www.`.
    """
    with access.database() as database:
        rows = database.read(_rows)
    console.print_rows(rows, ("id", "domain", "also", "account", "items", "created"), json=json)


@domain.command("move")
def move_domain(host: HostArgument, identifier: access.AccountArgument) -> None:
    """Give a domain to another account, with its settings and brand. Its owner must have no items on it."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.move(tx, host, account.id))
    console.stdout.print(f"{host} belongs to {account.username} now.")


@domain.command("move-links")
def move_links(
    identifier: access.AccountArgument,
    source: Annotated[str, typer.Argument(metavar="FROM", help="Host name that the links have.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Host name of the account, or of this service.")],
) -> None:
    """Move all links of an account from one domain to another. The old short URLs end.

    A link whose alias is taken on the new domain stays where it is, and is named.
    """
    settings = access.settings()
    with access.database_and_account(identifier) as (database, account):
        database.read(lambda tx: hostnames.resolve_domain(tx, account.id, target, settings=settings))
        old = "" if source.lower() == settings.own_host else source.lower()
        ids = database.read(lambda tx: _links_on(tx, account.id, old))
        if not ids:
            raise Problem(Kind.NOT_FOUND, f"{account.username} has no links on {source}.")
        refused = _move(database, settings, account.id, ids, target)
    console.stdout.print(f"{len(ids) - len(refused)} links moved from {source} to {target}.")
    for link, reason in refused.items():
        console.complain(f"Link {link} was not moved: {reason}", color="yellow")
    if refused:
        raise typer.Exit(1)


@domain.command("delete")
def delete_domain(host: HostArgument, yes: console.Yes = False) -> None:
    """Delete a domain. Its links answer 404 until the domain is added again, or they are moved."""
    with access.database() as database:
        owner, branded = database.read(lambda tx: ops.find(tx, host))
        username = database.read(lambda tx: accounts.get(tx, owner)).username
        items = sum(database.read(lambda tx: ops.uses(tx, owner, branded.host)).values())
        console.confirm_deletion(f"the domain {branded.host} of {username}, which has {items} items", yes=yes)
        database.write(lambda tx: ops.remove(tx, owner, branded.id))
    console.stdout.print(f"{branded.host} of {username} is deleted.")


def _move(database: Database, settings: Settings, account: int, ids: Sequence[int], target: str) -> dict[int, str]:
    """Move links to another domain. Return the ids of those that it refused, with the reasons."""
    refused: dict[int, str] = {}

    def work(tx: Connection, batch: Sequence[int]) -> dict[int, str]:
        failed = {}
        for link in batch:
            try:
                with tx.begin_nested():
                    link_ops.change(tx, account, link, settings=settings, domain=target)
            except Problem as problem:
                failed[link] = problem.message
        return failed

    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        refused |= database.write(partial(work, batch=batch))
    return refused


def _links_on(tx: Connection, account: int, host: str) -> Sequence[int]:
    on_host = select(links.c.id).where(links.c.account == account, links.c.host == host)
    return tx.execute(on_host.order_by(links.c.id)).scalars().all()


def _rows(tx: Connection) -> list[dict[str, Any]]:
    return [
        {
            "id": listed.domain.id,
            "domain": f"{listed.domain.scheme}://{listed.domain.host}",
            "also": listed.domain.other_host if listed.domain.alsowww else "",
            "account": listed.username,
            "items": sum(ops.uses(tx, listed.account, listed.domain.host).values()),
            "created": clock.text(listed.created),
        }
        for listed in ops.everyone(tx)
    ]
