"""Pictures of strangers, in a child process: decoded, changed by a named operation, and encoded again.

Only this module decodes them. Nothing but the header is read before the size is known: a picture may unpack to a
thousand times its bytes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from PIL import Image, ImageOps, ImageStat, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from waypost.core.sandbox.channel import Channel

Fault = Literal["kind", "size", "scans", "damaged", "invisible"]
OperationName = Literal["logo", "web", "brand", "preview", "icon"]
MAX_SIDE = 4096
MAX_SCANS = 100  # a progressive JPEG has about ten; each costs as much as a whole picture
_STRIP = 128  # rows of a reduced picture that are converted at a time
_ORIENTATION = 0x0112
_WEB_QUALITY, _PREVIEW_QUALITY = 82, 80
_BRAND_SIZE = (512, 192)  # pixels: sharp at the size that pages show, on every display
_MAX_BRAND_BYTES = 24 * 1024  # every page for visitors contains the logo
_FEWER_COLORS = 128
_SHRINK = 0.8
_LIGHT = 200  # mean brightness, 0 to 255, of a logo that is made for dark pages
_DARK_PLATE, _WHITE_PLATE = (26, 33, 30, 255), (255, 255, 255, 255)
_ICON_COLORS = 128
_PLATE_MARGIN = 12  # pixels


@dataclass(frozen=True)
class Request:
    """An operation on a picture of one of the formats.

    `side` is the largest width and height, in pixels, that is kept of it. `square` is the width and height of a
    square copy, 0 for an uncropped one.
    """

    operation: OperationName
    formats: tuple[str, ...]
    side: int
    square: int = 0


class Refused(Exception):
    """Raised for a picture that is not accepted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def run(channel: Channel) -> None:
    """Answer each request with the picture that the operation makes of the bytes, or with a fault."""
    Image.init()  # loads the formats before the limits are set
    while True:
        message = channel.receive()
        sent = message.value
        request = Request(sent["operation"], tuple(sent["formats"]), sent["side"], sent["square"])
        try:
            answer: tuple[Fault | None, bytes] = (None, process(request, message.data))
        except Refused as refused:
            answer = (refused.fault, b"")
        del message
        channel.send(*answer)


def process(request: Request, data: bytes) -> bytes:
    """Return the picture that the operation makes of the bytes of another one. Raises Refused."""
    try:
        with Image.open(BytesIO(data), formats=request.formats) as opened:
            if max(opened.size) > MAX_SIDE:
                raise Refused("size")
            if opened.format == "JPEG" and data.count(b"\xff\xda") > MAX_SCANS:
                raise Refused("scans")
            return _OPERATIONS[request.operation](opened, request)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Refused("size") from None
    except UnidentifiedImageError:
        raise Refused("kind") from None
    except (OSError, ValueError, SyntaxError, EOFError):  # all that Pillow raises for broken files
        raise Refused("damaged") from None


def _logo(opened: ImageFile, request: Request) -> bytes:
    """Return a PNG for QR codes."""
    image = _shrunk(opened, request.side)
    if not image.getchannel("A").getbbox():
        raise Refused("invisible")
    return _encoded(image, "PNG")


def _web(opened: ImageFile, request: Request) -> bytes:
    """Return a WebP for pages, square if the request says so."""
    image = _shrunk(opened, request.side)
    if request.square:
        image = ImageOps.fit(image, (min(request.square, *image.size),) * 2, Image.Resampling.LANCZOS)
    return _encoded(_without_alpha(image), "WEBP", quality=_WEB_QUALITY)


def _brand(opened: ImageFile, request: Request) -> bytes:
    """Return a PNG of at most 24 KiB, without transparent edges."""
    image = _shrunk(opened, request.side)
    visible = image.getchannel("A").getbbox()
    if visible is None:
        raise Refused("invisible")
    image = _on_plate(image.crop(visible))
    image.thumbnail(_BRAND_SIZE, Image.Resampling.LANCZOS)
    png = _encoded(_without_alpha(image), "PNG", optimize=True)
    while len(png) > _MAX_BRAND_BYTES:
        png = _encoded(image.quantize(_FEWER_COLORS, method=Image.Quantize.FASTOCTREE), "PNG", optimize=True)
        smaller = (max(1, round(image.width * _SHRINK)), max(1, round(image.height * _SHRINK)))
        image = image.resize(smaller, Image.Resampling.LANCZOS)
    return png


def _preview(opened: ImageFile, request: Request) -> bytes:
    """Return a JPEG."""
    return _encoded(_shrunk(opened, request.side).convert("RGB"), "JPEG", quality=_PREVIEW_QUALITY)


def _icon(opened: ImageFile, request: Request) -> bytes:
    """Return a square opaque PNG of exactly `side` pixels a side."""
    image = _shrunk(opened, request.side)
    if not image.getchannel("A").getbbox():
        raise Refused("invisible")
    image = ImageOps.contain(image, (request.side, request.side))
    plate = Image.new("RGBA", (request.side, request.side), _DARK_PLATE if _is_light(image) else _WHITE_PLATE)
    plate.alpha_composite(image, ((request.side - image.width) // 2, (request.side - image.height) // 2))
    return _encoded(plate.convert("RGB").quantize(_ICON_COLORS), "PNG", optimize=True)


_OPERATIONS: Mapping[OperationName, Callable[[ImageFile, Request], bytes]] = {
    "logo": _logo,
    "web": _web,
    "brand": _brand,
    "preview": _preview,
    "icon": _icon,
}


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
        return _rgba(opened)
    image = Image.new("RGBA", (-(-opened.width // factor), -(-opened.height // factor)))
    for top in range(0, image.height, _STRIP):
        bottom = min((top + _STRIP) * factor, opened.height)
        strip = opened.crop((0, top * factor, opened.width, bottom))
        image.paste(_rgba(strip).reduce(factor), (0, top))
    image.info = opened.info
    return image


def _rgba(image: Image.Image) -> Image.Image:
    """Return a picture as RGBA. Pillow clips gray of 16 bits to 255, which makes it white, instead of scaling it."""
    if not image.mode.startswith("I"):
        return image.convert("RGBA")
    transparent = image.info.get("transparency")
    gray = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    gray.info = {"transparency": transparent // 256} if isinstance(transparent, int) else {}
    return gray.convert("RGBA")


def _on_plate(image: Image.Image) -> Image.Image:
    """Return a light transparent logo on a dark plate, because it would be invisible on light pages.

    Dark ones stay transparent: pages in dark mode show them on a light plate.
    """
    if not _is_light(image):
        return image
    plate = Image.new("RGBA", (image.width + 2 * _PLATE_MARGIN, image.height + 2 * _PLATE_MARGIN), _DARK_PLATE)
    plate.alpha_composite(image, (_PLATE_MARGIN, _PLATE_MARGIN))
    return plate


def _is_light(image: Image.Image) -> bool:
    """Return whether a picture is light and has transparent parts."""
    alpha = image.getchannel("A")
    return alpha.getextrema()[0] != 255 and ImageStat.Stat(image.convert("L"), mask=alpha).mean[0] >= _LIGHT


def _without_alpha(image: Image.Image) -> Image.Image:
    """Return an opaque picture as RGB."""
    return image.convert("RGB") if image.getchannel("A").getextrema()[0] == 255 else image


def _encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
