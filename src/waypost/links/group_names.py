"""Campaigns and channels by their names, for accounts that have more of them than the editor of a link lists."""

from collections.abc import Sequence

from sqlalchemy import Connection, func, or_, select

from waypost.db.schema import campaigns, channels
from waypost.errors import invalid

GROUPS = {"campaign": campaigns, "channel": channels}
_MAX_SUGGESTED = 20
_MAX_READ = 10_000  # names that a search compares, the newest first


def find(tx: Connection, account: int, kind: str, name: str) -> int | None:
    """Return the id of the group with this name, without regard to case unless two names differ in it only."""
    c = GROUPS[kind].c
    # The second condition is for SQLite, which folds the case of ASCII only.
    same = select(c.id).where(c.account == account, or_(func.lower(c.name) == name.lower(), c.name == name))
    exact_first = same.order_by((c.name == name).desc(), c.id).limit(1)
    return tx.execute(exact_first).scalar_one_or_none()


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
    part = " ".join(text.split()).casefold()
    matches = [name for name in tx.execute(newest).scalars() if part in name.casefold()]
    return sorted(matches, key=lambda name: not name.casefold().startswith(part))[:_MAX_SUGGESTED]
