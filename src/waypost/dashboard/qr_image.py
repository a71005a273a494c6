"""QR codes as the `src` of an image, inlined into a page."""

import base64

from waypost.media.qrcode.render import Drawing, design


def qr_data_url(text: str) -> str:
    """Return a plain QR code as a data URL."""
    return drawing_data_url(design(text))


def drawing_data_url(drawing: Drawing, size: int = 220) -> str:
    """Return a rendered QR code as a data URL of an SVG, `size` pixels wide."""
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.render("svg", size)).decode()
