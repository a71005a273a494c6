"""The IP address of the client that a request comes from (decision 53)."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from starlette.types import Scope

from waypost.core import ip_networks
from waypost.core.ip_networks import Address
from waypost.core.settings import Network

_MAX_HOPS = 50
_MAX_LENGTH = 100
"""An address is shorter, even with a zone, a port and blanks."""
_PROXY_HEADERS = frozenset(
    {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
)
UNKNOWN = "unknown"
"""The address of a client that a trusted proxy does not tell. It is in no network, and has no country."""
_IPV4, _IPV6 = "([0-9.]+)", "([0-9a-f.]*:[0-9a-f:.]*)"
_ZONE, _PORT = r"(?:%[\w.-]+)?", "(?::[0-9]{1,5})?"
_HOP = re.compile(rf"\[{_IPV6}{_ZONE}\]{_PORT}|{_IPV4}{_PORT}|{_IPV6}{_ZONE}", re.ASCII | re.IGNORECASE)
"""An IPv6 address in brackets and an IPv4 address, each perhaps with a port, or an IPv6 address without."""


def client_ip(scope: Scope, trusted: Sequence[Network]) -> str:
    """Return the client's address for an ASGI request, or UNKNOWN. `trusted` are the networks of reverse proxies."""
    forwarded = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return resolve_client_ip(_peer(scope), forwarded, trusted)


def is_proxied(scope: Scope, trusted: Sequence[Network]) -> bool:
    """Return whether an ASGI request comes from a trusted proxy, whose headers are used."""
    return is_trusted(_peer(scope), trusted)


@lru_cache(maxsize=1024)
def is_private(address: str) -> bool:
    """Return whether a client's address is one of a private network, or of this machine."""
    parsed = _parse(address)
    return parsed is not None and ip_networks.is_private(parsed)


def resolve_client_ip(peer: str, forwarded: Iterable[bytes], trusted: Sequence[Network]) -> str:
    """Return the right-most hop that is not a trusted proxy, or the first one if all are; UNKNOWN if one is unreadable.

    `peer` is the other end of the connection, `forwarded` the values of every `X-Forwarded-For` header in order.
    They are ignored unless the peer is a trusted proxy. Without a header, such a peer does not tell the address.
    """
    address = _parse(peer)
    if address is None or not _is_in(address, trusted):
        return str(address or peer or UNKNOWN)
    hops = b",".join(forwarded).decode("latin-1").split(",")
    for hop in reversed(hops[-_MAX_HOPS:]):
        address = _parse(hop)
        if address is None:
            return UNKNOWN
        if not _is_in(address, trusted):
            return str(address)
    return str(address) if len(hops) <= _MAX_HOPS else UNKNOWN


def is_direct_from(scope: Scope, networks: Sequence[Network], *, proxies: Sequence[Network]) -> bool:
    """Return whether the client is known to be in one of the networks: not if a header shows an untrusted proxy."""
    if not is_proxied(scope, proxies) and any(name in _PROXY_HEADERS for name, _ in scope["headers"]):
        return False
    return is_trusted(client_ip(scope, proxies), networks)


def is_trusted(peer: str, trusted: Sequence[Network]) -> bool:
    """Return whether the other end of a connection is in one of the trusted networks."""
    address = _parse(peer)
    return address is not None and _is_in(address, trusted)


@lru_cache(1000)
def network_of(address: str) -> str:
    """Return the network that rate limits count as one client: an IPv4 address, or the /64 of an IPv6 address.

    See decision 10.
    """
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed or address)


def site_of(network: str) -> str:
    """Return the /48 of an IPv6 network, which may belong to one customer; an IPv4 address is returned unchanged."""
    return str(ipaddress.IPv6Network(network).supernet(new_prefix=48)) if network.endswith("/64") else network


def _peer(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _parse(value: str) -> Address | None:
    return _parse_short(value) if len(value) <= _MAX_LENGTH else None


@lru_cache(1000)
def _parse_short(value: str) -> Address | None:
    hop = _HOP.fullmatch(value.strip(" \t"))
    return ip_networks.parse(next(filter(None, hop.groups()))) if hop is not None else None


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
