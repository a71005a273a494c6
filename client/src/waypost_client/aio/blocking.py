"""Waiting and file access of the asynchronous client, which must not block the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run a function that reads or writes a file in a thread."""
    return await asyncio.to_thread(work)


async def sleep(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)
