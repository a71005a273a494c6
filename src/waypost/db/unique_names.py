"""Names that are unique in their folded form (decision 72): neither case nor Unicode form makes a second one.

A unique index of the column `name_key`, the folded name, refuses the second one. The key is NULL in rows that had
the name of an older row before that index existed, and in rows that an older version adds during an upgrade. A row that
an older version renames then keeps the key of its former name until it is renamed again or saved.
"""

from collections.abc import Collection

from sqlalchemy import Case, ColumnElement, Connection, Table, UniqueConstraint, case, null, select

from waypost.core.errors import Problem
from waypost.core.text_folding import folded


def errors(table: Table, problem: Problem) -> dict[str, Problem]:
    """Return the problem by the names of the constraint of names as typed, and of the index of folded names."""
    typed = [each.name for each in table.constraints if isinstance(each, UniqueConstraint) and "name" in each.columns]
    compared = [index.name for index in table.indexes if "name_key" in index.columns]
    return {str(name): problem for name in (*typed, *compared)}


def changed_key(table: Table, name: str) -> Case[str | None]:
    """Return the key for an UPDATE that sets the name. A name that stays the same stays without a key."""
    return case(((table.c.name == name) & table.c.name_key.is_(None), null()), else_=folded(name))


def ids(tx: Connection, table: Table, names: Collection[str], *scope: ColumnElement[bool]) -> dict[str, int]:
    """Return the ids of the rows in the scope that have these names; unknown names are missing.

    Of several rows with equal names, the one with the name as typed is meant, else the oldest one.
    """
    c = table.c
    is_candidate = c.name_key.in_({folded(name) for name in names}) | c.name_key.is_(None) | c.name.in_(names)
    rows = tx.execute(select(c.name, c.id).where(*scope, is_candidate).order_by(c.id.desc())).all()
    by_key, by_name = {folded(row.name): row.id for row in rows}, {row.name: row.id for row in rows}
    id_by_name = {name: by_name.get(name) or by_key.get(folded(name)) for name in names}
    return {name: int(item) for name, item in id_by_name.items() if item is not None}


def find(tx: Connection, table: Table, name: str, *scope: ColumnElement[bool]) -> int | None:
    """Return the id of the row in the scope that has this name."""
    return ids(tx, table, [name], *scope).get(name)
