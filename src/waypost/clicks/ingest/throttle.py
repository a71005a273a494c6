"""Pauses between short stretches of ingest work, so that redirects on the same CPU core do not wait for it.

There is a pause of 50 µs after about each 0.5 ms of work, while `is_enabled`. A low priority is not enough: before
Linux 6.12, a running process finishes a time slice of several milliseconds, and later versions do not interrupt it for
a redirect if the event loop has just used more than its share.
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
_paused_at = 0.0


def pause() -> None:
    """Pause if the last pause was more than half a millisecond ago."""
    global _paused_at  # noqa: PLW0603  # one per process, as above
    if is_enabled and time.perf_counter() - _paused_at > _STRETCH_SECONDS:
        time.sleep(_PAUSE_SECONDS)
        _paused_at = time.perf_counter()


def each(items: Iterable[T]) -> Iterator[T]:
    """Iterate over the items, with pauses."""
    return _each(items) if is_enabled else iter(items)


def _each(items: Iterable[T]) -> Iterator[T]:
    for index, item in enumerate(items):
        if not index & _CLOCK_MASK:
            pause()
        yield item
