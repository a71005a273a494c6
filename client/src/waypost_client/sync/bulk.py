# Written by `make docs`. Do not edit: change the code and run it again.
"""Changes of many items: any number of them, in bulk requests of up to 1,000."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from waypost_client.bulk import Noun, chunks
from waypost_client.errors import BulkInterruptedError, WaypostError
from waypost_client.local_files import Progress
from waypost_client.records import BulkResult, parse
from waypost_client.sync.requests import Requests


class Bulk(Requests):
    """Helpers for POST /api/bulk. Each result is that of the change at its position; a failed change is no error.

    If a request fails after others succeeded, BulkInterruptedError has the results of these.
    """

    def bulk(self, changes: Iterable[Mapping[str, Any]], *, progress: Progress | None = None) -> list[BulkResult]:
        """Make changes of any kind, such as {"action": "delete", "noun": "qr", "id": 7}."""
        results: list[BulkResult] = []
        for chunk in chunks(changes):
            try:
                done = self._send("POST", ("bulk",), body={"items": chunk})
            except WaypostError as error:
                if not results:
                    raise
                message = f"The first {len(results)} changes were requested, then a request failed: {error}"
                raise BulkInterruptedError(message, results) from error
            results += [parse(BulkResult, result) for result in done["results"]]
            if progress is not None:
                progress(len(results), None)
        return results

    def create_in_bulk(
        self, noun: Noun, items: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[BulkResult]:
        """Create items: `noun` is the first part of the path of the single request, such as url."""
        changes = ({"action": "create", "noun": noun, "fields": fields} for fields in items)
        return self.bulk(changes, progress=progress)

    def update_in_bulk(
        self, noun: Noun, items: Mapping[int, Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[BulkResult]:
        """Change items: the new fields by id."""
        changes = ({"action": "update", "noun": noun, "id": item, "fields": fields} for item, fields in items.items())
        return self.bulk(changes, progress=progress)

    def delete_in_bulk(self, noun: Noun, ids: Iterable[int], *, progress: Progress | None = None) -> list[BulkResult]:
        """Delete items by id."""
        changes = ({"action": "delete", "noun": noun, "id": item} for item in ids)
        return self.bulk(changes, progress=progress)
