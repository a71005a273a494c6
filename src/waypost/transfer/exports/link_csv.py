"""Links as CSV with the columns of another service: Shlink's web client, or Dub's export."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

from sqlalchemy import Connection, RowMapping, select

from waypost.core import clock, csv_export
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import channel_items, channels, domains, links
from waypost.urls import short_urls

Service = Literal["shlink", "dub"]
SERVICES: Sequence[Service] = get_args(Service)
COLUMNS: Mapping[Service, Sequence[str]] = {
    "shlink": ("Long URL", "Tags", "Domain", "Short code", "Title"),
    "dub": ("Short link", "Destination URL", "Clicks", "Created at", "Tags", "Archived"),
}
_BATCH = 500


def lines(database: Database, settings: Settings, account: int, service: Service) -> Iterator[str]:
    """Yield the links of an account, oldest first, in batches of text.

    Each batch is a transaction of its own, so that a slow client holds no snapshot.
    """
    yield csv_export.lines([COLUMNS[service]])
    last = 0
    while rows := database.read(partial(_rows, account=account, last=last)):
        last = rows[-1][0]["id"]
        yield csv_export.lines(_row(service, settings, *row) for row in rows)


def _rows(tx: Connection, account: int, last: int) -> list[tuple[RowMapping, Sequence[str]]]:
    """Return the next links, each with the names of its channels (index links_account_id)."""
    query = select(links, domains.c.scheme).outerjoin(domains, domains.c.host == links.c.host)
    query = query.where(links.c.account == account, links.c.id > last).order_by(links.c.id).limit(_BATCH)
    listed = tx.execute(query).mappings().all()
    c = channel_items.c
    is_channel = (channels.c.id == c.channel) & (channels.c.account == c.account)
    names = select(c.link, channels.c.name).join(channels, is_channel)
    names = names.where(c.account == account, c.link.in_([row["id"] for row in listed])).order_by(c.id)
    tags: dict[int, list[str]] = {}
    for link, name in tx.execute(names):
        tags.setdefault(link, []).append(name)
    return [(row, tags.get(row["id"], ())) for row in listed]


def _row(service: Service, settings: Settings, link: RowMapping, tags: Sequence[str]) -> Sequence[Any]:
    if service == "shlink":
        return (link["url"], "|".join(tags), link["host"], link["alias"], link["title"])
    url = short_urls.short_url(settings.base, link["host"], link["scheme"], link["alias"])
    archived = "Yes" if link["status"] == "disabled" else "No"
    return (url, link["url"], link["clicks"], clock.text(link["created"]), ", ".join(tags), archived)
