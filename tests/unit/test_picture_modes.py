"""Pictures of every mode keep their shades when they are unpacked."""

from io import BytesIO
from typing import get_args

import pytest
from PIL import Image

from waypost.media.pictures.unpacking import OperationName, Request, process

GRAY = 64


def _encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _gradient() -> Image.Image:
    image = Image.new("I;16", (256, 8))
    for x in range(256):
        for y in range(8):
            image.putpixel((x, y), x * 257)
    return image


_PALETTE = Image.new("RGB", (64, 64), (GRAY,) * 3).quantize(4)
PICTURES = {
    "I;16": _encoded(Image.new("I;16", (64, 64), GRAY * 256)),
    "I;16 large": _encoded(Image.new("I;16", (2000, 1500), GRAY * 256)),
    "L": _encoded(Image.new("L", (64, 64), GRAY)),
    "LA": _encoded(Image.new("LA", (64, 64), (GRAY, 255))),
    "P": _encoded(_PALETTE),
    "P with transparency": _encoded(_PALETTE, transparency=3),
    "CMYK": _encoded(Image.new("CMYK", (64, 64), (0, 0, 0, 255 - GRAY)), "JPEG"),
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("operation", get_args(OperationName))
def test_picture_of_any_mode_keeps_its_shade(operation: OperationName, name: str) -> None:
    request = Request(operation, ("PNG", "JPEG"), side=200)
    with Image.open(BytesIO(process(request, PICTURES[name]))) as result:
        assert result.convert("L").getpixel((result.width // 2, result.height // 2)) == pytest.approx(GRAY, abs=1)


def test_gray_of_16_bits_is_scaled() -> None:
    request = Request("logo", ("PNG",), side=256)
    with Image.open(BytesIO(process(request, _encoded(_gradient())))) as result:
        assert [result.convert("L").getpixel((x, 4)) for x in (0, 1, 100, 255)] == [0, 1, 100, 255]


def test_transparent_gray_of_16_bits_stays_transparent() -> None:
    image = Image.new("I;16", (64, 64), GRAY * 256)
    image.putpixel((5, 5), 0)
    with Image.open(BytesIO(process(Request("logo", ("PNG",), side=64), _encoded(image, transparency=0)))) as result:
        assert result.getchannel("A").getextrema() == (0, 255)
