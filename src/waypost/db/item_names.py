"""The name of an item in SQL."""

from functools import cache

from sqlalchemy import ColumnElement, func

from waypost.db.schema.nouns import Noun


@cache
def name_of(noun: Noun) -> ColumnElement[str]:
    """Return the first of the noun's columns of names that is not empty."""
    *first, last = (noun.table.c[name] for name in noun.names)
    return func.coalesce(*(func.nullif(column, "") for column in first), last) if first else last
