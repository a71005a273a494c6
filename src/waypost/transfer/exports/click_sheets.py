"""The sheets of statistics: totals by time and label, and single visits."""

from waypost.clicks.ingest.aggregate import PLACES
from waypost.db.row_codec import as_time
from waypost.db.schema import click_labels, click_times, edits, events
from waypost.transfer.exports.sheets import Column, Sheet, as_day, as_time_ms, of

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

_EDITS = Sheet(
    "edits",
    "Times when items were edited, with a precision of a quarter of an hour.",
    edits,
    of(
        edits,
        {"kind": "Kind of the item: link, qr, file, bio or campaign.", "item": _ITEM, "at": "Time, UTC."},
        at=as_time,
    ),
)

SHEETS = (_TIMES, _LABELS, _VISITS, _EDITS)
