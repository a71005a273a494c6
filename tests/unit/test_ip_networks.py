"""Kinds of IP addresses, by the registries of special-purpose addresses of the IANA."""

import ast
from ipaddress import ip_network

import pytest

from tests.support.source import SOURCE, modules
from waypost.core import ip_networks, setting_urls

_SPECIAL_NETWORKS = (
    # IPv4
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/31"),
    *("192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32"),
    # IPv6
    *("::1/128", "::/128", "::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32"),
    *("2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48"),
    *("2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16"),
    *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "4000::/3", "8000::/1"),
    # IPv4 addresses within IPv6 addresses: mapped, NAT64, 6to4
    *("::ffff:10.0.0.0/104", "::ffff:127.0.0.0/104", "::ffff:192.0.0.0/120", "::ffff:224.0.0.0/100"),
    *("::ffff:0:0:0/96", "64:ff9b::10.0.0.0/104", "64:ff9b::169.254.0.0/112", "64:ff9b::192.0.0.0/120"),
    *("2002:7f00::/24", "2002:a00::/24", "2002:c0a8::/32", "2002:c000::/40", "2002:a9fe::/32"),
)
_PUBLIC_NEIGHBORS = (
    *("9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255"),
    *("192.0.1.0", "192.0.3.0", "192.88.98.255", "198.17.255.255", "198.20.0.0", "223.255.255.255", "1.1.1.1"),
    *("2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2620:4f:8001::", "2a00:1450:4001::1"),
    *("3ffe:ffff::", "3fff:1000::", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
)


@pytest.mark.parametrize("text", _SPECIAL_NETWORKS)
def test_special_network_is_not_public(text: str) -> None:
    network = ip_network(text)
    middle = network[network.num_addresses // 2]
    assert [ip_networks.is_public(address) for address in (network[0], middle, network[-1])] == [False] * 3


def test_neighbors_of_special_networks_are_public() -> None:
    parsed = {text: ip_networks.parse(text) for text in _PUBLIC_NEIGHBORS}
    assert [text for text, address in parsed.items() if address is None or not ip_networks.is_public(address)] == []


def test_private_addresses_are_those_of_home_company_and_machine() -> None:
    for text, expected in {
        **dict.fromkeys(("10.0.0.1", "192.168.1.1", "172.31.0.1", "169.254.1.1", "127.0.0.1", "::1"), True),
        **dict.fromkeys(("fd00::1", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:127.0.0.1"), True),
        **dict.fromkeys(("8.8.8.8", "100.64.0.1", "192.0.0.8", "198.18.0.1", "240.0.0.1", "2001:db8::1"), False),
    }.items():
        address = ip_networks.parse(text)
        assert address is not None
        assert ip_networks.is_private(address) is expected, text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost", "go.localhost"])
def test_hosts_of_every_machine_are_local(host: str) -> None:
    assert setting_urls.is_local(host)


def test_no_other_module_classifies_addresses() -> None:
    """The properties of `ipaddress` differ between versions of Python."""
    kinds = {"is_global", "is_private", "is_loopback", "is_link_local", "is_multicast"}
    uses = {
        path.relative_to(SOURCE).as_posix()
        for path, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and node.attr in kinds
        if not (isinstance(node.value, ast.Name) and node.value.id in ("ip_networks", "client"))
    }
    assert uses == {"core/ip_networks.py"}
