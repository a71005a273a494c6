"""Addresses of coins, checked as wallets do, which refuse an address with a typing error. Pure.

Sources: Base58Check, BIP 173 and BIP 350 (Bech32), and CashAddr.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BASE58_BYTES = 25
_BECH32 = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_ENDS = frozenset({1, 0x2BC830A3})  # witness version 0, and later ones
_CASHADDR = (0x98F2BC8E61, 0x79B76D99E2, 0xF33E5FB3C4, 0xAE2EABE2A8, 0x1E4F43E470)


class _Forms(NamedTuple):
    """The first bytes in Base58Check, and the prefixes in Bech32 or CashAddr: first the main network, then tests."""

    versions: Sequence[int]
    prefixes: Sequence[str] = ()


_FORMS: Mapping[str, _Forms] = {
    "bitcoin": _Forms((0, 5, 111, 196), ("bc", "tb", "bcrt")),
    "bitcoincash": _Forms((0, 5, 111, 196), ("bitcoincash", "bchtest")),
    "litecoin": _Forms((48, 50, 5, 111, 58, 196), ("ltc", "tltc", "rltc")),
    "dogecoin": _Forms((30, 22, 113, 196)),
    "dash": _Forms((76, 16, 140, 19)),
}


def is_valid(currency: str, address: str) -> bool:
    """Return whether an address of letters and digits is one of the currency, with the right checksum."""
    forms = _FORMS[currency]
    if _base58_version(address) in forms.versions:
        return True
    if address not in (address.lower(), address.upper()):
        return False
    text = address.lower()
    if currency == "bitcoincash":
        return any(_is_cashaddr(prefix, text) for prefix in forms.prefixes)
    prefix, _, data = text.rpartition("1")
    return prefix in forms.prefixes and _is_bech32(prefix, data)


def _base58_version(address: str) -> int | None:
    """Return the first byte of an address in Base58Check; None if it is none."""
    number = 0
    for character in address:
        if character not in _BASE58:
            return None
        number = number * len(_BASE58) + _BASE58.index(character)
    if number.bit_length() > 8 * _BASE58_BYTES:
        return None
    content = number.to_bytes(_BASE58_BYTES, "big")
    zeros = len(content) - len(content.lstrip(b"\0"))
    checksum = hashlib.sha256(hashlib.sha256(content[:-4]).digest()).digest()[:4]
    is_address = content[-4:] == checksum and zeros == len(address) - len(address.lstrip("1"))
    return content[0] if is_address else None


def _is_bech32(prefix: str, data: str) -> bool:
    start = [*(ord(letter) >> 5 for letter in prefix), 0, *(ord(letter) & 31 for letter in prefix)]
    return _remainder([*start, *_values(data)], _BECH32, bits=25) in _BECH32_ENDS


def _is_cashaddr(prefix: str, data: str) -> bool:
    start = [*(ord(letter) & 31 for letter in prefix), 0]
    return _remainder([*start, *_values(data)], _CASHADDR, bits=35) == 1


def _values(data: str) -> Iterable[int]:
    """Return the value of each character; a value that no checksum fits for one that has none."""
    return map(_BASE32.find, data)


def _remainder(values: Iterable[int], generators: Sequence[int], *, bits: int) -> int:
    """Return the remainder of the code's polynomial; -1 if a value is missing."""
    remainder = 1
    for value in values:
        if value < 0:
            return -1
        top = remainder >> bits
        remainder = ((remainder & ((1 << bits) - 1)) << 5) ^ value
        for bit, generator in enumerate(generators):
            remainder ^= generator if top >> bit & 1 else 0
    return remainder
