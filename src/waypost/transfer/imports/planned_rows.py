"""The rows of a plan, and their contents, which are stored as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, kw_only=True)
class Content:
    """The item that a row creates or changes: its `columns`, and `totals`, which are columns of counters.

    Of a link: the names of its channels in `tags`, `colors` for new ones, and that of its `campaign`; `clicks` are all
    that the import sets, `imported` those whose time is not known. `references` are ids in the source of items that it
    uses. Its columns `before` and `after` a change, and the `channels` that the change added it to, are for undo.

    Of a bio page: the id in the source, clicks and unique clicks of each block in `blocks`, and the ids here by those
    in `block_ids`. Of a file: the metadata of its bytes in `stored`, its `expiry`, and whether it `is_locked`.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    tags: Sequence[str] = ()
    colors: Mapping[str, str] = field(default_factory=dict)
    campaign: str = ""
    clicks: int = 0
    imported: int = 0
    references: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    channels: Sequence[int] | None = None
    blocks: Sequence[Sequence[int]] = ()
    block_ids: Mapping[str, int] | None = None
    stored: Mapping[str, Any] | None = None
    expiry: int | None = None
    is_locked: bool = False

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Content":
        """Return the content of its JSON. Fields of a newer version are ignored."""
        return cls(**{name: value for name, value in stored.items() if name in _NAMES})

    def as_json(self) -> dict[str, Any]:
        """Return the content as JSON, without the parts that the row does not have."""
        values = ((name, getattr(self, name)) for name in _NAMES)
        return {name: value for name, value in values if value is not None or name == "expiry"}


_NAMES = dict.fromkeys(each.name for each in fields(Content))


@dataclass(frozen=True, kw_only=True)
class PlannedRow:
    """A row of a plan; `item` is the id of the item that it changes or has created, 0 for none."""

    id: int
    plan: int
    kind: str
    stage: int
    line: int
    fate: str
    source_id: str
    host: str
    alias: str
    url: str
    created: int
    rank: int
    digest: str
    item: int
    content: Content


_COLUMNS = [each.name for each in fields(PlannedRow) if each.name not in ("item", "content")]


def read(row: Row[Any]) -> PlannedRow:
    """Return a row of `import_rows`."""
    values = row._mapping  # noqa: SLF001  # public: the underscore avoids names of columns
    return PlannedRow(
        **{name: values[name] for name in _COLUMNS}, item=values["item"] or 0, content=Content.read(values["fields"])
    )
