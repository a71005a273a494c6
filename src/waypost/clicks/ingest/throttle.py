"""Counting in short stretches, so that those who wait for a redirect on the same core need not wait for numbers."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_STRETCH = 0.0005
_REST = 0.00005
_LOOKS = 31  # a mask: the clock is read once for this many items and one


def rest() -> None:
    """A short rest, after a piece of work that took about half a millisecond."""
    time.sleep(_REST)


def unhurried(items: Iterable[T]) -> Iterator[T]:
    """The items, with a short rest after each half millisecond of work on them.

    A low priority is not enough: schedulers let whoever runs come to the end of a slice of some milliseconds.
    """
    since = time.perf_counter()
    for place, item in enumerate(items):
        if not place & _LOOKS and time.perf_counter() - since > _STRETCH:
            rest()
            since = time.perf_counter()
        yield item
