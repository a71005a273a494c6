"""Changes of the rows of a plan before its import: another alias for a row with a conflict."""

from sqlalchemy import Connection, select, update

from waypost.core.errors import Kind, Problem, not_found, taken
from waypost.db.schema import import_rows
from waypost.transfer.imports import planned_names, plans
from waypost.urls import alias_namespace, alias_rules

_row = import_rows.c


def rename(tx: Connection, account: int, line: int, alias: str) -> str:
    """Give a row with a conflict another alias, so that it is imported; return the alias.

    Raises NOT_FOUND, INVALID or TAKEN on `alias`, and IMPORT_STATE unless the plan waits for its import.
    """
    plan = plans.current(tx, account)
    plans.hold(tx, account, plan.id)
    if plan.state != "planned" or plan.is_busy:
        raise Problem(Kind.IMPORT_STATE, "Rows can be changed only before the import.")
    is_row = (_row.account == account, _row.plan == plan.id, _row.line == line, _row.fate == "conflict")
    host = tx.execute(select(_row.host).where(*is_row)).scalar()
    if host is None:
        raise not_found("row")
    alias = alias_namespace.canonical(tx, host, alias_rules.check(alias, host=host, field="alias"))
    alias_namespace.require_free(tx, account, host=host, alias=alias, field="alias")
    if planned_names.lines(tx, account, plan.id, host, [alias]):
        raise taken("alias", alias_namespace.TAKEN)
    tx.execute(update(import_rows).where(*is_row).values(fate="create", alias=alias, reason=""))
    return alias
