"""The browser of a process that runs tests."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import browser


@pytest.fixture(scope="package")
def _started() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """A browser for all tests of this folder in a process, with the event loop that Playwright leaves in its thread."""
    with browser() as opened:
        loop = asyncio.get_running_loop()
        yield opened, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def chrome(_started: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser. Windows that a test leaves open are closed, and tests without it can run their own event loop."""
    opened, loop = _started
    asyncio._set_running_loop(loop)
    try:
        yield opened
        for context in opened.contexts:
            context.close()
    finally:
        asyncio._set_running_loop(None)
