"""A plan as text: the counts of each fate, and the fate of every row as CSV."""

from collections.abc import Iterator, Mapping
from typing import Any

from waypost import csv_export
from waypost.db.database import Database
from waypost.imports import plans
from waypost.imports.plans import Plan, Summary

FATES = {
    "create": "will be created",
    "there": "are there already",
    "changed": "change a link",
    "conflict": "have a conflict",
    "impossible": "are impossible",
}
_APPLIED = {"create": "were created", "changed": "have changed a link"}
_COLUMNS = ("line", "fate", "reason", "losses", "host", "alias", "url")


def as_json(plan: Plan, summary: Summary) -> Mapping[str, Any]:
    """Return the state of the plan and the number of rows by fate."""
    counts = {fate: summary.counts.get(fate, 0) for fate in FATES}
    return {"state": plan.state, **counts, "losing": summary.losing, "ignored": list(plan.ignored)}


def lines(plan: Plan, summary: Summary) -> Iterator[str]:
    """Yield the counts as sentences."""
    texts = {**FATES, **_APPLIED} if plan.state == "applied" else FATES
    for fate, text in texts.items():
        yield f"{summary.counts.get(fate, 0):,} rows {text}."
    yield f"{summary.losing:,} of {summary.kept:,} links lose something."
    if plan.ignored:
        yield f"Not imported: {', '.join(plan.ignored)}."


def csv_lines(database: Database, account: int, plan: int) -> Iterator[str]:
    """Yield the fate of every row as CSV, in the order of the source, with constant memory."""
    yield csv_export.lines([_COLUMNS])
    for row in plans.rows(database, account, plan):
        yield csv_export.lines([[getattr(row, name) for name in _COLUMNS]])
