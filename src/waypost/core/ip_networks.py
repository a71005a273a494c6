"""Kinds of IP addresses by the special-purpose registries of the IANA, the same under every version of Python.

The properties of `ipaddress`, such as `is_global`, follow the registries of the time of a release. Releases also differ
in what they say about IPv4 addresses within IPv6 addresses.
"""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[_Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


_LOOPBACK = _networks("127.0.0.0/8", "::1/128")
_PRIVATE = _networks(
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    *("169.254.0.0/16", "fe80::/10"),  # of one link
    *("fc00::/7", "fec0::/10"),  # unique local and, formerly, site-local
)
_RESERVED = _networks(
    "0.0.0.0/8",  # this network
    "100.64.0.0/10",  # shared by customers of a provider
    "192.0.0.0/24",  # protocol assignments
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # multicast tunnels
    "192.88.99.0/24",  # relays of 6to4, formerly
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and the broadcast address
    "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID and others
    "2001:db8::/32",  # documentation
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
)
_UNICAST = ipaddress.IPv6Network("2000::/3")  # the global addresses of IPv6; all others are local or reserved
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_6TO4 = ipaddress.IPv6Network("2002::/16")


def parse(text: str) -> Address | None:
    """Return an address without its zone, None for other text. An IPv4-mapped address becomes an IPv4 address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def is_public(address: Address) -> bool:
    """Return whether a server in the internet can have an address.

    Packets to an address of NAT64 or 6to4 go to the IPv4 address within it, so it is as public as that one.
    """
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or _translated(address)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST:
            return False
    return address.is_global and not _is_in(address, (*_LOOPBACK, *_PRIVATE, *_RESERVED))


def is_private(address: Address) -> bool:
    """Return whether an address is one of this machine, or of a network that does not belong to the internet."""
    return _is_in(address, (*_LOOPBACK, *_PRIVATE))


def is_loopback(address: Address) -> bool:
    """Return whether every machine takes an address for itself."""
    return _is_in(address, _LOOPBACK)


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which translators forward packets."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return ipaddress.IPv4Address(int(address) >> 80 & 0xFFFFFFFF) if address in _6TO4 else None


def _is_in(address: Address, networks: tuple[_Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
