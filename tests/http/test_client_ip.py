"""The client's IP address, and the network that rate limits count as one client (decisions 10 and 53)."""

import ipaddress

import pytest

from tests.support.unreadable_addresses import UNREADABLE
from waypost.auth.attempt_limits import POLICIES, attempts_of
from waypost.http.client_ip import UNKNOWN, network_of, resolve_client_ip

TRUSTED = tuple(ipaddress.ip_network(network) for network in ("127.0.0.1/32", "10.0.0.0/8", "fd00::/8"))
VISITOR = "198.51.100.7"


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        # no proxy
        (VISITOR, [], VISITOR),
        ("", [], UNKNOWN),
        ("testclient", ["203.0.113.9"], "testclient"),
        # an untrusted peer sends the header: ignored
        (VISITOR, ["203.0.113.9"], VISITOR),
        ("2001:db8::1", ["203.0.113.9"], "2001:db8::1"),
        ("11.0.0.1", ["203.0.113.9"], "11.0.0.1"),
        # one trusted proxy
        ("127.0.0.1", [VISITOR], VISITOR),
        ("fd00::2", [VISITOR], VISITOR),
        ("::ffff:127.0.0.1", [VISITOR], VISITOR),
        ("127.0.0.1", [" 198.51.100.7 "], VISITOR),
        ("127.0.0.1", ["198.51.100.7:4711"], VISITOR),
        ("127.0.0.1", ["::ffff:198.51.100.7"], VISITOR),
        ("127.0.0.1", ["2001:DB8:0::1"], "2001:db8::1"),
        ("127.0.0.1", ["[2001:db8::1]"], "2001:db8::1"),
        ("127.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("127.0.0.1", ["fe80::1%eth0"], "fe80::1"),
        # a header of the client is left of the address that the proxy added
        ("127.0.0.1", ["203.0.113.9, 198.51.100.7"], VISITOR),
        ("127.0.0.1", ["10.9.9.9, 198.51.100.7"], VISITOR),
        ("127.0.0.1", ["127.0.0.1,198.51.100.7"], VISITOR),
        ("127.0.0.1", ["203.0.113.9", "198.51.100.7"], VISITOR),
        # several trusted proxies, in one header or two
        ("127.0.0.1", ["198.51.100.7, 10.0.0.5, 10.0.0.6"], VISITOR),
        ("127.0.0.1", ["198.51.100.7, 10.0.0.5", "10.0.0.6"], VISITOR),
        ("127.0.0.1", ["203.0.113.9, 198.51.100.7, fd00::5"], VISITOR),
        ("127.0.0.1", ["198.51.100.7:65535"], VISITOR),
        ("127.0.0.1", ["\t198.51.100.7\t"], VISITOR),
        ("127.0.0.1", ["unknown, 198.51.100.7"], VISITOR),
        ("127.0.0.1", ["unknown", "198.51.100.7"], VISITOR),
        ("127.0.0.1", ["[fe80::1%eth0]:80"], "fe80::1"),
        ("127.0.0.1", ["::ffff:7f00:1"], "127.0.0.1"),
        # only trusted addresses: the farthest one
        ("127.0.0.1", ["10.0.0.5"], "10.0.0.5"),
        ("127.0.0.1", ["10.0.0.5, 10.0.0.6"], "10.0.0.5"),
    ],
)
def test_client_ip_is_right_most_untrusted_hop(peer: str, forwarded: list[str], client: str) -> None:
    assert resolve_client_ip(peer, [value.encode() for value in forwarded], TRUSTED) == client


@pytest.mark.parametrize("forwarded", [[], *UNREADABLE], ids=repr)
def test_client_that_a_trusted_proxy_does_not_tell_is_unknown(forwarded: list[str]) -> None:
    for peer in ("127.0.0.1", "10.1.2.3", "fd00::2", "::ffff:127.0.0.1"):
        assert resolve_client_ip(peer, [value.encode() for value in forwarded], TRUSTED) == UNKNOWN


def test_unreadable_header_of_an_untrusted_peer_is_ignored() -> None:
    for forwarded in UNREADABLE:
        assert resolve_client_ip(VISITOR, [value.encode() for value in forwarded], TRUSTED) == VISITOR


def test_header_without_trusted_proxies_is_ignored() -> None:
    assert resolve_client_ip("127.0.0.1", [VISITOR.encode()], ()) == "127.0.0.1"


def test_very_long_header_is_read_only_in_part() -> None:
    hops = ", ".join([VISITOR, *["10.0.0.5"] * 100_000])
    assert resolve_client_ip("127.0.0.1", [hops.encode()], TRUSTED) == UNKNOWN


@pytest.mark.parametrize(
    ("address", "counted_as"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        (UNKNOWN, UNKNOWN),
        ("testclient", "testclient"),
    ],
)
def test_ipv6_addresses_of_a_64_network_count_as_one(address: str, counted_as: str) -> None:
    assert network_of(address) == counted_as


def test_unknown_clients_have_fewer_attempts_than_all_networks_together() -> None:
    for name, limits in POLICIES.items():
        totals = {limit.key: limit.attempts for limit in limits if limit.shared}
        for limit in limits:
            total = totals.get(limit.key.partition(" from ")[0])
            is_checked = total is not None and not limit.shared and "{site}" not in limit.key
            assert not is_checked or attempts_of(UNKNOWN, limit.attempts) < (total or 0), name
