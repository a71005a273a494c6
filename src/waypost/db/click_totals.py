"""Totals of clicks in the rows of items."""

from sqlalchemy import Table

from waypost.db.schema import bio_blocks, bios, campaigns, files, links, qrs

TOTALS: dict[str, tuple[Table, tuple[str, ...]]] = {
    "link": (links, ("clicks", "uniqueclicks", "taken")),
    "bio": (bios, ("clicks", "uniqueclicks")),
    "block": (bio_blocks, ("clicks", "uniqueclicks")),
    "qr": (qrs, ("scans", "uniquescans")),
    "file": (files, ("downloads", "uniquedownloads", "taken")),
    "campaign": (campaigns, ("views",)),
}
"""The totals of each kind: its table and the columns for clicks, unique clicks, and the counter of its click limit. A
click under a limit was added to the last one before the response."""
