"""Copies of links: every setting of a link under a new alias, and other links to the same destination."""

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.schema import links
from waypost.items.links import ops
from waypost.items.links.columns import Fields, url_hash


def find_by_destination(tx: Connection, account: int, url: str, *, without: int = 0) -> ops.Link | None:
    """Return the newest link to this destination, or None (index links_account_urlhash)."""
    is_same = (links.c.account == account, links.c.urlhash == url_hash(url), links.c.url == url, links.c.id != without)
    query = select(links.c.id).where(*is_same)
    ids = tx.execute(query.order_by(links.c.id.desc()).limit(1)).scalars().all()
    return next(iter(ops.get_many(tx, account, ids)), None)


def duplicate(tx: Connection, account: int, link: int, *, settings: Settings) -> ops.Address:
    """Create a link with the settings of another one and a generated alias. Its clicks and its limit begin at 0.

    The destination is checked like that of a new link. Raises NOT_FOUND, and INVALID as `ops.add`.
    """
    listed, details = ops.get_details(tx, account, link)
    fields: Fields = {
        "url": listed.url,
        "title": listed.title,
        "description": listed.description,
        "campaign": listed.campaign,
        "channel": list(listed.channel),
        "password": tx.execute(select(links.c.password).where(links.c.id == link, links.c.account == account)).scalar(),
        "expiry": None if details.expiry is None else clock.text(details.expiry),
        "clicklimit": details.clicklimit,
        "expiryurl": details.expiryurl,
        "type": details.type,
        "status": details.status,
        "metatitle": details.metatitle,
        "metadescription": details.metadescription,
        "metaimage": details.metaimage,
        "geotarget": [{**rule} for rule in details.geotarget],
        "devicetarget": [{**rule} for rule in details.devicetarget],
        "languagetarget": [{**rule} for rule in details.languagetarget],
        "deeplink": {**details.deeplink},
        "parameters": [{**parameter} for parameter in details.parameters],
        "dropquery": details.dropquery,
        "pixels": list(details.pixels),
    }
    if listed.host:
        fields["domain"] = listed.host
    return ops.add(tx, account, settings=settings, **fields)
