"""Waiting and file access of the synchronous client."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], T]) -> T:
    """Run a function that reads or writes a file."""
    return work()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)
