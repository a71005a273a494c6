"""A brand: the name, color and logo of the installation or of a branded domain."""

import base64
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from io import BytesIO
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from PIL import Image

from waypost.core.errors import invalid
from waypost.media.branding import colors

PRODUCT = "waypost"
"""The name where no brand has one."""
MAX_NAME = 60
_MAX_TYPED = 4 * MAX_NAME  # characters, before they are composed
DATA_PREFIX = "data:image/png;base64,"
_COLOR = "#0d7a58"
_ICON_SIDE = 64  # pixels
_SQUARE = (0.7, 1.45)  # aspect ratios of logos that are recognizable as an icon
_WIDE = 2.0
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"  # of scripts such as Persian, and of emoji
_SIGN = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='{color}'>"
    "<path d='M14.5 3h3v27h-3z' opacity='.55'/>"
    "<path d='M6 6h18l5 4.5-5 4.5H6a1.5 1.5 0 0 1-1.5-1.5v-6A1.5 1.5 0 0 1 6 6z'/>"
    "<path d='M26 17H11l-4 3.5 4 3.5h15a1.5 1.5 0 0 0 1.5-1.5v-4A1.5 1.5 0 0 0 26 17z'/></svg>"
)
_LETTER = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='{color}'/>"
    "<text x='16' y='16.5' text-anchor='middle' dominant-baseline='central' font-family='system-ui,sans-serif'"
    " font-size='19' font-weight='700' fill='#fff'>{letter}</text></svg>"
)


class Logo(NamedTuple):
    """The properties of a logo: its size in pixels, and whether the page behind it shows through."""

    width: int
    height: int
    is_transparent: bool

    @property
    def is_wide(self) -> bool:
        """True for a logo that contains the name, most likely, so that it is shown without the name."""
        return self.width >= _WIDE * self.height


@dataclass(frozen=True, slots=True)
class Brand:
    """A brand. `color` is `#rrggbb`, `logo` a PNG as a `data:` URL; "" for none. A brand with a logo has a name."""

    name: str = ""
    color: str = ""
    logo: str = ""

    def or_else(self, fallback: "Brand") -> "Brand":
        """Return this brand with what it lacks. Name and logo belong together: those of two brands are never mixed."""
        named = self if self.name else fallback
        return Brand(named.name, self.color or fallback.color, named.logo)

    @property
    def shown_color(self) -> str:
        """The color, or the one of waypost."""
        return self.color or _COLOR

    @property
    def picture(self) -> Logo | None:
        """The properties of the logo."""
        return _measure(self.logo) if self.logo else None

    @property
    def icon(self) -> str:
        """The icon of browser tabs, as a `data:` URL."""
        return _icon(self.name, self.color, self.logo)

    @property
    def style(self) -> str:
        """The style sheet for pages of visitors; "" for the usual colors."""
        return _public_style(self.color) if self.color else ""

    @property
    def accents(self) -> tuple[colors.Accent, colors.Accent] | None:
        """The accent colors in light and in dark mode."""
        return colors.accents(self.color) if self.color else None


NO_BRAND = Brand()


def checked_name(text: str, *, field: str) -> str:
    """Return the name, trimmed and composed (NFC). Raises INVALID on the field.

    Invisible characters could reverse the reading order, or make the name look like another one.
    """
    name = unicodedata.normalize("NFC", text.strip()) if len(text) <= _MAX_TYPED else text
    if len(name) > MAX_NAME:
        raise invalid(field, f"{field} must have at most {MAX_NAME} characters.")
    if any(unicodedata.category(char) in _INVISIBLE and char not in _JOINERS for char in name):
        raise invalid(field, f"{field} must not have line breaks, control characters or invisible characters.")
    return name


def checked_color(text: str, *, field: str) -> str:
    """Return the color as `#rrggbb`; "" for none. Raises INVALID on the field."""
    color = colors.parse_color(text) if text.strip() else ""
    if color is None:
        raise invalid(field, f"{field} must be a color of the form #RRGGBB, such as #0a5cff.")
    return color


def require_name(brand: Brand, *, field: str) -> None:
    """Raise INVALID on the field for a logo without a name, which is its text."""
    if brand.logo and not brand.name:
        raise invalid(field, f"{field} is required with a logo, because screen readers read it instead.")


def logo_bytes(logo: str) -> bytes:
    """Return the PNG of a logo."""
    return base64.b64decode(logo.removeprefix(DATA_PREFIX))


def icon_file(brand: Brand) -> tuple[str, bytes]:
    """Return the media type and the content of a brand's icon."""
    header, _, content = brand.icon.removeprefix("data:").partition(",")
    media_type, _, encoding = header.partition(";")
    return media_type, base64.b64decode(content) if encoding else unquote_to_bytes(content)


def sign(color: str = _COLOR) -> str:
    """Return the icon of waypost in a color, as SVG."""
    return _SIGN.format(color=color)


def svg_url(svg: str) -> str:
    """Return an SVG image as a `data:` URL."""
    return "data:image/svg+xml," + quote(svg)


_FILLS = {"fill": "fill", "fill-hover": "fill_hover", "on-fill": "on_fill"}
"""The variables of buttons, which have the accent color without a brand."""


@lru_cache(maxsize=256)
def dashboard_style(color: str) -> str:
    """Return the style sheet that replaces the accent colors of web/src/tokens.css."""
    light, dark = colors.accents(color)
    names = {"accent": "accent", "accent-hover": "hover", "on-accent": "on_accent", "tint": "tint"}
    tokens = {**names, **_FILLS, "accent-light": "light"}.items()
    values = (f"--{token}:light-dark({getattr(light, name)},{getattr(dark, name)});" for token, name in tokens)
    return f":root{{{''.join(values)}}}"


@lru_cache(maxsize=256)
def _public_style(color: str) -> str:
    """Return the style sheet that replaces the accent colors of visits/templates/styles/tokens.css."""
    tokens = {"accent": "accent", **_FILLS}.items()
    light, dark = (
        f":root{{{''.join(f'--{token}:{getattr(mode, name)};' for token, name in tokens)}}}"
        for mode in colors.accents(color)
    )
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


@lru_cache(maxsize=256)
def _measure(logo: str) -> Logo:
    with Image.open(BytesIO(logo_bytes(logo))) as image:
        return Logo(image.width, image.height, image.has_transparency_data)


@lru_cache(maxsize=256)
def _icon(name: str, color: str, logo: str) -> str:
    if logo:
        width, height, _ = _measure(logo)
        if _SQUARE[0] <= width / height <= _SQUARE[1]:
            return _small_picture(logo)
    accent = colors.accents(color)[0].accent if color else _COLOR
    if not name:
        return svg_url(sign(accent))
    letter = next((char for char in name if char.isalnum()), name[0]).upper()[:1]
    return svg_url(_LETTER.format(color=accent, letter=escape(letter)))


def _small_picture(logo: str) -> str:
    with Image.open(BytesIO(logo_bytes(logo))) as opened:
        image = opened.convert("RGBA")
        image.thumbnail((_ICON_SIDE, _ICON_SIDE), Image.Resampling.LANCZOS)
        square = Image.new("RGBA", (max(image.size),) * 2)
        square.paste(image, ((square.width - image.width) // 2, (square.height - image.height) // 2))
        out = BytesIO()
        square.quantize(method=Image.Quantize.FASTOCTREE).save(out, "PNG", optimize=True)
    return DATA_PREFIX + base64.b64encode(out.getvalue()).decode()
