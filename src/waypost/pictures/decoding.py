"""Decoding of pictures that users send, with bounded memory, even if the header of a picture lies."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from typing import TypeVar

from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from waypost.errors import Problem, invalid

T = TypeVar("T")
MAX_SIDE = 4096
_LARGE = 2 * 1024 * 1024  # pixels
_STRIP = 128  # rows of a reduced picture that are converted at a time
_MAX_SCANS = 100  # a progressive JPEG has about ten; each costs as much as a whole picture
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Rules:
    """The pictures that a field accepts. `side` is the largest width and height, in pixels, that is kept of one."""

    field: str
    side: int
    max_bytes: int
    formats: tuple[str, ...] = ("PNG", "JPEG")

    def must_fit(self, size: int) -> None:
        """Raise INVALID for more bytes than a picture may have."""
        if size > self.max_bytes:
            raise invalid(self.field, f"{self.field} must be at most {self.max_bytes} bytes.")

    def wrong_kind(self, kind: str = "") -> Problem:
        """Return the problem of a file that is no such picture; `kind` is its media type, if it is known."""
        field = self.field
        if "WEBP" not in self.formats:
            message = f"{field} must be a PNG or JPEG picture, not {kind}." if kind else ""
            return invalid(field, message or f"{field} must be a PNG or JPEG picture.")
        message = f"{field} must be a PNG, JPEG or WebP picture, not {kind}." if kind else ""
        return invalid(field, message or f"{field} must be a PNG, JPEG or WebP picture.")


def decode(data: bytes, rules: Rules, process: Callable[[Image.Image], T]) -> T:
    """Return the result of `process` with the picture: upright, RGBA, at most `rules.side` pixels a side.

    Raises INVALID on the field. Nothing but the header is read before the size is known: a picture may unpack to a
    thousand times its bytes. Few pictures are unpacked at a time, so that memory stays below 200 MB.
    """
    rules.must_fit(len(data))
    field = rules.field
    try:
        with Image.open(BytesIO(data), formats=rules.formats) as opened:
            if max(opened.size) > MAX_SIDE:
                raise _too_large(field)
            if opened.format == "JPEG" and data.count(b"\xff\xda") > _MAX_SCANS:
                raise invalid(field, f"{field} must be a JPEG with at most {_MAX_SCANS} scans.")
            threads = _threads(1 if opened.width * opened.height > _LARGE else 2)
            return threads.submit(partial(_process, opened, rules.side, process)).result()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(field) from error
    except UnidentifiedImageError as error:
        raise rules.wrong_kind() from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:  # all that Pillow raises for broken files
        raise invalid(field, f"{field} is damaged or incomplete.") from error


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """One thread for large pictures, two for others: the C library keeps memory that a thread has used."""
    return ThreadPoolExecutor(count, thread_name_prefix="picture")


def _process(opened: ImageFile, side: int, process: Callable[[Image.Image], T]) -> T:
    return process(_shrunk(opened, side))


def _shrunk(opened: ImageFile, side: int) -> Image.Image:
    """Unpack a picture. Return it upright, as RGBA of at most `side` pixels a side."""
    image = _reduced(opened, 2 * side)
    opened.close()  # frees its pixels
    if image.getexif().get(_ORIENTATION, 1) != 1:
        image = ImageOps.exif_transpose(image)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return image


def _reduced(opened: ImageFile, side: int) -> Image.Image:
    """Return a picture as RGBA, a large one reduced, without a second copy of its full size."""
    opened.draft(None, (side, side))  # a JPEG is unpacked in a smaller size
    opened.load()
    factor = max(opened.size) // side
    if factor < 2:
        return opened.convert("RGBA")
    image = Image.new("RGBA", (-(-opened.width // factor), -(-opened.height // factor)))
    for top in range(0, image.height, _STRIP):
        bottom = min((top + _STRIP) * factor, opened.height)
        strip = opened.crop((0, top * factor, opened.width, bottom))
        image.paste(strip.convert("RGBA").reduce(factor), (0, top))
    image.info = opened.info
    return image


def _too_large(field: str) -> Problem:
    return invalid(field, f"{field} must be at most {MAX_SIDE} pixels a side.")
