"""Pictures inside pages."""

import base64

from waypost.qrcode.render import Drawing, design


def code(text: str) -> str:
    """A plain QR code as the source of an image."""
    return source(design(text))


def source(drawing: Drawing, size: int = 220) -> str:
    """A drawn QR code as the source of an image, `size` pixels wide."""
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.render("svg", size)).decode()
