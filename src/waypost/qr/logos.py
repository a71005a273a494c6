"""A logo from wherever the client has it, as our own copy (decision 34)."""

import base64
import binascii
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from urllib.parse import unquote_to_bytes

from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile
from sqlalchemy import Connection, select

from waypost.db.schema import files
from waypost.errors import Problem, invalid
from waypost.http import safe_client
from waypost.http.safe_client import Resolver
from waypost.settings import Settings
from waypost.urls import alias_namespace, hostnames, validation

_MOST_BYTES = 2 * 1024 * 1024
MOST_SIDE = 4096
_KEPT_SIDE = 640  # pixels: what the largest picture shows of it
_SECONDS = 8
_LARGE = 2 * 1024 * 1024  # pixels
_STRIP = 128  # rows of a reduced picture that are converted at a time
_MOST_SCANS = 100  # a progressive JPEG has about ten; each costs as much as a whole picture
_ORIENTATION = 0x0112
_DATA = re.compile(r"data:([a-z0-9.+/-]*)((?:;[a-z0-9=-]+)*),", re.IGNORECASE)
_KINDS = "logo must be a PNG or JPEG picture"


def own_file(tx: Connection, account: int, short: str, *, settings: Settings) -> tuple[str, int] | None:
    """(object, size) of the account's file with that alias or short URL, while its bytes are kept."""
    host, alias = hostnames.split_short(short, settings=settings)
    file = alias_namespace.owned_item(tx, account, "file", host=host, alias=alias)
    kept = select(files.c.object, files.c.size).where(files.c.id == file, files.c.purged.is_(None))
    row = tx.execute(kept).first()
    return (row.object, row.size) if row else None


def is_url(logo: str) -> bool:
    """Return whether the logo is fetched from a URL."""
    return logo.strip().lower().startswith(("http://", "https://"))


def is_data(logo: str) -> bool:
    """Return whether the URL contains the image itself (`data:`)."""
    return logo.strip().lower().startswith("data:")


def fetch(url: str, *, resolver: Resolver = safe_client.resolve) -> bytes:
    """The bytes behind a public URL. Raises INVALID on `logo`."""
    url = validation.web_url(url, field="logo")
    try:
        answer = safe_client.fetch(url, max_bytes=_MOST_BYTES, seconds=_SECONDS, resolver=resolver)
    except safe_client.Refused as error:
        raise invalid("logo", f"logo cannot be fetched: {error}.") from error
    if answer.status != 200:
        raise invalid("logo", f"logo cannot be fetched: its server answers {answer.status}.")
    return answer.body


def from_data(url: str) -> bytes:
    """The bytes in a `data:` URL. Raises INVALID on `logo`."""
    url = url.strip()
    match = _DATA.match(url)
    if match is None:
        raise invalid("logo", "logo must be a whole data: URL, such as data:image/png;base64,….")
    if match[1] and match[1].lower() not in ("image/png", "image/jpeg", "image/jpg"):
        raise invalid("logo", f"{_KINDS}, not {match[1]}.")
    body = url[match.end() :]
    if ";base64" not in match[2].lower():
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("logo", "logo is not valid Base64.") from error


def own_copy(data: bytes) -> bytes:
    """A PNG of at most 640 pixels a side that holds just the picture. Raises INVALID on `logo`.

    Nothing but the header is read before the size is known: a picture may unpack to a thousand times its bytes. Few
    pictures are unpacked at a time, so that memory stays below 200 MB.
    """
    must_fit(len(data))
    try:
        with Image.open(BytesIO(data), formats=("PNG", "JPEG")) as opened:
            if max(opened.size) > MOST_SIDE:
                raise _too_large()
            if opened.format == "JPEG" and data.count(b"\xff\xda") > _MOST_SCANS:
                raise invalid("logo", f"logo must be a JPEG with at most {_MOST_SCANS} scans.")
            threads = _threads(1 if opened.width * opened.height > _LARGE else 2)
            image = threads.submit(_shrunk, opened).result()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large() from error
    except UnidentifiedImageError as error:
        raise invalid("logo", f"{_KINDS}.") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:  # all that Pillow raises for broken files
        raise invalid("logo", "logo is damaged or incomplete.") from error
    if not image.getchannel("A").getbbox():
        raise invalid("logo", "logo is fully transparent; there is nothing to see.")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """One thread for large pictures, two for others: the C library keeps memory that a thread has used."""
    return ThreadPoolExecutor(count, thread_name_prefix="logo")


def _shrunk(opened: ImageFile) -> Image.Image:
    """Unpack a picture. Return it upright, as RGBA of at most 640 pixels a side."""
    image = _reduced(opened)
    opened.close()  # frees its pixels
    if image.getexif().get(_ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
    image.thumbnail((_KEPT_SIDE, _KEPT_SIDE), Image.Resampling.LANCZOS)
    return image


def _reduced(opened: ImageFile) -> Image.Image:
    """Return a picture as RGBA, a large one reduced, without a second copy of its full size."""
    opened.draft(None, (2 * _KEPT_SIDE, 2 * _KEPT_SIDE))  # a JPEG is unpacked in a smaller size
    opened.load()
    factor = max(opened.size) // (2 * _KEPT_SIDE)
    if factor < 2:
        return opened.convert("RGBA")
    image = Image.new("RGBA", (-(-opened.width // factor), -(-opened.height // factor)))
    for top in range(0, image.height, _STRIP):
        bottom = min((top + _STRIP) * factor, opened.height)
        strip = opened.crop((0, top * factor, opened.width, bottom))
        image.paste(strip.convert("RGBA").reduce(factor), (0, top))
    image.info = opened.info
    return image


def must_fit(size: int) -> None:
    """Raise INVALID on `logo` for more bytes than a logo may have."""
    if size > _MOST_BYTES:
        raise invalid("logo", f"logo must be at most {_MOST_BYTES} bytes.")


def _too_large() -> Problem:
    return invalid("logo", f"logo must be at most {MOST_SIDE} pixels a side.")
