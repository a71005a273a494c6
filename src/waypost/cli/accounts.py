"""The `waypost account` commands: accounts and their API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, NamedTuple

import typer
from sqlalchemy import Connection

from waypost.admin import account_use, new_accounts
from waypost.admin.account_use import AccountUse
from waypost.auth import api_keys, sessions
from waypost.auth.api_keys import Key, Scope
from waypost.cli import access, console
from waypost.cli.access import MAX_INTEGER, AccountArgument
from waypost.cli.console import AsJson
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema.nouns import inside_sentence
from waypost.items.accounts import deletion, email_links, ops
from waypost.items.accounts.ops import Account

account = typer.Typer(no_args_is_help=True)
key = typer.Typer(no_args_is_help=True, help="API keys of an account.")
account.add_typer(key, name="key")
session = typer.Typer(no_args_is_help=True, help="Signed-in browsers of an account.")
account.add_typer(session, name="session")
_OldAccount = Annotated[str, typer.Argument(metavar="FROM", help="Username, e-mail address or id of the old account.")]
_NewAccount = Annotated[str, typer.Argument(metavar="TO", help="Username, e-mail address or id of the new account.")]
_Shorts = Annotated[
    list[str] | None, typer.Argument(metavar="SHORT...", help="Aliases on the service's host, or short URLs.")
]


@account.command("add")
def add_account(
    email: Annotated[str, typer.Option(help="E-mail address, unique.")],
    username: Annotated[str, typer.Option(help="3 to 50 of A-Z a-z 0-9 _ -, unique.")],
    password: Annotated[
        str | None, typer.Option(help="8 to 128 characters, not easy to guess. Default: a generated password.")
    ] = None,
    plan: Annotated[str, typer.Option(help="Name of a plan.")] = "free",
    rate_limit: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_INTEGER, help="Requests per minute and API key. Default: the limit of the plan."),
    ] = None,
    invite: Annotated[
        bool,
        typer.Option(
            "--invite",
            help="Create no password and no API key, but a link with which the owner chooses a password within a week."
            " It is printed, and sent by e-mail if that is configured.",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Create an account with an API key. The first account becomes the owner."""
    if invite:
        if password is not None:
            raise typer.BadParameter("the owner chooses the password: leave it out", param_hint="--password")
        _invite(_NewLogin(email, username, plan, rate_limit), json=json)
        return
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


class _NewLogin(NamedTuple):
    email: str
    username: str
    plan: str
    rate_limit: int | None


def _invite(login: _NewLogin, *, json: bool) -> None:
    from waypost.admin import invitations  # noqa: PLC0415  # loads the texts of e-mail

    with access.database() as database:
        invitation = invitations.invite(access.settings(), database, **login._asdict())
    if json:
        console.as_json(asdict(invitation))
        return
    owner = f"{invitation.username} <{invitation.email}>"
    console.stdout.print(f"Account {owner} created. Its owner chooses a password with this link, within a week:")
    console.stdout.print(f"  {invitation.link}", soft_wrap=True)
    hint = "It was also sent by e-mail." if invitation.sent else "E-mail is not configured: send the link yourself."
    console.stdout.print(hint)


@account.command("list")
def list_accounts(json: AsJson = False) -> None:
    """List all accounts, with their links and the bytes of their files.

    `storage_percent` is the share of the storage limit of the plan, `last_active` the last sign-in or use of a key.
    """

    def work(tx: Connection) -> tuple[list[Account], Mapping[int, AccountUse]]:
        everyone = ops.everyone(tx)
        return everyone, account_use.of(tx, [account.id for account in everyone])

    with access.database() as database:
        listed, use = database.read(work)
    rows = [{**_account_row(account), **_use_row(use[account.id])} for account in listed]
    use_columns = ("links", "stored", "storage_percent", "last_active")
    columns = ("id", "username", "email", "plan", *use_columns, "owner", "suspended", "deletion", "registered")
    console.print_rows(rows, columns, json=json)


@account.command("show")
def show_account(identifier: AccountArgument, json: AsJson = False) -> None:
    """Show an account, the number of its items, and the total size of its files in bytes."""
    with access.database_and_account(identifier) as (database, account):
        contents = database.read(lambda tx: deletion.contents(tx, account.id))
        rate_limit = database.read(lambda tx: ops.own_rate_limit(tx, account.id))
        due = database.read(lambda tx: deletion.due_at(tx, account.id))
    deleted_on = None if due is None else clock.text(due)
    details = {**_account_row(account), "rate_limit": rate_limit, "stored": contents.stored, "deletion": deleted_on}
    items = {inside_sentence(label): number for label, number in contents.items.items()}
    if json:
        console.as_json({**details, "items": items})
    else:
        console.print_fields({**details, **items})


@account.command("rename")
def rename_account(
    identifier: AccountArgument,
    username: Annotated[str, typer.Argument(help="New username: 3 to 50 of A-Z a-z 0-9 _ -, unique.")],
) -> None:
    """Change the username, which is the login. The addresses of list pages of campaigns contain it."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.rename(tx, account.id, username))
    console.stdout.print(f"{account.username} is now {username}.")


@account.command("email")
def change_email(
    identifier: AccountArgument,
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="New e-mail address, unique.")],
) -> None:
    """Change the e-mail address, without a confirmation by e-mail. Password-reset links go to the new one."""
    with access.database_and_account(identifier) as (database, account):
        new = ops.checked_email(email)
        database.write(lambda tx: ops.change(tx, account.id, email=new))
    console.stdout.print(f"{account.username} has the e-mail address {new} now, instead of {account.email}.")


@account.command("plan")
def change_plan(
    identifier: AccountArgument, plan: Annotated[str, typer.Argument(metavar="PLAN", help="Name of a plan.")]
) -> None:
    """Put an account on another plan, immediately. Existing items are kept."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.move(tx, account.id, plan=plan))
    console.stdout.print(f"{account.username} is on the plan {plan}.")


@account.command("limit")
def limit_account(
    identifier: AccountArgument,
    rate_limit: Annotated[
        int | None,
        typer.Argument(min=1, max=MAX_INTEGER, help="Requests per minute and API key. Default: the limit of the plan."),
    ] = None,
) -> None:
    """Give an account its own rate limit, immediately, or without a number that of its plan."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.limit_rate(tx, account.id, rate_limit))
    limit = (
        "the rate limit of its plan"
        if rate_limit is None
        else f"{console.counted(rate_limit, 'requests')} per minute and API key"
    )
    console.stdout.print(f"{account.username} has {limit}.")


@account.command("delete")
def delete_account(
    identifier: AccountArgument,
    now: Annotated[bool, typer.Option("--now", help="Delete at once instead of in 7 days.")] = False,
    later: Annotated[bool, typer.Option("--later", help="In 7 days, which is the default.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel a deletion that is scheduled.")] = False,
    yes: console.Yes = False,
) -> None:
    """Delete an account in 7 days, with its items, statistics, API keys and sessions. Until then --cancel keeps it.

    Its short URLs then answer 404. Their aliases stay reserved, so that no other account can use them. `waypost export`
    saves its data. If a deletion with --now is interrupted, run it again to resume.
    """
    if now + later + cancel > 1:
        raise typer.BadParameter("--now, --later and --cancel exclude each other: use one of them")
    with access.database_and_account(identifier) as (database, account):
        if cancel:
            database.write(lambda tx: deletion.cancel(tx, account.id))
            console.stdout.print(f"{account.username} is not deleted.")
            return
        contents = database.read(lambda tx: deletion.contents(tx, account.id))
        counts = {inside_sentence(label): number for label, number in contents.items.items() if number}
        items = ", ".join(console.counted(number, kind) for kind, number in counts.items()) or "no items"
        contained = f"the account {account.username} <{account.email}> with {items}, its statistics and API keys"
        console.confirm_deletion(contained if now else f"{contained} in 7 days", yes=yes)
        if now:
            _delete_now(database, account.id)
            message = f"is deleted, with {items}."
        else:
            due = database.write(lambda tx: deletion.schedule(tx, account.id))
            message = f"will be deleted on {clock.text(due)} UTC. --cancel keeps it, --now deletes it at once."
    console.stdout.print(f"{account.username} {message}")


def _delete_now(database: Database, account: int) -> None:
    from waypost.admin import account_deletion  # noqa: PLC0415  # loads the modules of all items

    account_deletion.delete_account(database, account)


@account.command("move-links")
def move_links(
    source: _OldAccount,
    target: _NewAccount,
    shorts: _Shorts = None,
    campaign: Annotated[str | None, typer.Option(help="Move the links of this campaign: its name.")] = None,
    all_links: Annotated[bool, typer.Option("--all", help="Move all links of the account.")] = False,
    domain: Annotated[
        str | None, typer.Option(help="Host for links whose domain the new account does not have. Old URLs end.")
    ] = None,
    with_domains: Annotated[
        bool, typer.Option("--with-domains", help="Move domains too, if all items on them are links that move.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would move, lose or stay.")] = False,
    json: AsJson = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Move without asking.")] = False,
) -> None:
    """Move links with their ids, addresses and statistics from one account to another. The service may run.

    They lose campaign, channels, pixels, splash page and overlay, which belong to the old account. A link that cannot
    move stays where it is, and is named. If interrupted, run it again to resume.
    """
    if bool(shorts) + (campaign is not None) + all_links != 1:
        raise typer.BadParameter("name the links, or use either --campaign or --all", param_hint="SHORT...")
    if domain is not None and with_domains:
        raise typer.BadParameter("--domain and --with-domains exclude each other: use one of them")
    from waypost.cli import link_moves  # noqa: PLC0415  # loads the modules of links and domains

    selection = link_moves.Selection(source, target, shorts or (), campaign, domain, with_domains)
    link_moves.move_links(selection, dry_run=dry_run, json=json, yes=yes)


@account.command("suspend")
def suspend_account(
    identifier: AccountArgument, undo: Annotated[bool, typer.Option("--undo", help="Lift the suspension.")] = False
) -> None:
    """Suspend an account: it loses access to the API. Its links and QR codes keep working.

    Its sessions and password-reset links end for good. Its API keys work again when the suspension is lifted.
    """
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: ops.suspend(tx, account.id, suspended=not undo))
        keys = database.read(lambda tx: api_keys.of(tx, account.id))
    console.stdout.print(f"{account.username} is {'active again' if undo else 'suspended'}.")
    if undo and keys:
        names = ", ".join(f"{key.name} (id {key.id})" for key in keys)
        hint = f"Revoke one with: waypost key revoke {account.username} ID"
        console.stdout.print(f"These API keys work again: {names}. {hint}", markup=False, soft_wrap=True)


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
def reset_login(
    identifier: AccountArgument,
    two_factor: Annotated[
        bool, typer.Option("--two-factor", help="Remove the second factor instead, and end all sessions.")
    ] = False,
) -> None:
    """Print a one-time password-reset link, valid for one hour; with --two-factor, remove a lost second factor.

    Without it, sign-in asks only for the password until the owner sets up a new phone. The owner gets an e-mail.
    """
    with access.database_and_account(identifier) as (database, account):
        if two_factor:
            is_told = _remove_two_factor(database, account.id)
            console.stdout.print(f"Two-factor authentication of {account.username} was removed. All sessions ended.")
            if not is_told:
                console.stdout.print("E-mail is not configured: tell the owner yourself.")
            return
        link = database.write(lambda tx: email_links.reset_link(tx, access.settings().dashboard, account.id))
    console.stdout.print(f"Password-reset link for {account.username}, valid for one hour:")
    console.stdout.print(f"  {link}", soft_wrap=True)


def _remove_two_factor(database: Database, account: int) -> bool:
    from waypost.admin import two_factor_removal  # noqa: PLC0415  # loads the texts of e-mail

    return two_factor_removal.remove(access.settings(), database, account)


@key.command("add")
def add_key(
    identifier: AccountArgument,
    name: Annotated[str, typer.Option(help="Name of the key.", callback=access.validate_name)] = "key",
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
        end = ": a date alone ends at 23:59:59 UTC" if expires and clock.is_day(expires) else ""
        raise typer.BadParameter(f"must not be in the past{end}", param_hint="--expires")
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
    key: Annotated[int, typer.Argument(min=1, max=MAX_INTEGER, help="Id shown by `key list`.")],
) -> None:
    """Revoke an API key immediately."""
    with access.database_and_account(identifier) as (database, account):
        database.write(lambda tx: api_keys.revoke(tx, account.id, key))
    console.stdout.print(f"Key {key} of {account.username} is revoked.")


@session.command("list")
def list_sessions(identifier: AccountArgument, json: AsJson = False) -> None:
    """List the browsers that are signed in, last used first. Times are in UTC."""
    with access.database_and_account(identifier) as (database, account):
        open_sessions = database.read(lambda tx: sessions.of(tx, account.id))
    rows = [{**asdict(one), "created": clock.text(one.created), "seen": clock.text(one.seen)} for one in open_sessions]
    console.print_rows(rows, ("id", "agent", "created", "seen"), json=json)


@session.command("end")
def end_sessions(
    identifier: AccountArgument,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="ID...", min=1, max=MAX_INTEGER, help="Ids shown by `session list`.")
    ] = None,
    all_sessions: Annotated[bool, typer.Option("--all", help="End all sessions of the account.")] = False,
) -> None:
    """End sessions immediately: these browsers have to sign in again. API keys are not affected."""
    if bool(ids) == all_sessions:
        raise typer.BadParameter("name the ids of sessions, or --all", param_hint="ID...")
    with access.database_and_account(identifier) as (database, account):
        ended = database.write(lambda tx: _end(tx, account.id, ids or ()))
    console.stdout.print(f"{console.counted(ended, 'sessions')} of {account.username} ended.")


def _end(tx: Connection, account: int, ids: Sequence[int]) -> int:
    """End these sessions, or all without ids, in one transaction. Return how many."""
    ended = list(dict.fromkeys(ids)) or [each.id for each in sessions.of(tx, account)]
    for each in ended:
        sessions.end(tx, account, each)
    return len(ended)


def _account_row(account: Account) -> dict[str, Any]:
    expires = clock.NEVER if account.expires is None else clock.text(account.expires)
    return {**asdict(account), "expires": expires, "registered": clock.text(account.registered)}


def _use_row(use: AccountUse) -> dict[str, Any]:
    percent = None if use.storage_percent is None else round(use.storage_percent, 1)
    times = (use.last_active, use.deletion_due)
    active, deletion_due = (None if second is None else clock.text(second) for second in times)
    storage = {"stored": use.stored, "storage_limit": use.storage_limit, "storage_percent": percent}
    return {"links": use.links, **storage, "last_active": active, "deletion": deletion_due}


def _key_row(key: Key) -> dict[str, Any]:
    times = {name: getattr(key, name) for name in ("expires", "created", "last_used")}
    return {**asdict(key), **{name: None if at is None else clock.text(at) for name, at in times.items()}}
