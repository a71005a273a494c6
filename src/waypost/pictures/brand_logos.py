"""Logos of brands, as our own copies: small PNG images that hold nothing but the picture."""

import base64
from io import BytesIO

from PIL import Image, ImageStat

from waypost.branding.brand import DATA_PREFIX
from waypost.errors import Problem, invalid
from waypost.pictures import sources
from waypost.pictures.decoding import Rules, decode

MAX_BYTES = 2 * 1024 * 1024
_KEPT_SIZE = (512, 192)  # pixels: sharp at the size that pages show, on every display
_DECODED_SIDE = 1024  # pixels, before transparent edges are cut off
_MAX_KEPT_BYTES = 24 * 1024  # every page for visitors contains the logo
_FEWER_COLORS = 128
_SHRINK = 0.8
_LIGHT = 200  # mean brightness, 0 to 255, of a logo that is made for dark pages
_DARK_PLATE = (26, 33, 30, 255)
_PLATE_MARGIN = 12  # pixels


def from_data_url(url: str, *, field: str) -> str:
    """Return our own copy of the picture in a `data:` URL, as one. Raises INVALID on the field."""
    rules = _rules(field)
    return own_copy(sources.from_data(url, rules), field=field)


def own_copy(data: bytes, *, field: str) -> str:
    """Return a picture as a `data:` URL of a PNG of at most 24 KiB. Raises INVALID on the field."""
    return decode(data, _rules(field), lambda image: _as_data_url(image, field))


def _rules(field: str) -> Rules:
    return Rules(field, _DECODED_SIDE, max_bytes=MAX_BYTES)


def _as_data_url(image: Image.Image, field: str) -> str:
    visible = image.getchannel("A").getbbox()
    if visible is None:
        raise _invisible(field)
    image = _on_plate(image.crop(visible))
    image.thumbnail(_KEPT_SIZE, Image.Resampling.LANCZOS)
    png = _png(image)
    while len(png) > _MAX_KEPT_BYTES:
        png = _png(image.quantize(_FEWER_COLORS, method=Image.Quantize.FASTOCTREE))
        smaller = (max(1, round(image.width * _SHRINK)), max(1, round(image.height * _SHRINK)))
        image = image.resize(smaller, Image.Resampling.LANCZOS)
    return DATA_PREFIX + base64.b64encode(png).decode()


def _on_plate(image: Image.Image) -> Image.Image:
    """Return a light transparent logo on a dark plate, because it would be invisible on light pages.

    Dark ones stay transparent: pages in dark mode show them on a light plate.
    """
    alpha = image.getchannel("A")
    if alpha.getextrema()[0] == 255 or ImageStat.Stat(image.convert("L"), mask=alpha).mean[0] < _LIGHT:
        return image
    plate = Image.new("RGBA", (image.width + 2 * _PLATE_MARGIN, image.height + 2 * _PLATE_MARGIN), _DARK_PLATE)
    plate.alpha_composite(image, (_PLATE_MARGIN, _PLATE_MARGIN))
    return plate


def _png(image: Image.Image) -> bytes:
    if image.mode == "RGBA" and image.getchannel("A").getextrema()[0] == 255:
        image = image.convert("RGB")
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _invisible(field: str) -> Problem:
    return invalid(field, f"{field} is fully transparent; there is nothing to see.")
