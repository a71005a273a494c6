"""Logos of the account's QR codes, to use again in the designer."""

import base64
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.db.schema import qrs

_MAX_LOGOS = 8
_MAX_CODES = 60  # the newest ones are read
_LAST_BYTES = 16  # of a PNG; they contain the checksum of its pixels
_c = qrs.c


def find(tx: Connection, account: int) -> Sequence[tuple[int, str]]:
    """Return the ids and names of codes with different logos, the newest first (index qrs_account_id)."""
    size = func.length(_c.logo)
    checksum = func.substr(_c.logo, size - _LAST_BYTES + 1, _LAST_BYTES)
    columns = (_c.id, _c.name, _c.alias, size.label("size"), checksum.label("checksum"))
    query = select(*columns).where(_c.account == account).order_by(_c.id.desc()).limit(_MAX_CODES)
    logos: dict[tuple[int, bytes], Any] = {}
    for row in tx.execute(query):
        if row.size and len(logos) < _MAX_LOGOS:
            logos.setdefault((row.size, bytes(row.checksum)), row)
    return [(row.id, row.name or row.alias) for row in logos.values()]


def logo_data_url(logo: bytes) -> str:
    """Return a stored logo as the API takes it."""
    return f"data:image/png;base64,{base64.b64encode(logo).decode()}"
