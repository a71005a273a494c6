"""Rows of an archive that belong to its items, such as statistics: checked, and stored with the plan in batches."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY, IMPORTED, QUARTER, VisitAttributes
from waypost.clicks.ingest.label_limits import MAX_LABELS_OF_ALL_DAYS, MAX_LABELS_OF_DAY, OTHER, WELL_KNOWN
from waypost.core import clock
from waypost.core.text_folding import folded
from waypost.dashboard import presets
from waypost.db.database import Database
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.schema import click_times, import_parts
from waypost.items.links import views
from waypost.items.qr import designer
from waypost.transfer.imports import plans
from waypost.transfer.imports.file_source import FileSource
from waypost.transfer.imports.sources.fields import Fields

_ROWS, _CHARACTERS, _PARTS_PER_INSERT = 200, 65_536, 20
_KINDS = frozenset({*CLICK_TOTALS, "missing"})
_SORTS = frozenset({"click", "bot", "preview", "late", "other"})
_COUNTS = ("clicks", "uniques", "bots", "previews", "others", "late")
_DIMENSIONS = frozenset({*VisitAttributes._fields, IMPORTED})
_MAX_LABEL, _MAX_COUNT = 255, 10**12
_OLDEST = 946_684_800  # 2000-01-01
_MAX_TEXTS: Mapping[str, int] = {"name": 255, "email": 255, "message": 5000, "choice": 255}
_UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
ACCOUNT_KIND = "account"
Row = list[Any]


def store(database: Database, account: int, plan: int, source: FileSource, check: Callable[[], object]) -> None:
    """Store the valid rows; the others are named in `source.ignored`. Raises INVALID, IMPORT_STATE.

    The totals of the account itself are taken only if it has none yet; otherwise those of its new items are added.
    """
    is_empty = database.read(lambda tx: _has_no_clicks(tx, account))
    used = database.read(lambda tx: presets.names(tx, account))
    values: list[dict[str, Any]] = []
    for sheet, convert in SHEETS.items():
        rows = (
            _limited(_valid(source, sheet, convert)) if sheet == "clicks_by_label" else _valid(source, sheet, convert)
        )
        kept = rows if is_empty else (row for row in rows if row[0] != ACCOUNT_KIND)
        if sheet == "presets":  # undo removes only those that the account did not have
            kept = _new_presets(rows, used)
        while batch := _next_rows(kept):
            content = {"service": source.service, "rows": batch, "adds_to_account": not is_empty}
            values.append({"account": account, "plan": plan, "sheet": sheet, "content": content})
            if len(values) == _PARTS_PER_INSERT:
                check()
                database.write(lambda tx: _insert(tx, account, plan, values))
                values.clear()
    if values:
        database.write(lambda tx: _insert(tx, account, plan, values))


def _new_presets(rows: Iterator[Row], used: set[tuple[str, str]]) -> Iterator[Row]:
    """Yield the presets whose names are not used, at most as many of each kind as an account can have."""
    seen, kinds = set(used), Counter[str]()
    for row in rows:
        key = (row[0], folded(row[1]))
        if key not in seen and kinds[row[0]] < presets.MAX:
            seen.add(key)
            kinds[row[0]] += 1
            yield row


def _next_rows(rows: Iterator[Row]) -> list[Row]:
    """Return rows for a part. Their texts, such as messages of visitors, are bounded."""
    batch: list[Row] = []
    characters = 0
    while len(batch) < _ROWS and characters < _CHARACTERS and (row := next(rows, None)) is not None:
        batch.append(row)
        characters += sum(len(str(value)) for value in row if isinstance(value, str | dict))
    return batch


def _insert(tx: Connection, account: int, plan: int, values: list[dict[str, Any]]) -> None:
    plans.hold(tx, account, plan)
    tx.execute(insert(import_parts), values)


def _has_no_clicks(tx: Connection, account: int) -> bool:
    c = click_times.c
    own = (c.account == account, c.kind == ACCOUNT_KIND, c.item == account)
    return tx.execute(select(c.at).where(*own).limit(1)).first() is None


def _valid(source: FileSource, sheet: str, convert: Callable[[Fields], Row | None]) -> Iterator[Row]:
    invalid_rows = 0
    for values in source.rows(sheet):
        row = convert(Fields(values))
        if row is None:
            invalid_rows += 1
        else:
            yield row
    if invalid_rows:
        source.ignored.append(f"{invalid_rows} invalid rows of {sheet}")


def _channel_item(row: Fields) -> Row | None:
    kind = next((kind for kind in ("link", "bio", "qr") if row.number(kind)), "")
    return [row.number("channel"), kind, row.number(kind), row.second("assigned") or clock.now()] if kind else None


def _rotator_link(row: Fields) -> Row | None:
    weight, quota = row.number("weight"), row.number("quota") if "quota" in row else None
    if weight > 1000 or (quota is not None and not 0 < quota <= _MAX_COUNT):
        return None
    return [row.number("campaign"), row.number("link"), weight, quota, row.number("given")]


def _submission(row: Fields) -> Row | None:
    texts = [_text(row.text(name), length) for name, length in _MAX_TEXTS.items()]
    return [row.number("overlay"), row.number("link"), *texts, row.second("created") or clock.now()]


def _time(row: Fields) -> Row | None:
    at, counts = row.second("at"), [row.number(name) for name in _COUNTS]
    if not _is_counted(row) or at is None or at % QUARTER or not _is_past(at) or max(counts) > _MAX_COUNT:
        return None
    return [row.text("kind"), row.number("item"), at, *counts]


def _label(row: Fields) -> Row | None:
    day = row.second("day") if "day" in row else None
    if "day" in row and (day is None or not _is_past(day)):
        return None
    label = _text(row.text("label"), _MAX_LABEL)
    if not _is_counted(row) or row.text("dimension") not in _DIMENSIONS or not label or row.number("n") > _MAX_COUNT:
        return None
    number = ALL_DAYS if day is None else day // DAY
    return [row.text("kind"), row.number("item"), number, row.text("dimension"), label, row.number("n")]


def _visit(row: Fields) -> Row | None:
    text, _, fraction = row.text("date").partition(".")
    at = Fields({"at": text}).second("at")
    if row.text("kind") not in _KINDS or row.text("sort") not in _SORTS or at is None or not _is_past(at):
        return None
    if not (fraction.isdecimal() and len(fraction) == 3):
        return None
    names = ("country", "referrer", "browser", "os", "device", "language", "source")
    labels = [_text(row.text(name), _MAX_LABEL) for name in names]
    return [
        row.text("kind"),
        row.number("item"),
        at * 1000 + int(fraction),
        row.text("sort"),
        row.is_true("first"),
        *labels,
    ]


def _preset(row: Fields) -> Row | None:
    name, known = _text(row.text("name").strip(), _MAX_LABEL), _SETTINGS.get(row.text("kind"), ())
    values = row.pairs("settings")
    settings = {key: _text(values[key], presets.MAX_SETTING) for key in known if key in values}
    return [row.text("kind"), name, settings] if name and settings else None


_SETTINGS: Mapping[str, Sequence[str]] = {"links": views.SETTINGS, "qr": designer.STYLE_SETTINGS}
"""The names of the settings of each kind of preset."""


def _is_counted(row: Fields) -> bool:
    return row.text("kind") in _KINDS or row.text("kind") == ACCOUNT_KIND


def _is_past(second: int) -> bool:
    return _OLDEST <= second <= clock.now() + DAY


def _text(text: str, length: int) -> str:
    return _UNSTORABLE.sub("\ufffd", text)[:length]


SHEETS: Mapping[str, Callable[[Fields], Row | None]] = {
    "channel_items": _channel_item,
    "rotator_links": _rotator_link,
    "submissions": _submission,
    "clicks_by_time": _time,
    "clicks_by_label": _label,
    "visits": _visit,
    "presets": _preset,
}


def _limited(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield labels; further ones of an item and day are "Other". The rows of an item and day follow each other."""
    group: tuple[Any, ...] = ()
    unusual = 0
    for row in rows:
        *key, label, _ = row
        if tuple(key) != group:
            group, unusual = tuple(key), 0
        if label not in WELL_KNOWN.get(row[3], frozenset()):
            unusual += 1
        is_large = row[2] == ALL_DAYS or row[3] not in WELL_KNOWN
        if unusual > (MAX_LABELS_OF_ALL_DAYS if is_large else MAX_LABELS_OF_DAY):
            row[4] = OTHER
        yield row
