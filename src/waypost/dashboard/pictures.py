"""Pictures inside pages."""

import base64

from waypost.qr.draw import design


def code(text: str) -> str:
    """A QR code as the source of an image."""
    return "data:image/svg+xml;base64," + base64.b64encode(design(text).render("svg", 220)).decode()
