"""Changes and deletion of plans."""

from sqlalchemy import Connection, delete, func, select, update

from waypost.accounts import ops
from waypost.db import crud
from waypost.db.schema import accounts, plans
from waypost.errors import invalid


def change(tx: Connection, name: str, /, **values: str | int | None) -> None:
    """Set the name, status or limits of a plan, immediately for its accounts.

    Raises INVALID on `plan` if there is none or its name is fixed, TAKEN on `name`.
    """
    plan = ops.plan_id(tx, name)
    if values.get("name", name) != name:
        _refuse_fixed(name)
    with crud.translate_unique_violation(ops.PLAN_NAME_TAKEN):
        tx.execute(update(plans).where(plans.c.id == plan).values(values))


def remove(tx: Connection, name: str) -> None:
    """Delete a plan. Raises INVALID on `plan` if there is none, an account uses it, or its name is fixed."""
    _refuse_fixed(name)
    # The lock keeps accounts from being put on the plan until the commit.
    tx.execute(select(plans.c.id).where(plans.c.name == name).with_for_update())
    plan = ops.plan_id(tx, name)
    used = tx.execute(select(func.count()).select_from(accounts).where(accounts.c.plan == plan)).scalar_one()
    if used:
        number = "1 account uses" if used == 1 else f"{used} accounts use"
        raise invalid("plan", f"{number} the plan {name}. Put them on another plan first: waypost account plan.")
    tx.execute(delete(plans).where(plans.c.id == plan))


def _refuse_fixed(name: str) -> None:
    if name == ops.REGISTERED_PLAN:
        raise invalid("plan", f"The plan {name} is that of new accounts: it cannot be renamed or deleted.")
