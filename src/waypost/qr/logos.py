"""Logos of QR codes, as our own copies (decision 34)."""

from waypost.pictures.decoding import Rules, decode

_KEPT_SIDE = 640  # pixels: what the largest picture shows of it
RULES = Rules("logo", _KEPT_SIDE, max_bytes=2 * 1024 * 1024)


def own_copy(data: bytes) -> bytes:
    """Return a PNG of at most 640 pixels a side that holds just the picture. Raises INVALID on `logo`."""
    return decode(data, RULES, "logo")
