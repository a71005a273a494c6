"""Positions in lists that change while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from waypost_client.records import Page, Record

R = TypeVar("R", bound=Record)
PAGE_SIZE = 250


class Position:
    """The next page of a list whose newest items come first.

    An item that is added moves the others toward later pages: they are not repeated. One that is deleted moves them
    toward earlier pages: these are read again, so that none is left out, also while a program deletes what it reads.
    """

    def __init__(self) -> None:
        self.page: int | None = 1
        self._total = 0
        self._seen: set[object] = set()

    def unseen(self, page: Page[R]) -> Iterator[R]:
        """Return the new items of the page that was read; `page` is the next one when they were read."""
        new = [item for item in page.items if self._is_new(item)]
        yield from new
        self._move(page)

    def _move(self, page: Page[R]) -> None:
        deleted, self._total = self._total - page.result, page.result
        current = self.page or 1
        if deleted > 0 and current > 1:
            self.page = max(1, current - -(-deleted // max(1, page.perpage)))
        else:
            self.page = page.nextpage

    def _is_new(self, item: Record) -> bool:
        key = (item.raw.get("type"), item.raw.get("id"))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True
