"""Access of commands to the installation: its settings, database and accounts."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated

import typer
from pydantic import ValidationError

from waypost.admin import installation
from waypost.cli import console
from waypost.core.errors import Kind, Problem
from waypost.core.settings import SecretFileError, Settings, config_file
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops
from waypost.items.accounts.ops import Account

MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON client represents exactly
AccountArgument = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Username, e-mail address or id.")]


def settings() -> Settings:
    """Load the settings. If they are invalid, print the errors and exit with code 2."""
    try:
        return Settings()
    except ValidationError as error:
        for detail in error.errors():
            name = "WAYPOST_" + "_".join(str(part) for part in detail["loc"]).upper()
            reason = "there is no such setting" if detail["type"] == "extra_forbidden" else detail["msg"]
            console.complain(f"{name}: {reason.removeprefix('Value error, ')}.", label="W000")
        raise typer.Exit(2) from error
    except SecretFileError as error:
        console.complain(f"{error}.", label="W000")
        raise typer.Exit(2) from error
    except (ValueError, OSError) as error:
        console.complain(f"{config_file()}: {error}.", label="W000")
        raise typer.Exit(2) from error


@contextmanager
def database() -> Iterator[Database]:
    """Open the database of an existing installation, migrated to this version's schema. Raises NoInstallation."""
    with closing(installation.open_installation(settings())) as opened:
        upgrade(opened)
        yield opened


@contextmanager
def database_and_account(identifier: str) -> Iterator[tuple[Database, Account]]:
    """Open the database and find an account by username, e-mail address or id. Raises NOT_FOUND."""
    with database() as opened:
        yield opened, find_account(opened, identifier)


def find_account(opened: Database, identifier: str) -> Account:
    """Find an account by username, e-mail address or id. Raises NOT_FOUND."""
    try:
        return opened.read(lambda tx: ops.find(tx, identifier))
    except Problem as problem:
        if problem.kind is not Kind.NOT_FOUND:
            raise
        message = f"There is no account with the username, e-mail address or id {identifier}."
        raise Problem(Kind.NOT_FOUND, message) from None


def validate_name(value: str) -> str:
    """Return the name of a key or plan. Raises a usage error."""
    if not value.strip() or len(value) > 64 or not value.isprintable():
        raise typer.BadParameter("must be 1 to 64 characters on one line")
    return value
