"""Totals of clicks in the rows of items, and of the blocks of bio pages."""

from collections.abc import Mapping

from sqlalchemy import Table

from waypost.db.schema import bio_blocks
from waypost.db.schema.nouns import NOUNS

TOTALS: Mapping[str, tuple[Table, tuple[str, ...]]] = {
    **{kind: (noun.table, noun.totals) for kind, noun in NOUNS.items() if noun.totals},
    "block": (bio_blocks, ("clicks", "uniqueclicks")),
}
"""The totals of each kind: its table and the columns for clicks, unique clicks, and the counter of its click limit. A
click under a limit was added to the last one before the response."""
