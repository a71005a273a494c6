"""Logos of brands, as our own copies: small PNG images that hold nothing but the picture."""

import base64

from waypost.media.branding.brand import DATA_PREFIX
from waypost.media.pictures import picture_fetch
from waypost.media.pictures.decoding import Rules, decode

MAX_BYTES = 2 * 1024 * 1024
_DECODED_SIDE = 1024  # pixels, before transparent edges are cut off


def from_data_url(url: str, *, field: str) -> str:
    """Return our own copy of the picture in a `data:` URL, as one. Raises INVALID on the field."""
    rules = _rules(field)
    return own_copy(picture_fetch.from_data(url, rules), field=field)


def own_copy(data: bytes, *, field: str) -> str:
    """Return a picture as a `data:` URL of a PNG of at most 24 KiB. Raises INVALID on the field."""
    return DATA_PREFIX + base64.b64encode(decode(data, _rules(field), "brand")).decode()


def _rules(field: str) -> Rules:
    return Rules(field, _DECODED_SIDE, max_bytes=MAX_BYTES)
