"""Three QR decoders that share no code, and images for logos."""

import base64
from functools import cache
from importlib import import_module
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pypdfium2
import resvg_py
from PIL import Image, ImageDraw

from tests.conftest import BASE, Person
from tests.support.system_packages import library
from waypost.media.qrcode import render


def opened(data: bytes) -> Image.Image:
    """Return a PNG, SVG or PDF as a grayscale image. resvg and PDFium render SVG and PDF."""
    if data.startswith(b"<svg"):
        data = bytes(resvg_py.svg_to_bytes(svg_string=data.decode()))
    if data.startswith(b"%PDF"):
        page: Image.Image = pypdfium2.PdfDocument(data)[0].render(scale=1).to_pil()
        return page.convert("L")
    return Image.open(BytesIO(data)).convert("L")


def zxing(data: bytes) -> str | None:
    """Decode with zxing-cpp."""
    return render.decode_image(opened(data))


def opencv(data: bytes) -> str | None:
    """Decode with OpenCV."""
    try:
        decoded: Any = cv2.QRCodeDetector().detectAndDecodeBytes(np.asarray(opened(data)))[0]
    except (cv2.error, ValueError):
        return None
    return bytes(decoded).decode() if decoded else None


def by_zbar(data: bytes) -> list[str]:
    """Decode with zbar."""
    symbols = _zbar().decode(opened(data), symbols=[_zbar().ZBarSymbol.QRCODE])
    return [symbol.data.decode() for symbol in symbols]


@cache
def _zbar() -> Any:
    library("zbar", "libzbar0")
    return import_module("pyzbar.pyzbar")  # it looks for the library at once


def png(side: int = 200, *, kind: str = "PNG", height: int | None = None) -> bytes:
    """Return a logo: a red disc with a white bar on a transparent background."""
    image = Image.new("RGBA", (side, height or side), (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)
    pen.ellipse((0, 0, side - 1, (height or side) - 1), (200, 30, 50, 255))
    pen.rectangle((side * 0.4, 0, side * 0.6, height or side), (255, 255, 255, 255))
    out = BytesIO()
    (image if kind == "PNG" else image.convert("RGB")).save(out, kind)
    return out.getvalue()


def data_url(data: bytes, media: str = "image/png") -> str:
    """Return an image as a `data:` URL."""
    return f"data:{media};base64,{base64.b64encode(data).decode()}"


LOGO = data_url(png())


def new_code(
    person: Person, type: str = "link", data: Any = "https://example.com/page", **fields: Any
) -> tuple[int, str]:
    """Create a QR code; return (id, alias)."""
    created = person.post("/qr/add", {"type": type, "data": data, **fields})
    return created["id"], created["link"].removeprefix(f"{BASE}/qr/")


def refused(person: Person, **body: Any) -> tuple[str, str]:
    """Create a QR code that must be rejected; return (field, message)."""
    response = person.call("POST", "/qr/add", body)
    problem = response.json()
    assert response.status_code == 400, problem
    return problem["field"], problem["message"]
