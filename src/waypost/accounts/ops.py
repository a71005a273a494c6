"""Accounts and plans."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import email_validator
from sqlalchemy import Connection, RowMapping, Select, func, insert, or_, select, update

from waypost import clock
from waypost.db import crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, plans, sessions
from waypost.errors import invalid, not_found, taken

Status = Literal["free", "pro"]
_USERNAME = re.compile(r"[A-Za-z0-9_-]{3,50}\Z")
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_EMAIL_TAKEN = taken("email", "That e-mail address is taken. Please use another one.")
_TAKEN = {
    "accounts_email_key_unique": _EMAIL_TAKEN,
    "accounts_username_key_unique": taken("username", "That username is taken. Please choose another one."),
}
# Many installations live in a network of their own, with addresses at .local or .internal.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


@dataclass(frozen=True)
class Account:
    """An account as it may be shown. `expires` is None when it never does; times are seconds, UTC."""

    id: int
    email: str
    username: str
    plan: str
    status: Status
    owner: bool
    suspended: bool
    expires: int | None
    registered: int


@dataclass(frozen=True)
class Plan:
    """Limits of an account: requests per minute and key, bytes per file, total bytes (None: unlimited)."""

    id: int
    name: str
    status: Status
    rate_limit: int
    upload_limit: int
    storage_limit: int | None = None


def checked_email(value: str, *, field: str = "email") -> str:
    """The address in its normal form. Raises INVALID on `field`."""
    try:
        return email_validator.validate_email(value, check_deliverability=False, globally_deliverable=False).normalized
    except email_validator.EmailNotValidError as error:
        raise invalid(field, f"{field} must be an e-mail address, such as ana@example.com: {error}") from error


def checked_password(value: str, *, field: str = "password") -> str:
    """The password, if it is 8 to 128 characters (decision 15). Raises INVALID on `field`."""
    if not 8 <= len(value) <= 128:
        raise invalid(field, f"{field} must be 8 to 128 characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise invalid(field, f"{field} must be a string of valid Unicode.") from error
    return value


def add(
    tx: Connection,
    *,
    email: str,
    username: str,
    password: str,
    plan: str = "free",
    rate_limit: int | None = None,
) -> Account:
    """Make an account; the first one of a database is its owner. `password` is hashed already.

    Raises INVALID or TAKEN on `email`, `username` or `plan`.
    """
    if not _USERNAME.match(username):
        raise invalid("username", "username must be 3 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    address = checked_email(email)
    selected, now = _plan(tx, plan), clock.now()
    row = {
        "email": address,
        "email_key": address.casefold(),
        "username": username,
        "username_key": username.casefold(),
        "password": password,
        "password_changed": now,
        "plan": selected,
        "rate_limit": rate_limit,
        "owner": tx.execute(select(func.count()).select_from(accounts)).scalar_one() == 0,
        "registered": now,
    }
    with crud.translate_unique_violation(_TAKEN):
        account = tx.execute(insert(accounts).values(row).returning(accounts.c.id)).scalar_one()
    return get(tx, account)


def get(tx: Connection, account: int) -> Account:
    """The account. Raises NOT_FOUND."""
    return _one(tx.execute(_shown().where(accounts.c.id == account)).mappings().first())


def find(tx: Connection, name: str) -> Account:
    """The account with that username or e-mail address, else with that id. Raises NOT_FOUND."""
    key = name.casefold()
    named = _shown().where(or_(accounts.c.username_key == key, accounts.c.email_key == key))
    row = tx.execute(named).mappings().first()
    if row is None and _NUMBER.match(name):
        row = tx.execute(_shown().where(accounts.c.id == int(name))).mappings().first()
    return _one(row)


def password_of(tx: Connection, name: str) -> tuple[int, str] | None:
    """Return the id and password hash of a username or e-mail address."""
    key = name.strip().casefold()
    named = or_(accounts.c.username_key == key, accounts.c.email_key == key)
    row = tx.execute(select(accounts.c.id, accounts.c.password).where(named)).first()
    return None if row is None else (row.id, row.password)


def hashed_password(tx: Connection, account: int) -> str | None:
    """The account's password as it is stored."""
    return tx.execute(select(accounts.c.password).where(accounts.c.id == account)).scalar_one_or_none()


def everyone(tx: Connection) -> list[Account]:
    """Every account, oldest first."""
    return [_one(row) for row in tx.execute(_shown().order_by(accounts.c.id)).mappings()]


def page(tx: Connection, window: PageRequest, *, q: str = "") -> Page[Account]:
    """A page of all accounts, oldest first; with `q`, of those whose name or address has it."""
    meets = _shown()
    if q:
        key = q.casefold()
        c = accounts.c
        meets = meets.where(
            or_(c.username_key.contains(key, autoescape=True), c.email_key.contains(key, autoescape=True))
        )
    result = tx.execute(select(func.count()).select_from(meets.subquery())).scalar_one()
    selected = meets.order_by(accounts.c.id).limit(window.limit).offset(window.offset)
    outcome = tx.execute(selected).mappings() if window.offset < result else ()
    return Page([_one(row) for row in outcome], result, window)


def any_exists(tx: Connection) -> bool:
    """Return whether any account exists."""
    return tx.execute(select(accounts.c.id).limit(1)).first() is not None


def change(tx: Connection, account: int, *, email: str | None = None, password: str | None = None) -> None:
    """Set the e-mail address, or the password (hashed already), which ends every browser session (decision 15)."""
    values: dict[str, str | int] = {}
    if email is not None:
        address = checked_email(email)
        values |= {"email": address, "email_key": address.casefold()}
    if password is not None:
        values |= {"password": password, "password_changed": clock.now()}
        tx.execute(sessions.delete().where(sessions.c.account == account))
    with crud.translate_unique_violation(_TAKEN):
        tx.execute(update(accounts).where(accounts.c.id == account).values(values))


def suspend(tx: Connection, account: int, *, suspended: bool) -> None:
    """Suspend an account, or lift the suspension. Its links keep working."""
    tx.execute(update(accounts).where(accounts.c.id == account).values(suspended=suspended))


def set_admin(tx: Connection, account: int, *, admin: bool) -> None:
    """Give an account admin rights, or remove them. The first account has them from the start."""
    tx.execute(update(accounts).where(accounts.c.id == account).values(owner=admin))


def move(tx: Connection, account: int, *, plan: str) -> None:
    """Put an account on a plan. Raises INVALID on `plan`."""
    tx.execute(update(accounts).where(accounts.c.id == account).values(plan=_plan(tx, plan)))


def add_plan(
    tx: Connection,
    *,
    name: str,
    status: Status,
    rate_limit: int,
    upload_limit: int,
    storage_limit: int | None = None,
) -> Plan:
    """Make a plan. Raises TAKEN on `name`."""
    limits = {"rate_limit": rate_limit, "upload_limit": upload_limit, "storage_limit": storage_limit}
    row = {"name": name, "status": status, **limits}
    with crud.translate_unique_violation(
        {"plans_name_unique": taken("name", "There is a plan with that name already.")}
    ):
        plan = tx.execute(insert(plans).values(row).returning(plans.c.id)).scalar_one()
    return Plan(plan, name, status, rate_limit, upload_limit, storage_limit)


def all_plans(tx: Connection) -> Sequence[Plan]:
    """Every plan, oldest first."""
    return [Plan(**row) for row in tx.execute(crud.select_columns(plans, Plan).order_by(plans.c.id)).mappings()]


def _plan(tx: Connection, name: str) -> int:
    query = tx.execute(select(plans.c.id).where(plans.c.name == name)).scalar_one_or_none()
    if query is None:
        raise invalid("plan", f"plan must be the name of a plan; there is none called {name!r}.")
    return int(query)


def _shown() -> Select[tuple[object, ...]]:
    own = (accounts.c[name] for name in ("id", "email", "username", "owner", "suspended", "expires", "registered"))
    query = select(*own, plans.c.name.label("plan"), plans.c.status)
    return query.join(plans, plans.c.id == accounts.c.plan)


def _one(row: RowMapping | None) -> Account:
    if row is None:
        raise not_found("account")
    return Account(**row)
