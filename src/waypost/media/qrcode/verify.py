"""Verify that a QR code can be scanned, by decoding the rendered image (decision 33)."""

import zxingcpp
from PIL import Image

from waypost.core.errors import invalid
from waypost.media.qrcode.render import Drawing
from waypost.media.qrcode.styles import must_be_readable

SCREEN = 300
"""Width in pixels of a QR code on a screen."""
LEAST_PIXELS = 3
"""Camera pixels per module of the smallest supported print, which has modules of 0.4 mm."""


def decode(image: Image.Image) -> str | None:
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
        if decode(drawing.picture(size)) != text:
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
