"""Render a QR code as PNG, SVG or PDF."""

from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from threading import BoundedSemaphore
from typing import Literal

from PIL import Image

from waypost.media.qrcode import pdf, png, svg
from waypost.media.qrcode.encode import Symbol, encode
from waypost.media.qrcode.layout import Layout, arrange
from waypost.media.qrcode.styles import PLAIN, Style

Format = Literal["png", "svg", "pdf"]
MEDIA: dict[Format, str] = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
_LARGE_SIZE = 1024
_LARGE = BoundedSemaphore(2)  # a drawing of 4096 pixels needs 150 MB


@dataclass(frozen=True)
class Drawing:
    """A QR code that can be rendered in any format and size. `logo` is a PNG from waypost.items.qr.service."""

    symbol: Symbol
    style: Style
    layout: Layout
    logo: bytes | None

    def render(self, form: Format, size: int) -> bytes:
        """Return the file. `size` is the width in pixels, for PDF in points."""
        draw = {"png": png.draw, "svg": svg.draw, "pdf": pdf.draw}[form]
        with _LARGE if size > _LARGE_SIZE else nullcontext():
            return draw(self.symbol, self.style, self.layout, self.logo, size)

    def picture(self, size: int) -> Image.Image:
        """Return the uncompressed PNG image."""
        return png.picture(self.symbol, self.style, self.layout, self.logo, size)

    def is_enlargement(self, size: int) -> bool:
        """Return whether the picture of this size only has larger squares than a smaller one, with the same colors."""
        return png.is_enlargement(self.style, self.layout, self.logo, size)


def design(text: str, style: Style = PLAIN, logo: bytes | None = None) -> Drawing:
    """Return the QR code of a text. Raises INVALID on `data` if the text is too long."""
    aspect = None
    if logo is not None:
        with Image.open(BytesIO(logo), formats=("PNG",)) as opened:
            aspect = opened.width / opened.height
    symbol = encode(text, style.level, aspect=aspect)
    return Drawing(symbol, style, arrange(symbol, style, aspect), logo)
