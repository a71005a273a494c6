"""The bytes of a picture from wherever the client has it: a public URL, a `data:` URL, or a file of the account.

Logos of brands are stored as our own copies: small PNG images that hold nothing but the picture.
"""

import base64
import binascii
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from sqlalchemy import Connection, select

from waypost.core.errors import invalid
from waypost.core.settings import Settings
from waypost.db.schema import files
from waypost.http import safe_client
from waypost.media.branding.brand import DATA_PREFIX
from waypost.media.pictures.decoding import Rules, decode
from waypost.storage.store import ObjectNotFound, Store
from waypost.urls import alias_namespace, hostnames, validation

_SECONDS = 8
_DATA = re.compile(r"data:([a-z0-9.+/-]*)((?:;[a-z0-9=-]+)*),", re.IGNORECASE)

T = TypeVar("T")
MAX_LOGO_BYTES = 2 * 1024 * 1024
_DECODED_SIDE = 1024  # pixels, before transparent edges are cut off


class PictureOwner(Protocol):
    """The account whose files can be pictures, and its way to the data; a request's context is one."""

    @property
    def account(self) -> int: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def store(self) -> Store: ...
    def read(self, work: Callable[[Connection], T]) -> T: ...
    def fetch(self, field: str, *, seconds: float) -> AbstractContextManager[float]: ...


def load(owner: PictureOwner, source: str, rules: Rules) -> bytes:
    """Return the bytes of a picture. Raises INVALID on the field.

    `source` is an http(s) URL, a `data:` URL, or the short URL or alias of a file of the account.
    """
    if is_data(source):
        return from_data(source, rules)
    stored = _load_own_file(owner, source, rules)
    if stored is not None:
        return stored
    field = rules.field
    if source.strip().lower().startswith(("http://", "https://")):
        url = validation.web_url(source, field=field)
        with owner.fetch(field, seconds=_SECONDS) as seconds:
            return _fetch(url, rules, seconds)
    message = f"{field} must be an http(s) URL, a data: URL, or the short URL or alias of a file of yours."
    raise invalid(field, message)


def is_data(source: str) -> bool:
    """Return whether the URL contains the picture itself (`data:`)."""
    return source.strip().lower().startswith("data:")


def _fetch(url: str, rules: Rules, seconds: float) -> bytes:
    """Return the bytes behind a public URL. Raises INVALID on the field."""
    field = rules.field
    try:
        answer = safe_client.fetch(url, max_bytes=rules.max_bytes, seconds=seconds)
    except safe_client.Refused as error:
        raise invalid(field, f"{field} cannot be fetched: {error}.") from error
    if answer.status != 200:
        raise invalid(field, f"{field} cannot be fetched: its server answers {answer.status}.")
    return answer.body


def from_data(url: str, rules: Rules) -> bytes:
    """Return the bytes in a `data:` URL. Raises INVALID on the field."""
    url, field = url.strip(), rules.field
    match = _DATA.match(url)
    if match is None:
        raise invalid(field, f"{field} must be a whole data: URL, such as data:image/png;base64,….")
    kind = match[1].lower().replace("image/jpg", "image/jpeg")
    if kind and kind.removeprefix("image/").upper() not in rules.formats:
        raise rules.wrong_kind(match[1])
    body = url[match.end() :]
    if ";base64" not in match[2].lower():
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid(field, f"{field} is not valid Base64.") from error


def brand_logo_of_url(url: str, *, field: str) -> str:
    """Return our own copy of the picture in a `data:` URL, as one. Raises INVALID on the field."""
    rules = _logo_rules(field)
    return brand_logo(from_data(url, rules), field=field)


def brand_logo(data: bytes, *, field: str) -> str:
    """Return a picture as a `data:` URL of a PNG of at most 24 KiB. Raises INVALID on the field."""
    return DATA_PREFIX + base64.b64encode(decode(data, _logo_rules(field), "brand")).decode()


def _load_own_file(owner: PictureOwner, source: str, rules: Rules) -> bytes | None:
    """Return the bytes of the account's file with that alias or short URL; None if they do not exist."""
    stored = owner.read(lambda tx: _find_file(tx, owner.account, source, owner.settings))
    if stored is None:
        return None
    name, size = stored
    rules.must_fit(size)
    try:
        return b"".join(owner.store.load(name)[1])
    except ObjectNotFound:
        return None


def _find_file(tx: Connection, account: int, short: str, settings: Settings) -> tuple[str, int] | None:
    """Return (object, size) of the account's file, while its bytes are kept."""
    host, alias = hostnames.split_short(tx, short, settings=settings)
    file = alias_namespace.owned_item(tx, account, "file", host=host, alias=alias)
    kept = select(files.c.object, files.c.size).where(files.c.id == file, files.c.purged.is_(None))
    row = tx.execute(kept.where(files.c.account == account)).first()
    return (row.object, row.size) if row else None


def _logo_rules(field: str) -> Rules:
    return Rules(field, _DECODED_SIDE, max_bytes=MAX_LOGO_BYTES)
