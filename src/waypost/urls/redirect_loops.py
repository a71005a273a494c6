"""Refusal of URLs that could cause a redirect loop. The child of imports validates URLs without the database."""

from sqlalchemy import Connection, select

from waypost.core.settings import Settings
from waypost.db.schema import domains
from waypost.urls import validation, www_hosts

_IS_BRANDED = select(domains.c.id).where(www_hosts.is_named("host"))


def refuse_own(tx: Connection, url: str, *, field: str, settings: Settings) -> None:
    """Raise INVALID on `field` if `url` is on the service itself or a branded domain, which could loop."""
    host = validation.foreign_host(url, field=field, settings=settings)
    if host and tx.execute(_IS_BRANDED, www_hosts.named("host", host)).first() is not None:
        raise validation.loop(field)
