"""Public URLs of aliases and lists."""

import re
from typing import Protocol
from urllib.parse import quote

_PLAIN = re.compile(r"[A-Za-z0-9_.~/-]*")
"""An alias that has nothing to encode: it takes a tenth of the time of `quote`."""


class Addressed(Protocol):
    """An item with an alias; `scheme` is that of its branded domain, if any."""

    @property
    def host(self) -> str: ...

    @property
    def scheme(self) -> str | None: ...

    @property
    def alias(self) -> str: ...


def origin(base: str, host: str, scheme: str | None) -> str:
    """Return the origin of a host, such as `https://brand.example`; `base` for the service's own host."""
    return f"{scheme or 'https'}://{host}" if host else base


def alias_path(alias: str) -> str:
    """Return the path of an alias on its host, percent-encoded."""
    return f"/{alias if _PLAIN.fullmatch(alias) else quote(alias, safe='/~')}"


def short_url(base: str, host: str, scheme: str | None, alias: str) -> str:
    """Return the short URL of an alias; `scheme` is that of its branded domain, if any."""
    return origin(base, host, scheme) + alias_path(alias)


def rotator_url(base: str, slug: str | None) -> str:
    """Return the URL of a campaign's rotator; "" for a campaign without a slug."""
    return f"{base}/r/{slug}" if slug else ""


def list_url(base: str, username: str, slug: str | None, campaign: int) -> str:
    """Return the URL of a campaign's list page (decision 27)."""
    return f"{base}/u/{username}/{slug or 'list'}-{campaign}"


def report_url(base: str, host: str, scheme: str | None, alias: str) -> str:
    """Return the URL of the report form for an alias. It is always on the service's own host."""
    return f"{base}/report?url={quote(short_url(base, host, scheme, alias), safe='')}"
