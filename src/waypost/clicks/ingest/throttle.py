"""Pauses between short stretches of ingest work, so that redirects on the same CPU core do not wait for it.

There is a pause of 50 µs after about each 0.5 ms of work, while `is_enabled`. A low priority is not enough: the
scheduler lets a running process finish a time slice of several milliseconds.
"""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_STRETCH_SECONDS = 0.0005
_PAUSE_SECONDS = 0.00005
_CLOCK_MASK = 31  # read the clock once every 32 items
is_enabled = True
"""Set by the ingester, which has a process of its own."""


def pause() -> None:
    """Pause once, after a piece of work that took about half a millisecond."""
    if is_enabled:
        time.sleep(_PAUSE_SECONDS)


def each(items: Iterable[T]) -> Iterator[T]:
    """Iterate over the items, with pauses."""
    return _each(items) if is_enabled else iter(items)


def _each(items: Iterable[T]) -> Iterator[T]:
    started = time.perf_counter()
    for index, item in enumerate(items):
        if not index & _CLOCK_MASK and time.perf_counter() - started > _STRETCH_SECONDS:
            pause()
            started = time.perf_counter()
        yield item
