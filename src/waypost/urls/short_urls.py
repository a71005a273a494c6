"""Where an alias is found on the web."""

from urllib.parse import quote


def origin(base: str, host: str, scheme: str | None) -> str:
    """`https://brand.example`, or the service's own address for its own host."""
    return f"{scheme or 'https'}://{host}" if host else base


def short_url(base: str, host: str, scheme: str | None, alias: str) -> str:
    """The public URL of an alias; `scheme` is that of its branded domain, if it is on one."""
    return f"{origin(base, host, scheme)}/{alias}"


def list_url(base: str, username: str, slug: str | None, campaign: int) -> str:
    """The list page of a campaign (decision 27)."""
    return f"{base}/u/{username}/{slug or 'list'}-{campaign}"


def report_url(base: str, host: str, alias: str, scheme: str | None = None) -> str:
    """Where somebody reports a name; always on the service's own host."""
    short = f"{origin(base, host, scheme)}/{alias}"
    return f"{base}/report?url={quote(short, safe='')}"
