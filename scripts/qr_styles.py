"""Draws docs/qr-styles.png, the styles of QR codes side by side: `python scripts/qr_styles.py`."""

from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from waypost.media.qrcode import render
from waypost.media.qrcode.layout import FONT
from waypost.media.qrcode.render import design
from waypost.media.qrcode.styles import Gradient, Style

_TEXT = "https://go.example.com/spring"
_COLUMNS, _SIDE, _GAP, _LINE = 4, 216, 28, 30
_TARGET = Path(__file__).resolve().parent.parent / "docs" / "qr-styles.png"
# The caption of each example, its style, and the color of its logo.
_SHOWN: tuple[tuple[str, Style, str], ...] = (
    ("square", Style(margin=2), ""),
    ("rounded", Style("#0b3d91", "#f4f8ff", modules="rounded", eyes="rounded", margin=2), ""),
    ("dots, eyes: dot", Style("#7a1f3d", "#fff7f2", modules="dots", eyes="dot", margin=2), ""),
    ("bars, eyes: circle", Style("#14532d", "#f2fbf4", modules="bars", eyes="circle", margin=2), ""),
    ("lines, eyes: soft", Style("#1e3a8a", "#ffffff", modules="lines", eyes="soft", margin=2), ""),
    ("tiles, eyes: leaf", Style("#7c2d12", "#fffaf5", modules="tiles", eyes="leaf", margin=2), ""),
    ("linear gradient", Style("#4c1d95", "#ffffff", Gradient("#be185d"), "rounded", "rounded", margin=2), ""),
    ("radial gradient", Style("#c2410c", "#ffffff", Gradient("#1e3a8a", "radial"), "dots", "circle", margin=2), ""),
    ("logo, gradient", Style("#065f46", "#ffffff", Gradient("#1d4ed8", angle=90), "bars", margin=2), "#1d4ed8"),
    ("caption", Style("#111827", "#ffffff", margin=2, caption="SCAN ME"), ""),
    ("caption, rounded", Style("#0e7490", "#f0fdff", None, "rounded", "rounded", margin=2, caption="Zum Menü"), ""),
    ("all of it", Style("#3730a3", "#fafaff", Gradient("#a21caf"), "rounded", "dot", "Q", 2, "Join us"), "#a21caf"),
)  # fmt: skip


def main() -> None:
    """Draw each style, make sure that it reads, and lay them out."""
    pictures = [(words, _picture(style, logo)) for words, style, logo in _SHOWN]
    lines = [pictures[first : first + _COLUMNS] for first in range(0, len(pictures), _COLUMNS)]
    heights = [max(picture.height for _, picture in line) + _LINE + _GAP for line in lines]
    sheet = Image.new("RGB", (_COLUMNS * (_SIDE + _GAP) + _GAP, sum(heights) + _GAP), "#e7eaee")
    pen, font, top = ImageDraw.Draw(sheet), ImageFont.truetype(FONT, 15), _GAP
    for line, height in zip(lines, heights, strict=True):
        for column, (words, picture) in enumerate(line):
            left = _GAP + column * (_SIDE + _GAP)
            sheet.paste(picture, (left, top))
            pen.text((left + _SIDE / 2, top + height - _GAP - 6), words, "#384252", font, anchor="ms")
        top += height
    palette = sheet.quantize(256, method=Image.Quantize.MEDIANCUT, kmeans=3, dither=Image.Dither.NONE)
    palette.save(_TARGET, optimize=True)
    print(f"{_TARGET.name}: {sheet.width} x {sheet.height}, {_TARGET.stat().st_size} bytes")


def _picture(style: Style, logo: str) -> Image.Image:
    """A code that reads, drawn so large that each module is whole pixels, and made small."""
    drawing = design(_TEXT, style, _logo(logo) if logo else None)
    render.must_scan(drawing, _TEXT)
    picture = drawing.picture(drawing.layout.width * 24).convert("RGB")
    return picture.resize((_SIDE, round(_SIDE * picture.height / picture.width)), Image.Resampling.LANCZOS)


def _logo(color: str) -> bytes:
    """A disc with a path that leads on."""
    image = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)
    pen.ellipse((0, 0, 399, 399), color)
    pen.line(((120, 280), (200, 120), (280, 280)), "white", 44, joint="curve")
    for x, y in ((120, 280), (200, 120), (280, 280)):
        pen.ellipse((x - 22, y - 22, x + 22, y + 22), "white")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


if __name__ == "__main__":
    main()
