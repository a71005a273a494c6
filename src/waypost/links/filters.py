"""Which links of an account are wanted, as statements over their ids: by status, campaign, channel, words.

What is quickest depends on how many there are of each, so what is few is walked and the rest is looked up.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, column, func, select, table, text

from waypost.db import page_counters
from waypost.db.schema import campaigns, channel_items, channels, links
from waypost.links import dead_links
from waypost.links.columns import Status

FEW = 10_000
"""Links that are read one by one sooner than an index of everybody's, or sorted sooner than walked past."""
_MANY_MATCHES = 5_000  # of an index of everybody's: more are not looked up one by one
_TRIGRAM = 3
_INDEX = table("links_search", column("rowid"))
_MATCHES = "links_search MATCH :phrase"
# Without the hint SQLite fetches each link that matches whole, just to see whose it is.
_IS_MINE = """
    EXISTS (SELECT 1 FROM links INDEXED BY links_account_id WHERE account = :account AND id = links_search.rowid)"""


@dataclass(frozen=True)
class Only:
    """Which links alone are wanted: of a campaign, on a channel, with a status, with a dead target."""

    campaign: int | None = None
    channel: int | None = None
    status: Status | None = None
    dead: bool = False


ALL = Only()


def ids(account: int, only: Only) -> Select[int]:
    """The ids of the account's links that are wanted, by the index that has nothing else (links_campaign,
    links_account_status, looks_dead_account, the key of channel_items). What these have is the account's."""
    if only == Only(dead=True):
        return dead_links.dead(account)
    shelf = select(channels.c.id).where(channels.c.id == only.channel, channels.c.account == account)
    on_it = select(channel_items.c.link).where(
        channel_items.c.channel == shelf.scalar_subquery(), channel_items.c.link.is_not(None)
    )
    if only.channel is not None and only == Only(channel=only.channel):
        return on_it
    chosen = select(links.c.id)
    if only.campaign is not None:
        mine = select(campaigns.c.id).where(campaigns.c.id == only.campaign, campaigns.c.account == account)
        chosen = chosen.where(links.c.campaign == mine.scalar_subquery())
    else:
        chosen = chosen.where(links.c.account == account)
    if only.dead:
        chosen = chosen.where(links.c.id.in_(dead_links.dead(account)))
    if only.status is not None:
        chosen = chosen.where(links.c.status == only.status)
    if only.channel is None:
        return chosen
    if only == Only(channel=only.channel, status="public"):  # as most links are, so those on the channel are fewer
        one = links.alias().c
        is_public = select(one.id).where(one.account == account, one.status == "public", one.id == channel_items.c.link)
        return on_it.where(is_public.exists())
    return chosen.where(on_it.where(channel_items.c.link == links.c.id).exists())


def is_one(account: int, only: Only, link: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether that link is wanted, for those who walk past others. `link` must not be of the table `links` itself."""
    wanted = ids(account, only)
    return wanted.where(wanted.selected_columns[0] == link).exists()


def are_many(tx: Connection, found: Select[int], most: int) -> bool:
    """Whether there are more than `most`, without counting further."""
    some = found.limit(most + 1).subquery()
    return int(tx.execute(select(func.count()).select_from(some)).scalar_one()) > most


def matching(tx: Connection, account: int, *, q: str, only: Only) -> Select[int]:
    """The ids of the wanted links with `q` (case-folded) in their words, by the trigram index or one by one.

    By the index where there is one, `q` is long enough and the account has many links; but when only some are wanted
    and many match, those that are wanted are read one by one: the newest matches are soon among them.
    """
    found = ids(account, only)
    if not q:
        return found
    if tx.dialect.name == "sqlite" and len(q) >= _TRIGRAM and page_counters.total(tx, account, links.name) > FEW:
        phrase = '"' + q.replace('"', '""') + '"'
        everybodys = select(_INDEX.c.rowid).where(text(_MATCHES).bindparams(phrase=phrase))
        if only == ALL:
            return everybodys.where(text(_IS_MINE).bindparams(account=account))
        if not are_many(tx, everybodys, _MANY_MATCHES):
            return everybodys.where(is_one(account, only, _INDEX.c.rowid))
    link = found.selected_columns[0]
    if link is not links.c.id:
        found = found.join(links, links.c.id == link)
    return found.where(links.c.search.contains(q, autoescape=True))
