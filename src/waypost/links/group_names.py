"""Campaigns and channels by their names, for accounts that have more of them than the editor of a link lists."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from waypost.db import unique_names
from waypost.db.schema import campaigns, channels
from waypost.errors import invalid
from waypost.text_folding import folded

GROUPS = {"campaign": campaigns, "channel": channels}
_MAX_SUGGESTED = 20
_MAX_READ = 10_000  # names that a search compares, the newest first


def find(tx: Connection, account: int, kind: str, name: str) -> int | None:
    """Return the id of the group with this name."""
    table = GROUPS[kind]
    return unique_names.find(tx, table, name, table.c.account == account)


def find_campaign(tx: Connection, account: int, name: str) -> int:
    """Return the id of the campaign with this name. Raises INVALID on `campaign_name`."""
    campaign = find(tx, account, "campaign", " ".join(name.split()))
    if campaign is None:
        raise invalid("campaign_name", "campaign_name must be the name of one of your campaigns.")
    return campaign


def suggest(tx: Connection, account: int, kind: str, text: str) -> Sequence[str]:
    """Return names that contain the text, those that begin with it first.

    Compares in Python, because SQLite folds the case of ASCII only: 10 ms for 10,000 names.
    """
    c = GROUPS[kind].c
    newest = select(c.name).where(c.account == account).order_by(c.id.desc()).limit(_MAX_READ)
    part = folded(" ".join(text.split()))
    matches = [name for name in tx.execute(newest).scalars() if part in folded(name)]
    return sorted(matches, key=lambda name: not folded(name).startswith(part))[:_MAX_SUGGESTED]
