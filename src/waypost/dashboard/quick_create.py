"""The options of the form for a new link that every page has."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from waypost.db.schema import domains, utm_templates

_MAX_OPTIONS = 50
_TEMPLATES = (
    select(utm_templates.c.id, utm_templates.c.name)
    .where(utm_templates.c.account == bindparam("owner"))
    .order_by(utm_templates.c.id.desc())
    .limit(_MAX_OPTIONS)
)


_DOMAINS = (
    select(domains.c.host)
    .where(domains.c.account == bindparam("owner"))
    .order_by(domains.c.id.desc())
    .limit(_MAX_OPTIONS)
)


class QuickOptions(NamedTuple):
    """(id, name) of the newest UTM templates, and (host, host) of the newest branded domains."""

    templates: Sequence[tuple[int, str]]
    domains: Sequence[tuple[str, str]]


def options(tx: Connection, account: int) -> QuickOptions:
    """Return the options of an account."""
    templates = [(row.id, row.name) for row in tx.execute(_TEMPLATES, {"owner": account})]
    hosts = tx.execute(_DOMAINS, {"owner": account}).scalars()
    return QuickOptions(templates, [(host, host) for host in hosts])
