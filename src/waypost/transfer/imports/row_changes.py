"""Corrections of the rows of a plan before its import: an alias, a destination or an expiry."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Row, select, update

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid, not_found, taken
from waypost.core.settings import Settings
from waypost.db.schema import import_rows
from waypost.transfer.imports import planner, plans, row_outcome
from waypost.transfer.imports.planned_rows import Content
from waypost.transfer.imports.source_row import Record
from waypost.urls import alias_namespace, alias_rules
from waypost.urls.validation import complete_url

_row = import_rows.c
_FIELDS = ("url", "alias", "expiry")
_CHANGED = ("fate", "reason", "source_id", "host", "alias", "url", "item")


class Correction(NamedTuple):
    """The fate of a corrected row, its reason and its alias."""

    fate: str
    reason: str
    alias: str


def field_of(kind: str, fate: str, reason: str) -> str:
    """Return the field that a correction of such a row changes; "" if it cannot be corrected.

    A reason begins with the name of its field.
    """
    if fate == "conflict":
        return "alias"
    name = reason.partition(" ")[0]
    return name if fate == "impossible" and kind == "link" and name in _FIELDS else ""


def correct(
    tx: Connection, settings: Settings, account: int, line: int, values: Mapping[str, str], zone: ZoneInfo
) -> Correction:
    """Change the field at fault of a row to its value in `values`, and plan the row again.

    Raises NOT_FOUND, INVALID or TAKEN on the field, and IMPORT_STATE unless the plan waits for its import.
    """
    plan = plans.current(tx, account)
    plans.hold(tx, account, plan.id)
    if plan.state != "planned" or plan.is_busy:
        raise Problem(Kind.IMPORT_STATE, "Rows can be changed only before the import.")
    query = select(import_rows).where(_row.account == account, _row.plan == plan.id, _row.line == line)
    row = tx.execute(query).first()
    name = field_of(row.kind, row.fate, row.reason) if row is not None else ""
    if row is None or name not in values:
        raise not_found("row")
    value = values[name].strip()
    if row.fate == "conflict":
        changes = _renamed(tx, account, row, value)
    else:
        changes = _planned(tx, settings, account, plan, row, _corrected(row, name, value, zone))
        if changes["fate"] == "impossible" and field_of(row.kind, "impossible", changes["reason"]) == name:
            raise invalid(name, changes["reason"])
    tx.execute(update(import_rows).where(_row.id == row.id, _row.account == account).values(**changes))
    return Correction(changes["fate"], changes["reason"], changes["alias"])


def _renamed(tx: Connection, account: int, row: Row[Any], alias: str) -> dict[str, Any]:
    """Return the values of a row with a conflict that gets another alias, so that it is imported."""
    alias = alias_namespace.canonical(tx, row.host, alias_rules.check(alias, host=row.host, field="alias"))
    alias_namespace.require_free(tx, account, host=row.host, alias=alias, field="alias")
    if row_outcome.lines(tx, account, row.plan, row.host, [alias]):
        raise taken("alias", alias_namespace.TAKEN)
    return {"fate": "create", "alias": alias, "reason": ""}


def _corrected(row: Row[Any], name: str, value: str, zone: ZoneInfo) -> Record:
    """Return the record of a row with another value of a field. Raises INVALID on `expiry`."""
    stored = Content.read(row.fields)
    record = Record(row.line, url=row.url, alias=row.alias, host=row.host, source_id=row.source_id)
    record.expiry = stored.columns.get("expiry")
    if name == "expiry":
        try:
            record.expiry = clock.last_second(value, zone) if value else None
        except ValueError:
            raise invalid("expiry", "expiry must be a date such as 2026-12-31.") from None
    else:
        setattr(record, name, complete_url(value) if name == "url" else value)
    return record


def _planned(
    tx: Connection, settings: Settings, account: int, plan: plans.Plan, row: Row[Any], record: Record
) -> dict[str, Any]:
    """Return the values of a row for its corrected record. Everything else of its content stays."""
    record.shorten()
    planned = planner.row_of(tx, settings, account, plan, record)
    content = Content.read(row.fields)
    content = replace(content, columns={**content.columns, "expiry": record.expiry})
    return {**{name: planned[name] for name in _CHANGED}, "fields": content.as_json()}
