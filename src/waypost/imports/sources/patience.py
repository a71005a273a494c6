"""The time that an import spends on another server without a record."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
LIMIT_SECONDS = 600.0


class Patience:
    """Seconds of requests and of the waits that the server asks for, since the last record or click."""

    def __init__(self) -> None:
        self.spent = 0.0

    def spend(self, seconds: float) -> None:
        """Count seconds that brought nothing yet."""
        self.spent += seconds

    def allows(self, seconds: float) -> bool:
        """Return whether that many seconds more can be spent."""
        return self.spent + seconds <= LIMIT_SECONDS

    def renewing(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. After each one, the time begins again."""
        for item in items:
            self.spent = 0.0
            yield item
