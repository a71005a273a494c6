"""Splash pages: pages that visitors see for some seconds before the destination."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection, and_, update

from waypost.db import change_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import links, splashes
from waypost.urls import blocklist, validation


@dataclass(frozen=True)
class Splash:
    """A splash page; `counter` and `skip` are in seconds, URLs are "" when there is none."""

    id: int
    name: str
    title: str
    message: str
    counter: int
    skip: int
    link: str
    banner: str
    logo: str
    created: int


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    name: str
    title: str | None
    message: str | None
    counter: int | None
    skip: int | None
    link: str | None
    banner: str | None
    logo: str | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Splash]:
    """The account's splash pages."""
    return crud.page(tx, splashes, account, window, Splash)


def get_owned(tx: Connection, account: int, splash: int) -> Splash:
    """One splash page."""
    return crud.get_owned(tx, splashes, account, splash, Splash)


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Splash:
    """Create a splash page. Raises INVALID on a URL."""
    return get_owned(tx, account, crud.add(tx, splashes, account, checked(tx, fields)))


def change(tx: Connection, account: int, splash: int, **fields: Unpack[Fields]) -> None:
    """Set the given fields; its links show them at once. Raises INVALID on a URL."""
    change_log.record_links(tx, (links.c.account == account) & (links.c.splash == splash))
    crud.change(tx, splashes, account, splash, checked(tx, fields))


def remove(tx: Connection, account: int, splash: int) -> None:
    """Delete a splash page; its links redirect directly."""
    crud.lock_row(tx, splashes, account, splash)
    own_items = and_(links.c.splash == splash, links.c.account == account)
    change_log.record_links(tx, own_items)
    tx.execute(update(links).where(own_items).values(type="direct", splash=None))
    crud.remove(tx, splashes, account, splash)


def uses(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, int]:
    """Return the number of links per splash page; unused pages are missing (index links_splash)."""
    return crud.count_by(tx, account, links.c.splash, ids)


def checked(tx: Connection, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of these fields. Raises INVALID on a URL."""
    urls = {
        name: validation.web_url(fields[name], field=name) for name in ("link", "banner", "logo") if fields.get(name)
    }
    for name, url in urls.items():
        blocklist.refuse(tx, [url], field=name)
    return {**fields, **urls}
