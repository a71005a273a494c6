"""Searching links as somebody does who types: the first matches at once, however many there are."""

from sqlalchemy import Connection, select

from waypost.db.crud import Page, PageRequest
from waypost.db.schema import links
from waypost.links import filters, ops
from waypost.links.filters import ALL, Only
from waypost.links.ops import Link, Order

MOST = 1000
"""Matches that are shown; `result` is one more where there are others."""


def page(
    tx: Connection, account: int, window: PageRequest, *, order: Order = "date", q: str = "", only: Only = ALL
) -> Page[Link]:
    """As `ops.page`, but of a search only the newest MOST matches, which are read once and not counted besides.

    By clicks: the most clicked of them all.
    """
    if not q:
        return ops.page(tx, account, window, order=order, only=only)
    found = filters.matching(tx, account, q=q.casefold(), only=only)
    newest = found.order_by(*(column.desc() for column in found.selected_columns)).limit(MOST + 1)
    ids = tx.execute(newest).scalars().all()
    result = len(ids)
    if order == "click":
        c = links.alias().c  # since what is chosen is read from `links` too
        ranked = select(c.id).order_by(c.clicks.desc(), c.id.desc()).limit(MOST)
        if result <= MOST:
            ranked = ranked.where(c.id.in_(ids))
        elif only == ALL or filters.are_many(tx, filters.ids(account, only), filters.FEW):
            # So many that they are soon met among all links by clicks (index links_account_clicks).
            ranked = ranked.where(c.account == account, c.search.contains(q.casefold(), autoescape=True))
            ranked = ranked if only == ALL else ranked.where(filters.is_one(account, only, c.id))
            ranked = ranked.limit(min(MOST, window.offset + window.limit))
        else:
            ranked = ranked.where(c.id.in_(found))
        ids = tx.execute(ranked).scalars().all()
    shown = ids[:MOST][window.offset : window.offset + window.limit]
    return Page(ops.listed(tx, shown), result, window)
