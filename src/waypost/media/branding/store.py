"""The brands in the database: that of the installation, and those of branded domains."""

import json
from dataclasses import asdict
from functools import lru_cache

from sqlalchemy import Connection, bindparam, delete, select

from waypost.db import audit_log, change_log
from waypost.db.database import upsert
from waypost.db.schema import domains, installation
from waypost.media.branding.brand import NO_BRAND, Brand

_NAME = "brand"
_BRAND = select(installation.c.value).where(installation.c.name == _NAME)
_DOMAIN = select(domains.c.brandname, domains.c.brandcolor, domains.c.brandlogo).where(
    domains.c.id == bindparam("domain"), domains.c.account == bindparam("account")
)
EVERYTHING = ""
"""The host of a change that concerns the pages of all hosts."""


def of_installation(tx: Connection) -> Brand:
    """Return the brand of the installation."""
    value = tx.execute(_BRAND).scalar()
    return NO_BRAND if value is None else _parse(bytes(value))


def logo_of_installation(tx: Connection) -> str:
    """Return the logo of the installation as a `data:` URL, "" for none."""
    return of_installation(tx).logo


def set_of_installation(tx: Connection, brand: Brand) -> None:
    """Set the brand of the installation, which every page without another one shows."""
    before = of_installation(tx)
    if brand == before:
        return
    if brand == NO_BRAND:
        tx.execute(delete(installation).where(installation.c.name == _NAME))
    else:
        value = json.dumps(asdict(brand)).encode()
        statement = upsert(tx, installation).values(name=_NAME, value=value)
        tx.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))
    change_log.record(tx, EVERYTHING)
    old, new = ({"name": each.name, "color": each.color} for each in (before, brand))
    audit_log.record(tx, None, "brand.updated", before=old, after=new)


def of_domain(tx: Connection, account: int, domain: int) -> Brand:
    """Return the brand of an account's domain, without a fallback; NO_BRAND if there is no such domain."""
    row = tx.execute(_DOMAIN, {"domain": domain, "account": account}).first()
    return Brand(*row) if row else NO_BRAND


@lru_cache(maxsize=4)
def _parse(value: bytes) -> Brand:
    """Return a stored brand. Cached, so that its parts are the same objects in all domains that fall back to it."""
    return Brand(**json.loads(value))
