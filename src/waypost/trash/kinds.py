"""The kinds of items that the trash keeps, and how their rows belong together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table

from waypost.core.errors import Problem, taken
from waypost.db import change_log, schema, unique_names
from waypost.db.crud import UniqueErrors
from waypost.db.schema.nouns import Noun, referred_first
from waypost.urls.alias_namespace import fold_aliases

AfterRestoring = Callable[[Connection, Mapping[str, Any]], None]
"""Called with the row of each item, after all were restored with their aliases."""


@dataclass(frozen=True)
class Kind:
    """A kind of item in the trash: what restoring one can collide with, and what it takes besides its rows."""

    noun: Noun
    unique_errors: UniqueErrors
    after_restoring: AfterRestoring | None

    @property
    def table(self) -> Table:
        """The table of its items."""
        return self.noun.table


def _taken_again(kind: Noun) -> UniqueErrors:
    noun = kind.singular
    message = f"You have another {noun} with the name of a deleted one. Rename it, then restore the deleted one."
    return unique_names.errors(kind.table, taken("name", message)) if kind.is_named_once else _OTHERS.get(kind.kind, {})


_DOMAIN_TAKEN = taken(
    "domain", "This domain, or the same with or without www., was added after it was deleted, so it cannot be restored."
)
_OTHERS: Mapping[str, UniqueErrors] = {
    "domain": {f"domains_{name}_unique": _DOMAIN_TAKEN for name in ("host", "bare_host", "www_host")}
}
_SAME_ALIASES = taken(
    "domain", "Aliases that differ only by case were added to this domain, so it cannot be restored: it ignores case."
)


def _use_domain(tx: Connection, row: Mapping[str, Any]) -> None:
    """Let links answer on a restored domain. Raises TAKEN if aliases in both cases were added, by any account."""
    change_log.record(tx, row["host"])
    if row["ignorecase"]:
        try:
            fold_aliases(tx, row["host"])
        except Problem as problem:
            if problem.field != "ignorecase":
                raise
            raise _SAME_ALIASES from None  # the aliases can be those of another account


_AFTER_RESTORING: Mapping[str, AfterRestoring] = {"domain": _use_domain}

KINDS: Mapping[str, Kind] = {
    name: Kind(noun, _taken_again(noun), _AFTER_RESTORING.get(name)) for name, noun in referred_first().items()
}
"""The kinds by name, those that others refer to first."""

KIND_OF_TABLE: Mapping[str, str] = {kind.table.name: name for name, kind in KINDS.items()}
COMPANIONS: Mapping[str, tuple[str, str, str]] = {
    "links.splash": ("type", "splash", "direct"),
    "links.overlay": ("type", "overlay", "direct"),
}
"""References that come with the value of a second column: its name, the value, and the value without the reference."""


@dataclass(frozen=True)
class Reference:
    """A column of `table` with ids of the rows of `parent`. A part is deleted with its parent."""

    table: Table
    column: str
    parent: Table
    is_part: bool

    @property
    def key(self) -> str:
        """The name of the reference."""
        return f"{self.table.name}.{self.column}"


@cache
def references_to(table: Table) -> tuple[Reference, ...]:
    """Return the references to a table."""
    tables = (other for other in schema.metadata.sorted_tables if other is not table)
    return tuple(reference for other in tables for reference in references_of(other) if reference.parent is table)


@cache
def references_of(table: Table) -> tuple[Reference, ...]:
    """Return the references of a table to items."""
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    return tuple(
        Reference(table, key.parent.name, key.column.table, key.ondelete == "CASCADE")
        for key in keys
        if key.column.table.name in KIND_OF_TABLE
    )
