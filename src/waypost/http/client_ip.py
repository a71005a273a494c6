"""Whose address is it: the one place that decides which client a request comes from (decision 53)."""

import ipaddress
from collections.abc import Iterable, Sequence

from waypost.settings import Network

_MAX_HOPS = 50


def client_address(peer: str, forwarded: Iterable[bytes], trusted: Sequence[Network]) -> str:
    """The client's address: the right-most hop that is not a trusted proxy.

    `peer` is the other end of the connection, `forwarded` the values of every `X-Forwarded-For` header in order.
    They count for nothing unless the peer itself is trusted.
    """
    address = _parsed(peer)
    if address is None or not _among(address, trusted):
        return str(address or peer)
    hops = b",".join(forwarded).decode("latin-1").split(",")
    for hop in reversed(hops[-_MAX_HOPS:]):
        earlier = _parsed(hop)
        if earlier is None:
            break
        address = earlier
        if not _among(address, trusted):
            break
    return str(address)


def trusts(peer: str, trusted: Sequence[Network]) -> bool:
    """Whether the other end of a connection is a proxy whose headers are believed."""
    address = _parsed(peer)
    return address is not None and _among(address, trusted)


def network_of(address: str) -> str:
    """What a limit by address counts as one client: an IPv4 address, or the /64 of an IPv6 address (decision 10)."""
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed or address)


def _parsed(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    text = value.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _among(address: ipaddress.IPv4Address | ipaddress.IPv6Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
