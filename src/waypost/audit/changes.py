"""The values of events as people read them: like the forms show them, in the language and time zone of the reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from waypost.audit import columns
from waypost.audit.log import Entry
from waypost.dashboard.i18n import (
    format_day,
    format_limit,
    format_number,
    format_size,
    gettext,
)
from waypost.dashboard.localized_names import country_name, language_name, plan_name
from waypost.dashboard.visited_item_names import Item, Key
from waypost.db.audit_log import is_shortened
from waypost.db.schema.accounts import UNLIMITED
from waypost.db.schema.columns import IS_TIME
from waypost.db.schema.nouns import NOUNS
from waypost.items.pixels.pages import PROVIDERS

_REFERENCES: Mapping[str, str] = {**{kind: kind for kind in NOUNS}, "pixels": "pixel"}
"""The kind of the items whose ids a column has. Columns of other types with these names have texts."""
_TIMES = frozenset({"created", "due", "expires", "expiry"})
"""Columns with times of kinds that are no items."""
_LIMITS = frozenset({"rate_limit", "upload_limit", "storage_limit", "item_limit"})
_LONG = 120
_SHOWN = 80


@dataclass(frozen=True)
class Shown:
    """A value: the parts of each of its lines, or a time as `second`; no lines for an empty value."""

    lines: Sequence[Sequence[str]] = ()
    second: int | None = None

    @property
    def start(self) -> str:
        """The beginning that is shown while a long value is folded; "" if it is short."""
        length = sum(len(part) for line in self.lines for part in line)
        is_long = len(self.lines) > 1 or length > _LONG or any("\n" in part for line in self.lines for part in line)
        return f"{self.lines[0][0][:_SHOWN].rstrip()}…" if is_long else ""


@dataclass(frozen=True)
class Change:
    """A field with its values before and after an event; None if the event has none."""

    label: str
    before: Shown | None
    after: Shown | None


def references(entries: Iterable[Entry]) -> Iterator[Key]:
    """Yield the kinds and ids of the items that the values of events name."""
    for entry in entries:
        for values in (entry.before or {}, entry.after or {}):
            for name, value in values.items():
                yield from _keys(name, value)


def of(entry: Entry, items: Mapping[Key, Item]) -> list[Change]:
    """Return the changes of an event, without those of columns that say nothing to people."""
    before, after = entry.before or {}, entry.after or {}
    names = [name for name in dict.fromkeys((*before, *after)) if name not in columns.HIDDEN]
    return [
        Change(
            gettext(columns.label(entry.kind, name)),
            _shown(entry.kind, name, before[name], items) if name in before else None,
            _shown(entry.kind, name, after[name], items) if name in after else None,
        )
        for name in names
    ]


def _keys(name: str, value: Any) -> list[Key]:
    ids = value if isinstance(value, list) else [value]
    kind = _REFERENCES.get(name)
    is_reference = kind is not None and all(isinstance(item, int) and not isinstance(item, bool) for item in ids)
    return [(kind, item) for item in ids] if kind is not None and is_reference else []


def _shown(kind: str, name: str, value: Any, items: Mapping[Key, Item]) -> Shown:
    if is_shortened(value):
        return Shown([[f"SHA-256 {value['sha256'][:16]}…"]])
    if keys := _keys(name, value):
        return Shown([[_item_name(key, items) for key in keys]])
    if isinstance(value, int) and not isinstance(value, bool) and _is_time(kind, name):
        return Shown(second=value)
    lines = [list(_parts(kind, name, line)) for line in (value if isinstance(value, list) else [value])]
    return Shown([line for line in lines if line])


def _item_name(key: Key, items: Mapping[Key, Item]) -> str:
    return items[key].name if key in items else gettext("deleted, id %(id)s") % {"id": key[1]}


def _is_time(kind: str, name: str) -> bool:
    column = NOUNS[kind].table.c.get(name) if kind in NOUNS else None
    return name in _TIMES if column is None else bool(column.info.get(IS_TIME))


def _parts(kind: str, name: str, value: Any) -> Iterator[str]:
    """Yield the texts of a value that are not empty. The ids of blocks say nothing to people."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(kind, name, part) if key != "id" else ()
    elif isinstance(value, list):
        for part in value:
            yield from _parts(kind, name, part)
    elif text := _text(kind, name, value):
        yield text


def _text(kind: str, name: str, value: Any) -> str:
    """Return a value as text for people; "" for none."""
    if name in _LIMITS and (value is None or value == UNLIMITED):
        return gettext("Unlimited") if kind == "plan" else ""
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(value, int):
        return _number(name, value)
    return "" if value is None else _line(kind, name, str(value))


def _number(name: str, value: int) -> str:
    if name == "size":
        return format_size(value)
    return format_limit(value) if name in ("upload_limit", "storage_limit") else format_number(value)


def _line(kind: str, name: str, value: str) -> str:
    if value.startswith("data:"):
        return gettext("Image")
    if name == "plan":
        return plan_name(value)
    if (kind, name) == ("account", "language"):
        return language_name(value)
    if (kind, name) == ("pixel", "type") and value in PROVIDERS:
        return PROVIDERS[value].name
    if name in ("firstday", "lastday") and value:
        return format_day(date.fromisoformat(value))
    named = {"geotarget": country_name, "languagetarget": language_name}.get(name, str)
    return gettext(columns.text_of(kind, name, value)) or named(value)
