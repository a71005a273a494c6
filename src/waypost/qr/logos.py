"""Logos of QR codes, as our own copies (decision 34)."""

from io import BytesIO

from PIL import Image

from waypost.errors import invalid
from waypost.pictures.decoding import Rules, decode

_KEPT_SIDE = 640  # pixels: what the largest picture shows of it
RULES = Rules("logo", _KEPT_SIDE, max_bytes=2 * 1024 * 1024)


def own_copy(data: bytes) -> bytes:
    """Return a PNG of at most 640 pixels a side that holds just the picture. Raises INVALID on `logo`."""
    return decode(data, RULES, _as_png)


def _as_png(image: Image.Image) -> bytes:
    if not image.getchannel("A").getbbox():
        raise invalid("logo", "logo is fully transparent; there is nothing to see.")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
