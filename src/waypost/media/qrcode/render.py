"""Render a QR code as PNG, SVG or PDF, and verify that it can be scanned.

The rendered image is decoded for that (decision 33).
"""

import base64
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from threading import BoundedSemaphore
from typing import Literal

import zxingcpp
from PIL import Image

from waypost.core.errors import invalid
from waypost.media.qrcode import pdf, png, svg
from waypost.media.qrcode.encode import Symbol, encode
from waypost.media.qrcode.layout import Layout, arrange
from waypost.media.qrcode.styles import PLAIN, Style, must_be_readable

Format = Literal["png", "svg", "pdf"]
MEDIA: dict[Format, str] = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
_LARGE_SIZE = 1024
_LARGE = BoundedSemaphore(2)  # a drawing of 4096 pixels needs 150 MB
SCREEN = 300
"""Width in pixels of a QR code on a screen."""
LEAST_PIXELS = 3
"""Camera pixels per module of the smallest supported print, which has modules of 0.4 mm."""


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


def decode_image(image: Image.Image) -> str | None:
    """Return the text of a QR code image, or None. Does not try other rotations, inversion or sizes."""
    barcode = zxingcpp.read_barcode(
        image.convert("L"),
        formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode),
        try_rotate=False,
        try_downscale=False,
        try_invert=False,
        text_mode=zxingcpp.TextMode.Plain,
    )
    return barcode.text if barcode is not None else None


def must_scan(drawing: Drawing, text: str) -> None:
    """Raise INVALID with the fix unless the image decodes to `text` on a screen and in small print.

    The image on a screen is not decoded if it only has larger squares.
    """
    must_be_readable(drawing.style)
    smallest = LEAST_PIXELS * drawing.layout.width
    on_screen = max(SCREEN, smallest)
    for size in {smallest} if drawing.is_enlargement(on_screen) else {on_screen, smallest}:
        if decode_image(drawing.picture(size)) != text:
            raise _unreadable(drawing)


def _unreadable(drawing: Drawing) -> Exception:
    style = drawing.style
    if drawing.logo is not None and style.level not in ("auto", "H"):
        return invalid("level", f"This code cannot be scanned: level {style.level} is too low for the logo; use auto.")
    if drawing.logo is not None:
        return invalid("logo", "This code cannot be scanned with that logo on it; use a smaller text, or no logo.")
    if style.modules != "square":
        return invalid("modules", f"This code cannot be scanned with {style.modules}; use square modules.")
    return invalid("foreground", "This code cannot be scanned; use colors that differ more, such as black on white.")


def qr_data_url(text: str) -> str:
    """Return a plain QR code as a data URL."""
    return drawing_data_url(design(text))


def drawing_data_url(drawing: Drawing, size: int = 220) -> str:
    """Return a rendered QR code as a data URL of an SVG, `size` pixels wide."""
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.render("svg", size)).decode()
