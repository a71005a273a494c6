"""Sheets: the tables of an export, their columns, and the text that explains each column.

There are sheets of items, of their parts, of the responses of visitors, and of statistics. The schema explains the
columns of items.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, String, Table, cast, func, select

from waypost.clicks.ingest.aggregate import DAY, PLACES
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.row_codec import Convert, as_time, readable
from waypost.db.schema import click_labels, click_times, domains, events
from waypost.db.schema.nouns import NOUNS, Noun
from waypost.urls import short_urls

Derive = Callable[[Mapping[str, Any], Settings], Mapping[str, Any]]
"""Returns the values of columns that the database does not store, such as a short URL, from those that it stores."""


@dataclass(frozen=True)
class Column:
    """A column of a sheet. Without a `source` the sheet derives its value."""

    name: str
    text: str
    source: ColumnElement[Any] | None = None
    convert: Convert | None = None


Added = Mapping[str, Sequence[Column | str]]
"""Columns that come after a column of a table. A name moves another column of the table there."""


@dataclass(frozen=True)
class Sheet:
    """A table of the export, which becomes `name.csv` and `name.jsonl`. `hidden` columns are for `derive` only.

    `where` leaves out rows.
    """

    name: str
    text: str
    table: Table
    columns: Sequence[Column]
    joined: FromClause | None = None
    hidden: Sequence[ColumnElement[Any]] = ()
    derive: Derive | None = None
    where: ColumnElement[bool] | None = None

    def query(self, account: int) -> Select[Any]:
        """Select the rows of an account in the order of the primary key."""
        stored = [column.source.label(column.name) for column in self.columns if column.source is not None]
        query = select(*stored, *self.hidden).select_from(self.joined if self.joined is not None else self.table)
        query = query.where(self.table.c.account == account, *([] if self.where is None else [self.where]))
        return query.order_by(*(key for key in self.table.primary_key if key.name != "account"))

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def _selected(self) -> Sequence[str]:
        """The names of the columns of the query."""
        stored = [column.name for column in self.columns if column.source is not None]
        return [*stored, *(column.key or "" for column in self.hidden)]

    @cached_property
    def _converts(self) -> Sequence[tuple[str, Convert]]:
        return [(column.name, column.convert) for column in self.columns if column.convert is not None]

    def values(self, row: Sequence[Any], settings: Settings) -> dict[str, Any]:
        """Return the values of a row of the query by column, as JSON."""
        values = dict(zip(self._selected, row, strict=True))
        if self.derive is not None:
            values |= self.derive(values, settings)
            values = {name: values[name] for name in self.names}
        for name, convert in self._converts:
            if (value := values[name]) is not None:
                values[name] = convert(value)
        return values


def columns_of(table: Table, added: Added | None = None) -> list[Column]:
    """Return the columns of a table that have a `doc`, in their order, and the added ones."""
    added = added or {}
    moved = {column for columns in added.values() for column in columns if isinstance(column, str)}
    columns: list[Column] = []
    for name in (column.name for column in table.c if column.doc and column.name not in moved):
        columns.append(_column(table, name))
        columns += (_column(table, each) if isinstance(each, str) else each for each in added.get(name, ()))
    return columns


def _column(table: Table, name: str) -> Column:
    source = table.c[name]
    return Column(name, source.doc or "", source, readable(source))


def of(table: Table, texts: Mapping[str, str], **converts: Convert) -> list[Column]:
    """Return columns of a table with their texts."""
    return [Column(name, text, table.c[name], converts.get(name)) for name, text in texts.items()]


def cell(value: Any) -> Any:
    """Return a value for CSV: lists and objects are JSON, and None is empty."""
    convert = _CELLS.get(type(value))
    return value if convert is None else convert(value)


to_json = json.JSONEncoder(ensure_ascii=False).encode
"""Return a value as JSON on one line. Faster than `json.dumps`, which makes an encoder for each call."""
_CELLS: Mapping[type, Convert] = {
    list: to_json,
    dict: to_json,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "",
}


def related_ids(column: ColumnElement[int], matches: ColumnElement[bool]) -> ColumnElement[str]:
    """Select the ids in `column` of the rows that belong to a row, separated by commas."""
    ids = func.aggregate_strings(cast(column, String), ",")
    return select(ids).where(matches).scalar_subquery()


def as_time_ms(millisecond: int) -> str:
    """Return milliseconds since 1970 as UTC text with milliseconds."""
    return f"{as_time(millisecond // 1000)}.{millisecond % 1000:03}"


def as_day(day: int) -> str | None:
    """Return days since 1970 as YYYY-MM-DD; None for the sum of all days."""
    return None if day < 0 else clock.day(day * DAY)


def as_ids(text: str) -> list[int]:
    """Return the ids of `related_ids`, sorted."""
    return sorted(map(int, text.split(",")))


_SHORT_URL = Column("shorturl", "Short URL.")
_TEXTS: Mapping[str, str] = {
    "link": "Links with all their rules. Passwords are not in this file, only whether there is one.",
    "qr": "QR codes. Their pictures are in qr/ID.svg, their logos in qr/ID-logo.png.",
    "file": "Files. Their bytes are in files/ID-NAME, unless they were deleted after the expiry.",
    "domain": "Branded domains.",
    "overlay": "CTA overlays.",
    "pixel": "Tracking pixels.",
}
"""The explanation of a sheet, where the label of its kind does not suffice."""


def _has_password(table: Table) -> Column:
    return Column("haspassword", "True if visitors must enter a password.", table.c.password.is_not(None))


def _related(name: str, noun: str, table: Table) -> Column:
    """Return the ids in a table of the items that belong to a link."""
    is_of_link = (table.c.link == schema.links.c.id) & (table.c.account == schema.links.c.account)
    ids = related_ids(table.c[noun], is_of_link)
    return Column(name, f"Ids of the {name}.", ids, as_ids)


_ADDED: Mapping[str, Added] = {
    "link": {
        "id": [_SHORT_URL],
        "description": ["status", _has_password(schema.links)],
        "campaign": [
            _related("channels", "channel", schema.channel_items),
            _related("pixels", "pixel", schema.link_pixels),
        ],
    },
    "file": {"id": [_SHORT_URL], "mime": [_has_password(schema.files)]},
    "qr": {
        "data": ["dynamic"],
        "caption": [
            Column("haslogo", "True if the code has a logo.", func.coalesce(func.length(schema.qrs.c.logo), 0) > 0)
        ],
    },
}
_PARTS = (
    Sheet(
        "rotator_links",
        "Settings of links in the rotator of their campaign.",
        schema.rotator_links,
        columns_of(schema.rotator_links),
    ),
    Sheet(
        "channel_items",
        "The items of channels. One of link, bio and qr has an id.",
        schema.channel_items,
        columns_of(schema.channel_items),
    ),
    Sheet(
        "shares",
        "Share links of statistics without passwords and secret addresses."
        " One of link, qr, bio and campaign has an id; without one, the statistics of the whole account are shared.",
        schema.shares,
        columns_of(schema.shares, {"slug": [_has_password(schema.shares)]}),
    ),
    Sheet(
        "aliases",
        "All aliases, also those of deleted items, which stay reserved.",
        schema.aliases,
        columns_of(schema.aliases),
    ),
    Sheet(
        "import_origins",
        "The source of each link that was imported.",
        schema.import_origins,
        columns_of(schema.import_origins),
    ),
    Sheet("bio_blocks", "Clicks of the links in bio pages.", schema.bio_blocks, columns_of(schema.bio_blocks)),
    Sheet(
        "bio_pictures",
        "Pictures of bio pages. They are in bio/picture-ID.webp.",
        schema.bio_pictures,
        columns_of(schema.bio_pictures),
    ),
    Sheet(
        "presets",
        "Saved views of the list of links, and styles of QR codes.",
        schema.presets,
        columns_of(schema.presets),
    ),
    Sheet(
        "webhooks",
        "Webhooks without their secrets and messages.",
        schema.webhook_endpoints,
        columns_of(schema.webhook_endpoints),
    ),
    Sheet(
        "email_reports",
        "Reports of statistics by e-mail, with their recipients.",
        schema.email_reports,
        columns_of(schema.email_reports),
    ),
    Sheet("audit", "The audit log: all changes with their authors.", schema.audit, columns_of(schema.audit)),
    Sheet("submissions", "Responses of visitors to overlays.", schema.submissions, columns_of(schema.submissions)),
)
_ORDER = (
    *("links", "campaigns", "rotator_links", "channels", "channel_items", "shares", "aliases", "import_origins"),
    *("qr_codes", "bio_pages", "bio_blocks", "bio_pictures", "files", "domains"),
)
"""The first sheets in an archive. Other nouns follow in their order, then other parts."""


def _with_short_url(row: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    return {"shorturl": short_urls.short_url(settings.base, row["host"], row["scheme"], row["alias"])}


def _sheet(noun: Noun) -> Sheet:
    text, columns = _TEXTS.get(noun.kind, f"{noun.labels}."), columns_of(noun.table, _ADDED.get(noun.kind, {}))
    if all(column is not _SHORT_URL for column in columns):
        return Sheet(noun.sheet, text, noun.table, columns)
    joined: FromClause = noun.table.outerjoin(domains, domains.c.host == noun.table.c.host)
    return Sheet(noun.sheet, text, noun.table, columns, joined, [domains.c.scheme], _with_short_url)


def _in_order() -> Iterator[Sheet]:
    sheets = {sheet.name: sheet for sheet in (*map(_sheet, NOUNS.values()), *_PARTS)}
    yield from (sheets.pop(name) for name in _ORDER)
    yield from sheets.values()


ITEM_SHEETS = tuple(_in_order())


_KIND = "Kind of the visited item: link, qr, file, bio, block or campaign; account for all of them; missing for none."
_ITEM = "Id of the item."

_TIMES = Sheet(
    "clicks_by_time",
    "Clicks per quarter of an hour.",
    click_times,
    of(
        click_times,
        {
            "kind": _KIND,
            "item": _ITEM,
            "at": "Begin of the quarter of an hour, UTC.",
            "clicks": "Clicks.",
            "uniques": "Clicks of distinct visitors of the day.",
            "bots": "Visits of bots, which are not clicks.",
            "previews": "Visits of link previews.",
            "others": "Other requests that are not clicks.",
            "late": "Visits after the end of the item.",
        },
        at=as_time,
    ),
)

_LABELS = Sheet(
    "clicks_by_label",
    "Clicks per day and label, such as a country. It has no regions and cities, where a day can have a single visitor.",
    click_labels,
    of(
        click_labels,
        {
            "kind": _KIND,
            "item": _ITEM,
            "day": "Day, UTC; empty for the sum of all days.",
            "dimension": "Kind of the label: country, referrer, network, browser, os, device, language or source.",
            "label": "Label, such as DE.",
            "n": "Clicks.",
        },
        day=as_day,
    ),
    where=click_labels.c.dimension.not_in(PLACES),
)

_VISITS = Sheet(
    "visits",
    "Single visits, for as long as the service stores them. They contain no IP addresses.",
    events,
    [
        *of(events, {"id": "Id."}),
        Column("date", "Time with milliseconds, UTC.", events.c.at_ms, as_time_ms),
        *of(
            events,
            {
                "kind": _KIND,
                "item": _ITEM,
                "sort": "click, bot, preview, late or other.",
                "first": "True if it is the first click of a visitor on this day.",
                "country": "Country code.",
                "referrer": "Host of the referring website.",
                "browser": "Browser.",
                "os": "Operating system.",
                "device": "Kind of the device.",
                "language": "Language.",
                "source": "How the visitor came: link, qr, bio or a campaign.",
            },
        ),
    ],
)

CLICK_SHEETS = (_TIMES, _LABELS, _VISITS)
