"""The brand of the sample domains: name, color and a drawn logo."""

import base64
import io

from PIL import Image, ImageDraw

from waypost.media.branding.brand import DATA_PREFIX, Brand

_COLOR = "#9a3412"
_SIDE = 256  # pixels
_SCALE = 4  # drawn larger, so that the edges are smooth


def sample_brand() -> Brand:
    """Return the brand of the shop: a bowl below two berries."""
    side = _SIDE * _SCALE
    picture = Image.new("RGBA", (side, side))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((0, 0, side - 1, side - 1), side * 0.22, fill=_COLOR)
    draw.pieslice((side * 0.18, side * 0.16, side * 0.82, side * 0.82), 0, 180, fill="#fff7ed")
    draw.rectangle((side * 0.38, side * 0.78, side * 0.62, side * 0.85), fill="#fff7ed")
    for middle in (0.42, 0.59):
        draw.ellipse((side * (middle - 0.07), side * 0.26, side * (middle + 0.07), side * 0.40), fill="#fdba74")
    content = io.BytesIO()
    picture.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS).save(content, "PNG", optimize=True)
    return Brand("Juniper Ceramics", _COLOR, DATA_PREFIX + base64.b64encode(content.getvalue()).decode())
