"""Changes and deletion of plans."""

from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from waypost.accounts import ops
from waypost.db import crud, unique_names
from waypost.db.schema import accounts, plans
from waypost.errors import invalid


def change(tx: Connection, name: str, /, **fields: str | int | None) -> None:
    """Set the name, status or limits of a plan, immediately for its accounts.

    Raises INVALID on `plan` if there is none or its name is fixed, TAKEN on `name`.
    """
    plan, values = ops.plan_id(tx, name), dict[str, Any](fields)
    if "name" in values:
        _refuse_fixed(tx, plan, kept=values["name"])
        values["name_key"] = unique_names.changed_key(plans, str(values["name"]))
    with crud.translate_unique_violation(ops.PLAN_NAME_TAKEN):
        tx.execute(update(plans).where(plans.c.id == plan).values(values))


def remove(tx: Connection, name: str) -> None:
    """Delete a plan. Raises INVALID on `plan` if there is none, an account uses it, or its name is fixed."""
    plan = ops.plan_id(tx, name)
    _refuse_fixed(tx, plan)
    # The lock keeps accounts from being put on the plan until the commit.
    tx.execute(select(plans.c.id).where(plans.c.id == plan).with_for_update())
    used = tx.execute(select(func.count()).select_from(accounts).where(accounts.c.plan == plan)).scalar_one()
    if used:
        number = "1 account uses" if used == 1 else f"{used} accounts use"
        raise invalid("plan", f"{number} the plan {name}. Put them on another plan first: waypost account plan.")
    tx.execute(delete(plans).where(plans.c.id == plan))


def _refuse_fixed(tx: Connection, plan: int, *, kept: str | int | None = None) -> None:
    """Raise INVALID for the plan of new accounts, unless it keeps its name."""
    name = tx.execute(select(plans.c.name).where(plans.c.id == plan)).scalar_one()
    if name == ops.REGISTERED_PLAN and name != kept:
        raise invalid("plan", f"The plan {name} is that of new accounts: it cannot be renamed or deleted.")
