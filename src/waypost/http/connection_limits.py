"""Limits of the open connections of a process: of one network, and of all together."""

import heapq
import resource
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
_MIN_OF_NETWORK = 64
_CLOSED_TOGETHER = 64  # connections, because finding those that have waited longest reads all
_open: Counter[str] = Counter()  # connections of this process, by network


def open_connection(network: str) -> bool:
    """Count a connection. Return False if its network has more than it may: a quarter of the file descriptors."""
    _open[network] += 1
    return _open[network] <= max(_descriptors() // 4, _MIN_OF_NETWORK)


def close_connection(network: str) -> None:
    """Count a connection no more."""
    _open[network] -= 1
    if not _open[network]:
        del _open[network]


def max_of_process() -> int:
    """Return how many connections a process may have: the other file descriptors are for files and the database."""
    return _descriptors() * 3 // 4


def longest_waiting(connections: Iterable[tuple[tuple[bool, float] | None, T]]) -> list[T]:
    """Return the connections to close, from pairs of the order and the connection; without an order, one is in use."""
    waiting = [(order, connection) for order, connection in connections if order is not None]
    return [connection for _, connection in heapq.nsmallest(_CLOSED_TOGETHER, waiting, key=lambda pair: pair[0])]


def _descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
