"""UTM parameters of destinations: the values that an account uses, as suggestions of the link editor."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from sqlalchemy import Connection, select

from waypost.db.schema import links

NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
_READ_LINKS = 200
_MAX_VALUES = 50
_MAX_LENGTH = 255


def used_values(tx: Connection, account: int) -> Mapping[str, Sequence[str]]:
    """Return the values of each parameter in the destinations of the account's newest links, the newest first."""
    query = select(links.c.url).where(links.c.account == account).order_by(links.c.id.desc()).limit(_READ_LINKS)
    used: dict[str, dict[str, None]] = {name: {} for name in NAMES}
    for url in tx.execute(query).scalars():
        for name, value in _parameters(url):
            if name in used and len(value) <= _MAX_LENGTH:
                used[name][value] = None
    return {name: list(values)[:_MAX_VALUES] for name, values in used.items()}


def _parameters(url: str) -> Sequence[tuple[str, str]]:
    if "utm_" not in url:
        return ()
    try:
        return parse_qsl(urlsplit(url).query)
    except ValueError:  # a destination of an app can have any form
        return ()
