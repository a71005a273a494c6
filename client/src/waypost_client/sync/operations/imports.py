# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.imports import NewImport
from waypost_client.models.imports import ImportDetails, ImportRow, UndoData
from waypost_client.models.shared import MessageResponse
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.local_files import Progress, Target
    from waypost_client.records import Downloaded, Page


class ImportsOperations(Requests):
    """Operations of the API: imports."""

    def read_import(self) -> ImportDetails:
        """Read the last import: its state, and the number of rows of each fate."""
        return self._fetch(ImportDetails, "GET", ("import",), part="details")

    def list_import_rows(
        self,
        *,
        fate: Literal["create", "there", "conflict", "changed", "impossible"] | None = None,
        limit: int | None = None,
        page: int | None = None,
    ) -> Page[ImportRow]:
        """List the rows of the last import with their fates, in the order of the source."""
        return self._page(
            ImportRow,
            ("import", "rows"),
            part="data",
            collection="rows",
            query={"fate": fate, "limit": limit, "page": page},
        )

    def import_rows(
        self,
        *,
        fate: Literal["create", "there", "conflict", "changed", "impossible"] | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Iterator[ImportRow]:
        """Iterate over the items of all pages of `list_import_rows`."""
        return self._pages(lambda page: self.list_import_rows(fate=fate, limit=page_size, page=page))

    def export_import_rows(self, target: Target, *, progress: Progress | None = None) -> Downloaded:
        """Export the rows of the last import with their fates as CSV."""
        return self._export(("import", "export"), target, progress=progress)

    def create_import(self, **fields: Unpack[NewImport]) -> ImportDetails:
        """Read a source and plan its import, in the background.

        Nothing is imported yet. The plan replaces the last one.
        """
        return self._fetch(
            ImportDetails,
            "POST",
            ("import", "add"),
            part="details",
            body={**check_fields("create_import", fields, NewImport.__annotations__)},
        )

    def apply_import(self) -> ImportDetails:
        """Import the planned links, in the background, or resume an import that was interrupted."""
        return self._fetch(ImportDetails, "POST", ("import", "apply"), part="details")

    def preview_import_undo(self) -> UndoData:
        """Preview the effect of undo: the number of links, and their clicks since the import."""
        return self._fetch(UndoData, "GET", ("import", "undo"), part="data")

    def undo_import(self) -> ImportDetails:
        """Undo the last import, in the background: its links are deleted or changed back, unless one was edited."""
        return self._fetch(ImportDetails, "POST", ("import", "undo"), part="details")

    def delete_import(self) -> MessageResponse:
        """Delete the plan of the last import, and cancel its reading.

        Its links stay, and undo is no longer possible.

        While the import is applied or undone, this stops it after the current step, and the plan stays:
        resume or undo it.
        """
        return self._fetch(MessageResponse, "DELETE", ("import", "delete"))
