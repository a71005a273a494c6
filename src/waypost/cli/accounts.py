"""The `waypost account` and `waypost plan` commands."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from waypost import clock
from waypost.accounts import email_links, ops
from waypost.accounts.ops import Account, Status
from waypost.auth import api_keys
from waypost.auth.api_keys import Key, Scope
from waypost.cli import access, console
from waypost.cli.access import AccountArgument
from waypost.cli.console import AsJson
from waypost.server import new_accounts

account = typer.Typer(no_args_is_help=True)
key = typer.Typer(no_args_is_help=True, help="API keys of an account.")
plan = typer.Typer(no_args_is_help=True)
account.add_typer(key, name="key")

_UPLOAD_LIMIT = 512 * 1024 * 1024
_MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON client represents exactly


def _validate_name(value: str) -> str:
    if not value.strip() or len(value) > 64 or not value.isprintable():
        raise typer.BadParameter("must be 1 to 64 characters on one line")
    return value


@account.command("add")
def add_account(
    email: Annotated[str, typer.Option(help="E-mail address, unique.")],
    username: Annotated[str, typer.Option(help="3 to 50 of A-Z a-z 0-9 _ -, unique.")],
    password: Annotated[str | None, typer.Option(help="8 to 128 characters. Default: a generated password.")] = None,
    plan: Annotated[str, typer.Option(help="Name of a plan.")] = "free",
    rate_limit: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_INTEGER, help="Requests per minute and API key. Default: the limit of the plan."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Create an account with an API key. The first account becomes the owner."""
    with access.database() as database:
        created = new_accounts.create_account(
            database, email=email, username=username, password=password, plan=plan, rate_limit=rate_limit
        )
    if json:
        console.as_json(asdict(created))
        return
    owner = f"{created.username} <{created.email}>"
    console.stdout.print(f"Account {owner} created. These credentials are shown only once:")
    console.stdout.print(f"  password  {created.password}\n  API key   {created.apikey}")


@account.command("list")
def list_accounts(json: AsJson = False) -> None:
    """List all accounts."""
    with access.database() as database:
        rows = [_account_row(account) for account in database.read(ops.everyone)]
    console.print_rows(rows, ("id", "username", "email", "plan", "owner", "suspended", "registered"), json=json)


@account.command("suspend")
def suspend_account(
    identifier: AccountArgument, undo: Annotated[bool, typer.Option("--undo", help="Lift the suspension.")] = False
) -> None:
    """Suspend an account: it loses access to the API. Its links and QR codes keep working."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.suspend(tx, account.id, suspended=not undo))
    console.stdout.print(f"{account.username} is {'active again' if undo else 'suspended'}.")


@account.command("admin")
@account.command("operator", hidden=True)  # the former name
def set_admin(
    identifier: AccountArgument, undo: Annotated[bool, typer.Option("--undo", help="Remove the admin rights.")] = False
) -> None:
    """Give an account admin rights; --undo removes them. The first account has them from the start."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.set_admin(tx, account.id, admin=not undo))
    console.stdout.print(f"{account.username} is {'no longer an administrator' if undo else 'an administrator'}.")


@account.command("reset")
def reset_password(identifier: AccountArgument) -> None:
    """Print a one-time password-reset link, valid for one hour."""
    with access.database_and_account(identifier) as (database, account):
        link = database.read(lambda tx: email_links.reset_link(tx, access.settings().dashboard, account.id))
    console.stdout.print(f"Password-reset link for {account.username}, valid for one hour:")
    console.stdout.print(f"  {link}", soft_wrap=True)


@key.command("add")
def add_key(
    identifier: AccountArgument,
    name: Annotated[str, typer.Option(help="Name of the key.", callback=_validate_name)] = "key",
    scope: Annotated[Scope, typer.Option(help="read, write, or account: also changes e-mail and password.")] = "write",
    expires: Annotated[
        str | None, typer.Option(help="Expiry in UTC: YYYY-MM-DD (end of that day) or YYYY-MM-DD HH:MM:SS.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Create an API key. It is shown only once."""
    try:
        expires_at = None if expires is None else clock.last_second(expires)
    except ValueError as error:
        raise typer.BadParameter("must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", param_hint="--expires") from error
    if expires_at is not None and expires_at < clock.now():
        raise typer.BadParameter("must not be in the past", param_hint="--expires")
    with access.database_and_account(identifier) as (database, account):
        secret = database.write(lambda tx: api_keys.add(tx, account.id, name=name, scope=scope, expires=expires_at))
    if json:
        console.as_json({"account": account.id, "name": name, "scope": scope, "apikey": secret})
    else:
        console.stdout.print(f"API key for {account.username}, shown only once:\n  {secret}")


@key.command("list")
def list_keys(identifier: AccountArgument, json: AsJson = False) -> None:
    """List the API keys of an account, without their secrets."""
    with access.database_and_account(identifier) as (database, account):
        rows = [_key_row(key) for key in database.read(lambda tx: api_keys.of(tx, account.id))]
    console.print_rows(rows, ("id", "name", "hint", "scope", "expires", "created", "last_used"), json=json)


@key.command("revoke")
def revoke_key(
    identifier: AccountArgument,
    key: Annotated[int, typer.Argument(min=1, max=_MAX_INTEGER, help="Id shown by `key list`.")],
) -> None:
    """Revoke an API key immediately."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: api_keys.revoke(tx, account.id, key))
    console.stdout.print(f"Key {key} of {account.username} is revoked.")


@plan.command("add")
def add_plan(
    name: Annotated[str, typer.Argument(help="Name, unique.", callback=_validate_name)],
    status: Annotated[Status, typer.Option(help="Status that the API reports for accounts of the plan.")] = "pro",
    rate_limit: Annotated[int, typer.Option(min=1, max=_MAX_INTEGER, help="Requests per minute and API key.")] = 30,
    upload_limit: Annotated[
        int, typer.Option(min=1, max=_MAX_INTEGER, help="Maximum size of a file, in bytes.")
    ] = _UPLOAD_LIMIT,
    storage_limit: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_INTEGER, help="Total size of an account's files, in bytes. Default: unlimited."),
    ] = None,
    item_limit: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_INTEGER, help="Links, QR codes, files … of an account, each. Default: unlimited."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Create a plan."""
    with access.database() as database:
        created = database.write(
            lambda tx: ops.add_plan(
                tx,
                name=name,
                status=status,
                rate_limit=rate_limit,
                upload_limit=upload_limit,
                storage_limit=storage_limit,
                item_limit=item_limit,
            )
        )
    if json:
        console.as_json(asdict(created))
    else:
        console.stdout.print(f"Plan {created.name} created.")


@plan.command("change")
def change_plan(
    name: Annotated[str, typer.Argument(help="Name of the plan.")],
    rate_limit: Annotated[
        int | None, typer.Option(min=1, max=_MAX_INTEGER, help="Requests per minute and API key.")
    ] = None,
    upload_limit: Annotated[
        int | None, typer.Option(min=1, max=_MAX_INTEGER, help="Maximum size of a file, in bytes.")
    ] = None,
    storage_limit: Annotated[
        int | None, typer.Option(min=1, max=_MAX_INTEGER, help="Total size of an account's files, in bytes.")
    ] = None,
    item_limit: Annotated[
        int | None, typer.Option(min=1, max=_MAX_INTEGER, help="Links, QR codes, files … of an account, each.")
    ] = None,
) -> None:
    """Change limits of a plan, immediately for its accounts. Existing items are kept."""
    limits = {
        "rate_limit": rate_limit,
        "upload_limit": upload_limit,
        "storage_limit": storage_limit,
        "item_limit": item_limit,
    }
    given = {key: value for key, value in limits.items() if value is not None}
    if not given:
        raise typer.BadParameter("give at least one limit", param_hint="--item-limit")
    with access.database() as database:
        database.write(lambda tx: ops.change_plan(tx, name, **given))
    console.stdout.print(f"Plan {name} changed.")


@plan.command("list")
def list_plans(json: AsJson = False) -> None:
    """List all plans."""
    with access.database() as database:
        rows = [asdict(plan) for plan in database.read(ops.all_plans)]
    console.print_rows(
        rows, ("id", "name", "status", "rate_limit", "upload_limit", "storage_limit", "item_limit"), json=json
    )


def _account_row(account: Account) -> dict[str, Any]:
    expires = clock.NEVER if account.expires is None else clock.text(account.expires)
    return {**asdict(account), "expires": expires, "registered": clock.text(account.registered)}


def _key_row(key: Key) -> dict[str, Any]:
    times = {name: getattr(key, name) for name in ("expires", "created", "last_used")}
    return {**asdict(key), **{name: None if at is None else clock.text(at) for name, at in times.items()}}
