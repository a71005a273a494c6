"""The change of a request: an endpoint describes it, and the edge runs it in one transaction."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from sqlalchemy import Connection

T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V")


class Change(Generic[R]):
    """The result of an endpoint that changes data. R is its response, also in the OpenAPI document.

    `work` runs in one transaction, which a bulk request shares with other changes. `respond` makes the response of what
    `work` returns.
    """

    def __init__(self, work: Callable[[Connection], T], respond: Callable[[T], R]) -> None:
        self.work: Callable[[Connection], Any] = work
        self.respond: Callable[[Any], R] = respond

    def run(self, commit: Callable[[], R]) -> R:
        """Return the response that `commit` returns: it makes the change in a transaction of its own."""
        return commit()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the response."""
        return handler.generate_schema(get_args(source)[0])


class JoinedChange(Change[R]):
    """A change that a bulk request joins with others of its endpoint: `work_each` makes many with few statements.

    Each is described by its `value`.
    """

    def __init__(
        self, work_each: Callable[[Connection, Sequence[V]], Sequence[T]], value: V, respond: Callable[[T], R]
    ) -> None:
        super().__init__(lambda tx: work_each(tx, [value])[0], respond)
        self.work_each: Callable[[Connection, Sequence[Any]], Sequence[Any]] = work_each
        self.value: Any = value
