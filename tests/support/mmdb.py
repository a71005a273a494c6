"""Writes small .mmdb files, for tests that read them (MaxMind DB file format 2.0)."""

import ipaddress
from collections.abc import Mapping
from typing import Any

_MAP, _TEXT, _UINT16, _UINT32, _UINT64, _ARRAY = 7, 2, 5, 6, 9, 11
_DATA_GAP = bytes(16)
_MARKER = b"\xab\xcd\xefMaxMind.com"


def mmdb(
    records: Mapping[str, Any], *, built: int = 1_750_000_000, ip_version: int = 6, kind: str = "Test-Country"
) -> bytes:
    """A file with a record for every network, such as `{"192.0.2.0/24": {"country": {"iso_code": "DE"}}}`."""
    nodes: list[list[int | str | None]] = [[None, None]]
    for network in records:
        bits = _bits(network, ip_version)
        at = 0
        for bit in bits[:-1]:
            child = nodes[at][bit]
            if child is None:
                nodes.append([None, None])
                child = nodes[at][bit] = len(nodes) - 1
            assert isinstance(child, int), f"{network} lies in another network"
            at = child
        nodes[at][bits[-1]] = network
    data, places = b"", {}
    for network, record in records.items():
        places[network] = len(data)
        data += _encoded(record)
    tree = b"".join(_record(child, len(nodes), places) for node in nodes for child in node)
    about = {
        "node_count": _number(_UINT32, len(nodes)),
        "record_size": _number(_UINT16, 24),
        "ip_version": _number(_UINT16, ip_version),
        "build_epoch": _number(_UINT64, built),
        "binary_format_major_version": _number(_UINT16, 2),
        "binary_format_minor_version": _number(_UINT16, 0),
        "database_type": kind,
        "languages": ["en"],
        "description": {"en": "made by a test"},
    }
    return tree + _DATA_GAP + data + _MARKER + _encoded(about)


def _bits(network: str, ip_version: int) -> list[int]:
    parsed = ipaddress.ip_network(network)
    address, length = int(parsed.network_address), parsed.prefixlen
    if parsed.version == 4 and ip_version == 6:  # IPv4 is stored below ::/96
        length += 96
    size = 128 if ip_version == 6 else 32
    return [address >> (size - 1 - place) & 1 for place in range(length)]


def _record(child: int | str | None, count: int, places: Mapping[str, int]) -> bytes:
    if isinstance(child, str):
        return (count + len(_DATA_GAP) + places[child]).to_bytes(3, "big")
    return (count if child is None else child).to_bytes(3, "big")


def _encoded(value: Any) -> bytes:
    match value:
        case str():
            return _head(_TEXT, len(value.encode())) + value.encode()
        case bytes():  # encoded already
            return value
        case int():
            return _number(_UINT32, value)
        case list():
            return _head(_ARRAY, len(value)) + b"".join(map(_encoded, value))
        case dict():
            return _head(_MAP, len(value)) + b"".join(_encoded(key) + _encoded(item) for key, item in value.items())
    raise TypeError(value)


def _number(kind: int, value: int) -> bytes:
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return _head(kind, len(body)) + body


def _head(kind: int, size: int) -> bytes:
    """The control byte: the type, or 0 and the type less 7 behind it, and a size below 285."""
    first, extra = (size, b"") if size < 29 else (29, bytes([size - 29]))
    return bytes([kind << 5 | first]) + extra if kind <= 7 else bytes([first, kind - 7]) + extra
