"""Pictures and forms for tests of brands."""

import re
from base64 import b64encode
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw

from tests.support.dashboard_client import Browser, hidden_field

ADMIN = "/admin/brand"
COLOR = "#0a5cff"


def logo(width: int = 120, height: int = 120, *, kind: str = "PNG", mode: str = "RGBA", ink: str = COLOR) -> bytes:
    """Return a picture with a disk in the middle; RGBA is transparent around it."""
    image = Image.new(mode, (width, height))
    ImageDraw.Draw(image).ellipse((width // 8, height // 8, width * 7 // 8, height * 7 // 8), fill=ink)
    out = BytesIO()
    image.save(out, kind)
    return out.getvalue()


def data_url(picture: bytes, kind: str = "png") -> str:
    """Return a picture as a `data:` URL."""
    return f"data:image/{kind};base64,{b64encode(picture).decode()}"


def save_brand(
    browser: Browser, path: str = ADMIN, picture: bytes | None = None, *, at: str = "", **fields: str
) -> Any:
    """Submit the form of a brand below /dashboard, as a browser does: the form of the page `at`, to `path`."""
    page = browser.get(at or path)
    version = re.search(r'name="version" value="([^"]*)"', page.text)
    data = {"token": hidden_field(page, "token"), "version": version[1] if version else "", **fields}
    name, content = ("", b"") if picture is None else ("logo.png", picture)
    files = {"logo": (name, content, "application/octet-stream")}
    return browser.client.post(f"/dashboard{path}", data=data, files=files)
