# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class ImportDetails(Record):
    """An import: its state, and the number of rows of each fate."""

    state: str = ""
    """`reading` the source, `planned`, `applying`, `applied`, `undoing`, `undone`, or `failed`."""
    running: bool = False
    """True while it is worked on. False in between: resume it."""
    source: str = ""
    """Service or kind of file."""
    rows: int = 0
    """Rows that were read so far."""
    fates: Mapping[str, int] = field(default_factory=dict[str, int])
    """Rows by fate: they `create` an item, are `there` already, have `changed` a link, have a `conflict`, or are
    `impossible`.
    """
    losing: int = 0
    """Created and changed links that lose something."""
    ignored: tuple[str, ...] = ()
    """Columns and invalid rows that are not imported."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ImportRow(Record):
    """A row of the source, and its fate."""

    line: int = 0
    """Line in the file, or number of the row."""
    kind: str = ""
    """Kind of the item: `link`, `bio`, or another one of an archive."""
    fate: str = ""
    """Fate of the row."""
    reason: str = ""
    """Reason of the fate."""
    losses: str = ""
    """Parts that the link loses."""
    host: str = ""
    """Host here; empty for the service's own."""
    alias: str = ""
    """Alias here."""
    url: str = ""
    """Destination, or the name of an item without one."""


@dataclass(frozen=True, kw_only=True)
class UndoData(Record):
    """The effect of undo."""

    deleted: int = 0
    """Items that undo deletes."""
    restored: int = 0
    """Links that undo changes back."""
    clicks: int = 0
    """Clicks of the deleted items since the import."""
    edited: tuple[str, ...] = ()
    """Aliases of items that were edited: undo is refused."""
