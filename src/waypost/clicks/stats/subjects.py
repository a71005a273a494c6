"""Subjects of statistics: an item, an account, or a group of items."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_

from waypost.db.statement_parameters import is_one_of

ACCOUNT = "account"
"""The kind of the statistics of a whole account."""
Members = Mapping[str, AbstractSet[int]]
"""Ids of items by kind."""


@dataclass(frozen=True)
class Subject:
    """An item, an account as the item of kind `account`, or with `members` these items of the account together.

    A group is a `kind` and `item`, too, such as the campaign 7.
    """

    account: int
    kind: str
    item: int
    members: Members | None = None

    def condition(self, columns: Any) -> ColumnElement[bool]:
        """Return the condition on the columns `account`, `kind` and `item` of a table of totals (its primary key)."""
        if self.members is None:
            own = and_(columns.kind == self.kind, columns.item == self.item)
        else:
            own = is_member(columns, self.members)
        return and_(columns.account == self.account, own)


def is_member(columns: Any, members: Members) -> ColumnElement[bool]:
    """Return the condition that the columns `kind` and `item` are those of a member."""
    kinds = (and_(columns.kind == kind, is_one_of(columns.item, ids)) for kind, ids in members.items() if ids)
    return or_(false(), *kinds)
