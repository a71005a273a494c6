"""Validation of URLs in settings; "" is a missing one."""

import ipaddress
import re
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from waypost.core import ip_networks
from waypost.core.uris import ascii_host

_PRIVATE = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test", ".example", ".invalid")
_WEB_PORTS = (80, 443)
_BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"


def _split(value: str, *, repair: str = "") -> SplitResult:
    """Return the parts of a URL. Raises ValueError with the repair, without a part of the value: it can be a secret."""
    try:
        parts = urlsplit(value)
        is_valid = parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"must have a valid host, and a port from 1 to 65535 or none{repair}")
    return parts


def origin(value: str) -> str:
    """Return a public URL in its canonical form. Raises ValueError."""
    if not value:
        return value
    parts = _split(value.strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.fragment:
        raise ValueError("must be http:// or https:// and a host, without a path, such as https://go.example.com")
    if parts.username is not None:
        raise ValueError("must have no user name, such as https://go.example.com")
    host = ascii_host(parts.hostname)
    if not host:
        raise ValueError("must have a valid host name, such as https://go.example.com")
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + (f":{parts.port}" if parts.port else "")


def database(value: str) -> str:
    """Return the URL of a database that is PostgreSQL or SQLite. Raises ValueError, without a part of the value."""
    scheme, separator, rest = value.partition("://")
    if scheme == "postgres":  # the form of Heroku, Render and PostgreSQL's own library
        value = f"postgresql{separator}{rest}"
    elif scheme.startswith("postgresql+"):
        raise ValueError("must begin with postgresql://, without the name of a driver")
    if rest.partition("?")[0].count("@") > 1:
        raise ValueError("must have one @, in front of the host: write an @ in the password as %40")
    try:
        usable = not value or (value.startswith(("postgresql://", "sqlite:///")) and bool(make_url(value).database))
        if usable and value.startswith("postgresql"):
            url = make_url(value).set(drivername="postgresql+psycopg")
            url.get_dialect()().create_connect_args(url)  # also validates a list of several servers
    except (ArgumentError, ValueError):
        usable = False
    if not usable:
        several = "postgresql://user:password@/name?host=db1:5432&host=db2:5432&target_session_attrs=read-write"
        message = f"must be postgresql://user:password@host/name, with several servers {several}"
        raise ValueError(f"{message}, or sqlite:/// and a path")
    return value


def without_password(url: str) -> str:
    """Return the URL of a database with a hidden password, and without those that are parameters."""
    parsed = make_url(url)
    secrets = [name for name in parsed.query if "password" in name.lower()]
    return parsed.difference_update_query(secrets).render_as_string(hide_password=True)


def bucket(value: str) -> str:
    """Return the URL of a bucket. Raises ValueError."""
    parts = urlsplit(value)
    if value and (parts.scheme != "s3" or not re.fullmatch(_BUCKET, parts.netloc) or parts.query or parts.fragment):
        raise ValueError("must be s3:// and a bucket, perhaps with a prefix, such as s3://files/waypost")
    return value


def endpoint(value: str) -> str:
    """Return the URL of an S3-compatible store, without a trailing slash. Raises ValueError."""
    parts = _split(value)
    is_server = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    if value and (not is_server or parts.username is not None):
        raise ValueError("must be http:// or https:// and a host, without a user name, query or fragment")
    return value.rstrip("/")


def redirect(value: str, *, base: str) -> str:
    """Return a URL to redirect visitors to; not one of the service itself, which could be a loop. Raises ValueError."""
    parts = _split(value)
    host = ascii_host(parts.hostname or "")
    is_readable = value.isprintable() and not any(map(str.isspace, value))
    if value and (parts.scheme not in ("http", "https") or not host or not is_readable):
        raise ValueError("must be http:// or https:// and a host, such as https://www.example.com/")
    if value and host == (urlsplit(base).hostname or "localhost"):
        raise ValueError("must not be on the host of the base URL: that could create a redirect loop")
    return value


def smtp_server(value: SecretStr) -> SecretStr:
    """Return the URL of an SMTP server. Raises ValueError."""
    parts = _split(value.get_secret_value(), repair="; write / # ? [ and % in the password as %2F %23 %3F %5B and %25")
    is_server = parts.scheme in ("smtp", "smtps") and parts.hostname and not parts.query and not parts.fragment
    if value.get_secret_value() and not (is_server and parts.path in ("", "/")):
        raise ValueError("must be smtp:// or smtps:// and a host, such as smtp://user:password@mail.example.com:587")
    if not unquote(parts.username or "").isprintable():
        raise ValueError("must have a user name without control characters")
    return value


def hosts(value: str) -> str:
    """Return a comma-separated list of hosts with optional ports. Raises ValueError."""
    host_ports(value)
    return value


def host_ports(value: str) -> frozenset[tuple[str, int]]:
    """Return the hosts and ports of a list such as `shlink.internal:8080`; 80 and 443 without a port.

    Raises ValueError.
    """
    pairs: set[tuple[str, int]] = set()
    for part in (part.strip().lower() for part in value.split(",")):
        if not part:
            continue
        parts = _split(f"//{f'[{part}]' if is_ip_address(part) and ':' in part else part}")
        if not parts.hostname or re.search(r"[/?#@\s]", part):
            raise ValueError(f"must be hosts such as shlink.internal or 10.0.0.7:8080, separated by commas, not {part}")
        host = ascii_host(parts.hostname) or parts.hostname
        pairs.update((host, port) for port in ([parts.port] if parts.port else _WEB_PORTS))
    return frozenset(pairs)


def sender(value: str) -> str:
    """Return the sender's address of e-mail. Raises ValueError."""
    if not value.isprintable():
        raise ValueError("must be an address without control characters, such as waypost@example.com")
    return value


def is_local(host: str) -> bool:
    """Return whether every machine takes this host for itself: `localhost`, names below it, loopback addresses."""
    address = ip_networks.parse(host.strip("[]"))
    if address is not None:
        return ip_networks.is_loopback(address)
    return host == "localhost" or host.endswith(".localhost")


def is_public_name(host: str) -> bool:
    """Return whether other machines can know a host by this name."""
    return "." in host and not is_ip_address(host) and not host.endswith(_PRIVATE)


def is_ip_address(host: str) -> bool:
    """Return whether a host name is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
