"""Accounts and plans."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import email_validator
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    bindparam,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from waypost.auth import people, sessions
from waypost.core import clock
from waypost.core.errors import account_not_found, invalid, not_found, taken
from waypost.core.text_folding import folded
from waypost.db import account_rows, audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import accounts, plans
from waypost.db.schema.accounts import UNLIMITED
from waypost.db.statements import TypedSelect
from waypost.items.accounts import deletion
from waypost.urls import alias_rules


def change_plan(tx: Connection, name: str, /, **fields: str | int | None) -> None:
    """Set the name, status or limits of a plan, immediately for its accounts.

    Raises INVALID on `plan` if there is none or its name is fixed, TAKEN on `name`.
    """
    plan, values = plan_id(tx, name), dict[str, Any](fields)
    if "name" in values:
        _refuse_fixed(tx, plan, kept=values["name"])
        values["name_key"] = crud.changed_name_key(plans, str(values["name"]))
    before = dict(tx.execute(select(plans).where(plans.c.id == plan).with_for_update()).mappings().one())
    new = {field: value for field, value in fields.items() if before[field] != value}
    if not new:
        return
    with crud.translate_unique_violation(PLAN_NAME_TAKEN):
        tx.execute(update(plans).where(plans.c.id == plan).values(values))
    old = {field: before[field] for field in new}
    audit_log.record(tx, None, "plan.updated", plan, label=str(fields.get("name", name)), before=old, after=new)


def remove_plan(tx: Connection, name: str) -> None:
    """Delete a plan. Raises INVALID on `plan` if there is none, an account uses it, or its name is fixed."""
    plan = plan_id(tx, name)
    _refuse_fixed(tx, plan)
    # The lock keeps accounts from being put on the plan until the commit.
    tx.execute(select(plans.c.id).where(plans.c.id == plan).with_for_update())
    used = plan_uses(tx).get(plan, 0)
    if used == 1:
        raise invalid("plan", f"One account uses the plan {name}. Put it on another plan first.")
    if used:
        raise invalid("plan", f"{used} accounts use the plan {name}. Put them on another plan first.")
    tx.execute(delete(plans).where(plans.c.id == plan))
    audit_log.record(tx, None, "plan.deleted", plan, label=name)


def _refuse_fixed(tx: Connection, plan: int, *, kept: str | int | None = None) -> None:
    """Raise INVALID for the plan of new accounts, unless it keeps its name."""
    name = tx.execute(select(plans.c.name).where(plans.c.id == plan)).scalar_one()
    if name == REGISTERED_PLAN and name != kept:
        raise invalid("plan", f"The plan {name} is that of new accounts: it cannot be renamed or deleted.")


Status = Literal["free", "pro"]
_USERNAME = re.compile(r"[A-Za-z0-9_-]{3,50}\Z")
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_TAKEN = {
    "accounts_email_key_unique": taken("email", "That e-mail address is taken. Please use another one."),
    "accounts_username_key_unique": taken("username", "That username is taken. Please choose another one."),
}
_TAKEN |= {name.replace("accounts", "people"): problem for name, problem in _TAKEN.items()}
PLAN_NAME_TAKEN = crud.name_errors(plans, taken("name", "There is a plan with that name already."))
REGISTERED_PLAN = "free"
REGISTERED_STORAGE_LIMIT = 2**30
REGISTERED_ITEM_LIMIT = 10_000
UNLIMITED_PLAN = "unlimited"
_MAX_EMAIL_LENGTH = 254  # RFC 5321
# Many installations live in a network of their own, with addresses at .local or .internal.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


@dataclass(frozen=True)
class Account:
    """An account without its password. `expires` is None if it never expires; times are in seconds, UTC."""

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
    """Limits of an account: requests per minute and key, bytes per file, total bytes, and items of each kind.

    None, or UNLIMITED for the first two: unlimited.
    """

    id: int
    name: str
    status: Status
    rate_limit: int
    upload_limit: int
    storage_limit: int | None = None
    item_limit: int | None = None


def checked_email(value: str, *, field: str = "email") -> str:
    """Return the address in its normal form. Raises INVALID on `field`."""
    if len(value) > _MAX_EMAIL_LENGTH:  # checked first: a long address takes long to parse
        raise invalid(field, f"{field} must have at most {_MAX_EMAIL_LENGTH} characters.")
    try:
        return email_validator.validate_email(value, check_deliverability=False, globally_deliverable=False).normalized
    except email_validator.EmailNotValidError as error:
        raise invalid(field, f"{field} must be an e-mail address, such as ana@example.com.") from error


def checked_username(value: str) -> str:
    """Return the username. Raises INVALID on `username`."""
    if not _USERNAME.match(value):
        alias_rules.refuse_characters(value, "", "username")
        raise invalid("username", "username must be 3 to 50 characters from A-Z, a-z, 0-9, _ and -.")
    return value


def add(
    tx: Connection, *, email: str, username: str, password: str, plan: str = "free", rate_limit: int | None = None
) -> Account:
    """Create an account; the first one of a database is its owner. `password` is a hash.

    Raises INVALID or TAKEN on `email`, `username` or `plan`.
    """
    now = clock.now()
    row = {
        **_email_columns(email),
        **_username_columns(username),
        "password": password,
        "password_changed": now,
        "plan": plan_id(tx, plan),
        "rate_limit": rate_limit,
        "owner": tx.execute(select(func.count()).select_from(accounts)).scalar_one() == 0,
        "registered": now,
    }
    with crud.translate_unique_violation(_TAKEN):
        account = tx.execute(insert(accounts).values(row).returning(accounts.c.id)).scalar_one()
        people.add_owner(tx, account)
    after = {"email": row["email"], "username": row["username"], "plan": plan}
    audit_log.record(tx, account, "account.created", account, label=username, after=after)
    return get(tx, account)


def get(tx: Connection, account: int) -> Account:
    """Return an account. Raises NOT_FOUND."""
    return _account(_BY_ID.fetch_first(tx, account=account))


def find(tx: Connection, name: str) -> Account:
    """Return the account with this username or e-mail address, else with this id. Raises NOT_FOUND."""
    row = tx.execute(_select_accounts().where(is_called(name)).order_by(*exact_first(name))).mappings().first()
    return get(tx, int(name)) if row is None and _NUMBER.match(name) else _account(row)


def everyone(tx: Connection) -> list[Account]:
    """Return every account, oldest first."""
    return [Account(**row) for row in tx.execute(_select_accounts().order_by(accounts.c.id)).mappings()]


def page(tx: Connection, window: PageRequest, *, q: str = "") -> Page[Account]:
    """Return a page of all accounts, oldest first; with `q`, of those whose username or e-mail address contains it."""
    query, keys = _select_accounts(), (accounts.c.username_key, accounts.c.email_key)
    if q:
        query = query.where(or_(*(key.contains(folded(q), autoescape=True) for key in keys)))
    return crud.counted_page(tx, query.order_by(accounts.c.id), window, Account)


def any_exists(tx: Connection) -> bool:
    """Return whether any account exists."""
    return tx.execute(select(accounts.c.id).limit(1)).first() is not None


def change(tx: Connection, account: int, *, email: str | None = None, password: str | None = None) -> None:
    """Set the e-mail address, or the hash of the password, which ends every browser session (decision 15)."""
    if email is not None:
        with crud.translate_unique_violation(_TAKEN):
            people.change(tx, account, "email", _email_columns(email))
    if password is not None:
        sessions.end_all(tx, account)
        people.change_password(tx, account, password)


def require_free_email(tx: Connection, account: int, email: str) -> None:
    """Raise TAKEN if another account has this e-mail address."""
    if people.has_email(tx, email, besides=account):
        raise _TAKEN["accounts_email_key_unique"]


def suspend(tx: Connection, account: int, *, suspended: bool) -> None:
    """Suspend an account, or lift the suspension. Its links keep working. Raises NOT_FOUND if it was deleted.

    A suspension ends its sessions, one-time links and unfinished sign-ins for good. Its API keys work again afterwards.
    """
    is_changed = people.suspend(tx, account, suspended=suspended)
    if suspended:
        sessions.end_all(tx, account)
    if is_changed:
        audit_log.record(tx, account, "account.suspended" if suspended else "account.resumed", account)


def set_admin(tx: Connection, account: int, *, admin: bool) -> None:
    """Give an account admin rights, or remove them. The first account has them from the start.

    Raises INVALID for the only administrator among other accounts, NOT_FOUND if it was deleted.
    """
    if not admin:
        deletion.require_other_administrator(tx, account)
    people.change(tx, account, "admin", {"admin": admin})


def move(tx: Connection, account: int, *, plan: str) -> None:
    """Put an account on a plan. Raises INVALID on `plan`, NOT_FOUND if the account was deleted."""

    def name_of(plan: int) -> str | None:
        return tx.execute(select(plans.c.name).where(plans.c.id == plan)).scalar()

    account_rows.change(tx, account, "plan", {"plan": plan_id(tx, plan)}, shown=name_of)


def rename(tx: Connection, account: int, username: str) -> None:
    """Set the username. Raises INVALID or TAKEN on `username`, NOT_FOUND if the account was deleted."""
    with crud.translate_unique_violation(_TAKEN):
        people.change(tx, account, "username", _username_columns(username), label=username)


def own_rate_limit(tx: Connection, account: int) -> int | None:
    """Return the requests per minute of each API key, if the account has a limit of its own."""
    return tx.execute(select(accounts.c.rate_limit).where(accounts.c.id == account)).scalar_one_or_none()


def limit_rate(tx: Connection, account: int, rate_limit: int | None) -> None:
    """Set the requests per minute of each API key; None for the limit of the plan. Raises NOT_FOUND as `rename`."""
    account_rows.change(tx, account, "rate_limit", {"rate_limit": rate_limit})


def add_plan(
    tx: Connection,
    *,
    name: str,
    status: Status,
    rate_limit: int,
    upload_limit: int,
    storage_limit: int | None = None,
    item_limit: int | None = None,
) -> Plan:
    """Create a plan. Raises TAKEN on `name`."""
    limits = {"rate_limit": rate_limit, "upload_limit": upload_limit, "storage_limit": storage_limit}
    limits["item_limit"] = item_limit
    statement = insert(plans).values(name=name, status=status, **limits).returning(plans.c.id)
    with crud.translate_unique_violation(PLAN_NAME_TAKEN):
        plan = tx.execute(statement).scalar_one()
    audit_log.record(tx, None, "plan.created", plan, label=name, after={"status": status, **limits})
    return Plan(plan, name, status, rate_limit, upload_limit, storage_limit, item_limit)


def add_unlimited_plan(tx: Connection) -> None:
    """Create the plan of the owner's account, if there is no plan of its name."""
    if crud.find_by_name(tx, plans, UNLIMITED_PLAN) is None:
        add_plan(tx, name=UNLIMITED_PLAN, status="pro", rate_limit=UNLIMITED, upload_limit=UNLIMITED)


def limit_registered_accounts(tx: Connection) -> None:
    """Add default limits to the plan of registered accounts, because anyone can create any number of accounts."""
    missing = or_(plans.c.storage_limit.is_(None), plans.c.item_limit.is_(None))
    values = {
        "storage_limit": func.coalesce(plans.c.storage_limit, REGISTERED_STORAGE_LIMIT),
        "item_limit": func.coalesce(plans.c.item_limit, REGISTERED_ITEM_LIMIT),
    }
    tx.execute(update(plans).where(plans.c.name == REGISTERED_PLAN, missing).values(values))


def all_plans(tx: Connection) -> Sequence[Plan]:
    """Return every plan, oldest first."""
    return [Plan(**row) for row in tx.execute(crud.select_columns(plans, Plan).order_by(plans.c.id)).mappings()]


def get_plan(tx: Connection, plan: int) -> Plan:
    """Return a plan. Raises NOT_FOUND."""
    row = tx.execute(crud.select_columns(plans, Plan).where(plans.c.id == plan)).mappings().first()
    if row is None:
        raise not_found("plan")
    return Plan(**row)


def plan_uses(tx: Connection) -> Mapping[int, int]:
    """Return the number of accounts of each plan, by its id; none for a plan without accounts."""
    rows = tx.execute(select(accounts.c.plan, func.count()).group_by(accounts.c.plan))
    return {plan: int(count) for plan, count in rows}


def plan_id(tx: Connection, name: str) -> int:
    """Return the id of a plan, which is not deleted until the commit. Raises INVALID on `plan`."""
    query = select(plans.c.id).where(plans.c.id == crud.find_by_name(tx, plans, name))
    plan = tx.execute(query.with_for_update(read=True, key_share=True)).scalar_one_or_none()
    if plan is None:
        raise invalid("plan", f"plan must be the name of a plan; there is none called {name!r}.")
    return int(plan)


def _username_columns(username: str) -> dict[str, str]:
    return {"username": checked_username(username), "username_key": folded(username)}


def _email_columns(email: str) -> dict[str, str]:
    address = checked_email(email)
    return {"email": address, "email_key": folded(address)}


def is_called(name: str) -> ColumnElement[bool]:
    """Return the condition that an account has this username or e-mail address."""
    keys = {folded(name), name.casefold()}  # the second one may be that of an address that an older version stored
    return or_(accounts.c.username_key.in_(keys), accounts.c.email_key.in_(keys))


def exact_first(name: str) -> tuple[ColumnElement[Any], ...]:
    """Return the order for `is_called`: first the address that an older version compared as this one."""
    return case((accounts.c.email_key == name.casefold(), 0), else_=1), accounts.c.id


def _select_accounts() -> Select[Any]:
    own = (accounts.c[name] for name in ("id", "email", "username", "owner", "suspended", "expires", "registered"))
    query = select(*own, plans.c.name.label("plan"), plans.c.status)
    return query.join(plans, plans.c.id == accounts.c.plan)


_BY_ID = TypedSelect(_select_accounts().where(accounts.c.id == bindparam("account")))


def _account(row: Mapping[str, Any] | RowMapping | None) -> Account:
    if row is None:
        raise account_not_found()
    return Account(**row)
