"""Columns of items by their kind: the name of an item in SQL, and its totals of clicks."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import ColumnElement, Table, func

from waypost.db.schema import bio_blocks
from waypost.db.schema.nouns import NOUNS, Noun

CLICK_TOTALS: Mapping[str, tuple[Table, tuple[str, ...]]] = {
    **{kind: (noun.table, noun.totals) for kind, noun in NOUNS.items() if noun.totals},
    "block": (bio_blocks, ("clicks", "uniqueclicks")),
}
"""The totals of each kind: its table and the columns for clicks, unique clicks, and the counter of its click limit. A
click under a limit was added to the last one before the response."""


@cache
def name_of(noun: Noun) -> ColumnElement[str]:
    """Return the first of the noun's columns of names that is not empty."""
    *first, last = (noun.table.c[name] for name in noun.names)
    return func.coalesce(*(func.nullif(column, "") for column in first), last) if first else last
