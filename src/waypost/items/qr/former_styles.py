"""Styles and logos of the account's QR codes, to use again in the designer."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.db.schema import qrs
from waypost.media.qrcode.styles import PLAIN, Gradient

FIELDS = ("foreground", "background", "modules", "eyes", "level", "caption", "margin")
_MAX_STYLES, _MAX_LOGOS = 6, 8
_MAX_CODES = 60  # the newest ones are read
_LAST_BYTES = 16  # of a PNG; they contain the checksum of its pixels
_c = qrs.c


@dataclass(frozen=True)
class FormerStyle:
    """The style of a code. `fields` are the values of the designer by field, `image` is the path of its image."""

    name: str
    image: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Former:
    """Different styles, and the ids and names of codes with different logos; the newest first."""

    styles: Sequence[FormerStyle]
    logos: Sequence[tuple[int, str]]


def find(tx: Connection, account: int) -> Former:
    """Return the styles and logos of the newest codes (index qrs_account_id)."""
    size = func.length(_c.logo)
    checksum = func.substr(_c.logo, size - _LAST_BYTES + 1, _LAST_BYTES)
    columns = [_c[name] for name in (*FIELDS, "id", "name", "alias", "version", "gradient")]
    query = select(*columns, size.label("size"), checksum.label("checksum")).where(_c.account == account)
    rows = tx.execute(query.order_by(_c.id.desc()).limit(_MAX_CODES)).all()
    logos: dict[tuple[int, bytes], Any] = {}
    styles: dict[tuple[tuple[str, str], ...], FormerStyle] = {}
    for row in rows:
        logo = _logo(row, logos)
        fields = _fields(row, logo)
        image = f"/qr/{row.alias}.png?size=150&v={row.version}"
        styles.setdefault(tuple(fields.items()), FormerStyle(row.name or row.alias, image, fields))
    styles.pop(tuple(_PLAIN.items()), None)
    return Former(
        list(styles.values())[:_MAX_STYLES],
        [(row.id, row.name or row.alias) for row in logos.values()],
    )


def _logo(row: Any, logos: dict[tuple[int, bytes], Any]) -> Any:
    """Return the newest code with the same logo, which `logos` gets; None without a logo, or if there are too many."""
    if not row.size:
        return None
    key = (row.size, bytes(row.checksum))
    return logos.setdefault(key, row) if len(logos) < _MAX_LOGOS else logos.get(key)


def logo_data_url(logo: bytes) -> str:
    """Return a stored logo as the API takes it."""
    return f"data:image/png;base64,{base64.b64encode(logo).decode()}"


def _fields(row: Any, logo: Any) -> dict[str, str]:
    gradient = {**vars(Gradient("#0d6b4f")), **(row.gradient or {})}
    return {
        **{name: str(getattr(row, name)) for name in FIELDS},
        "blend": "on" if row.gradient else "",
        **{f"gradient.{name}": str(value) for name, value in gradient.items()},
        "former": str(logo.id) if logo else "",
    }


_PLAIN = _fields(PLAIN, None)
