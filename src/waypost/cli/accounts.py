"""`waypost account …` and `waypost plan …`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from waypost import clock
from waypost.accounts import email_links, ops
from waypost.accounts.ops import Account, Status
from waypost.auth import api_keys
from waypost.auth.api_keys import Key, Scope
from waypost.cli import console
from waypost.server import startup

account = typer.Typer(no_args_is_help=True, help="Accounts of this installation.")
key = typer.Typer(no_args_is_help=True, help="API keys of an account.")
plan = typer.Typer(no_args_is_help=True, help="Plans: how much an account may do.")
account.add_typer(key, name="key")

_MOST = 2**53 - 1  # what every JSON client can hold


def _line(value: str) -> str:
    if not value.strip() or len(value) > 64 or not value.isprintable():
        raise typer.BadParameter("must be 1 to 64 characters on one line")
    return value


Who = Annotated[str, typer.Argument(help="Username, e-mail address or id.")]


@account.command("add")
def add_account(
    email: Annotated[str, typer.Option(help="E-mail address, unique.")],
    username: Annotated[str, typer.Option(help="3 to 50 of A-Z a-z 0-9 _ -, unique.")],
    password: Annotated[str | None, typer.Option(help="8 to 128 characters; made up when left out.")] = None,
    plan: Annotated[str, typer.Option(help="Name of a plan.")] = "free",
    rate_limit: Annotated[
        int | None, typer.Option(min=1, max=_MOST, help="Requests a minute and key, instead of the plan's.")
    ] = None,
    json: console.AsJson = False,
) -> None:
    """Make an account with an API key. The first account of an installation is its owner."""
    with console.database() as database:
        made = startup.create_account(
            database, email=email, username=username, password=password, plan=plan, rate_limit=rate_limit
        )
    if json:
        console.as_json(asdict(made))
        return
    console.console.print(f"Account {made.username} <{made.email}> is made. Shown once:")
    console.console.print(f"  password  {made.password}")
    console.console.print(f"  API key   {made.apikey}")


@account.command("list")
def list_accounts(json: console.AsJson = False) -> None:
    """Show every account."""
    with console.database() as database:
        rows = [_account(one) for one in database.read(ops.everyone)]
    if json:
        console.as_json(rows)
    else:
        console.table(rows, ("id", "username", "email", "plan", "owner", "suspended", "registered"))


@account.command("suspend")
def suspend_account(
    who: Who, undo: Annotated[bool, typer.Option("--undo", help="Let the account in again.")] = False
) -> None:
    """Shut an account out of the API. Its links and codes go on working."""
    with console.database() as database:
        result = console.find_account(database, who)
        database.write(lambda tx: ops.suspend(tx, result.id, suspended=not undo))
    console.console.print(f"{result.username} is {'active again' if undo else 'suspended'}.")


@account.command("operator")
def make_operator(
    who: Who, undo: Annotated[bool, typer.Option("--undo", help="Take the operator's pages away again.")] = False
) -> None:
    """Show an account the operator's pages of the dashboard. The first account sees them from the start."""
    with console.database() as database:
        result = console.find_account(database, who)
        database.write(lambda tx: ops.make_operator(tx, result.id, operator=not undo))
    console.console.print(f"{result.username} is {'no longer an operator' if undo else 'an operator'}.")


@account.command("reset")
def reset_password(who: Who) -> None:
    """Print a link by which its owner chooses a new password: good for an hour, and once."""
    with console.database() as database:
        result = console.find_account(database, who)
        link = database.read(lambda tx: email_links.reset_link(tx, console.settings().base, result.id))
    console.console.print(f"For {result.username}, within an hour:")
    console.console.print(f"  {link}", soft_wrap=True)


@key.command("add")
def add_key(
    who: Who,
    name: Annotated[str, typer.Option(help="What the key is for.", callback=_line)] = "key",
    scope: Annotated[Scope, typer.Option(help="What the key may do.")] = "write",
    expires: Annotated[str | None, typer.Option(help="Last day, YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS, UTC.")] = None,
    json: console.AsJson = False,
) -> None:
    """Make another API key; it is shown once."""
    try:
        until = None if expires is None else clock.last_second(expires)
    except ValueError as error:
        raise typer.BadParameter("must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", param_hint="--expires") from error
    if until is not None and until < clock.now():
        raise typer.BadParameter("must not be in the past", param_hint="--expires")
    with console.database() as database:
        result = console.find_account(database, who)
        made = database.write(lambda tx: api_keys.add(tx, result.id, name=name, scope=scope, expires=until))
    if json:
        console.as_json({"account": result.id, "name": name, "scope": scope, "apikey": made})
    else:
        console.console.print(f"API key for {result.username}, shown once:\n  {made}")


@key.command("list")
def list_keys(who: Who, json: console.AsJson = False) -> None:
    """Show an account's API keys, without the keys themselves."""
    with console.database() as database:
        result = console.find_account(database, who)
        rows = [_key(one) for one in database.read(lambda tx: api_keys.of(tx, result.id))]
    if json:
        console.as_json(rows)
    else:
        console.table(rows, ("id", "name", "hint", "scope", "expires", "created", "last_used"))


@key.command("revoke")
def revoke_key(who: Who, key: Annotated[int, typer.Argument(min=1, max=_MOST, help="Id, from `key list`.")]) -> None:
    """End an API key at once."""
    with console.database() as database:
        result = console.find_account(database, who)
        database.write(lambda tx: api_keys.revoke(tx, result.id, key))
    console.console.print(f"Key {key} of {result.username} is revoked.")


@plan.command("add")
def add_plan(
    name: Annotated[str, typer.Argument(help="Name, unique.", callback=_line)],
    status: Annotated[Status, typer.Option(help="What the account's status says.")] = "pro",
    rate_limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Requests a minute and key.")] = 30,
    upload_limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Bytes a file.")] = 512 * 1024 * 1024,
    storage_limit: Annotated[
        int | None, typer.Option(min=1, max=_MOST, help="Bytes of all files of an account; else as many as fit.")
    ] = None,
    json: console.AsJson = False,
) -> None:
    """Make a plan."""
    with console.database() as database:
        made = database.write(
            lambda tx: ops.add_plan(
                tx,
                name=name,
                status=status,
                rate_limit=rate_limit,
                upload_limit=upload_limit,
                storage_limit=storage_limit,
            )
        )
    if json:
        console.as_json(asdict(made))
    else:
        console.console.print(f"Plan {made.name} is made.")


@plan.command("list")
def list_plans(json: console.AsJson = False) -> None:
    """Show every plan."""
    with console.database() as database:
        rows = [asdict(one) for one in database.read(ops.all_plans)]
    if json:
        console.as_json(rows)
    else:
        console.table(rows, ("id", "name", "status", "rate_limit", "upload_limit", "storage_limit"))


def _account(account: Account) -> dict[str, Any]:
    ends = clock.NEVER if account.expires is None else clock.text(account.expires)
    return {**asdict(account), "expires": ends, "registered": clock.text(account.registered)}


def _key(key: Key) -> dict[str, Any]:
    times = {name: getattr(key, name) for name in ("expires", "created", "last_used")}
    return {**asdict(key), **{name: None if at is None else clock.text(at) for name, at in times.items()}}
