"""Clicks that were imported without a time: they count into `clicks` of links, but belong to no day of statistics."""

from sqlalchemy import Connection, func, select, text

from waypost.db.schema import links

_c = links.c
# The literal lets both databases use the partial index links_account_imported, which contains all columns.
_TOTAL = select(func.coalesce(func.sum(_c.importedclicks), 0)).where(text("links.importedclicks > 0"))


def baseline(tx: Connection, account: int, kind: str, item: int) -> int:
    """Return such clicks of a link, of the links of a campaign, or of all links of the account; 0 for other kinds."""
    query = _TOTAL.where(_c.account == account)
    if kind == "link":
        query = query.where(_c.id == item)
    elif kind == "campaign":
        query = query.where(_c.campaign == item)
    elif kind != "account":
        return 0
    return int(tx.execute(query).scalar_one())
