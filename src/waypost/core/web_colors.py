"""Colors as people write them: `#0a5cff`, `0A5CFF`, `#05f`, `rgb(10, 92, 255)`, or a name of CSS such as `navy`."""

import re

from PIL import ImageColor

_HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})", re.IGNORECASE)
_RGB = re.compile(r"rgb\(\s*([0-9]{1,3})[\s,]+([0-9]{1,3})[\s,]+([0-9]{1,3})\s*\)", re.IGNORECASE)


def parse(text: str) -> str | None:
    """Return a color of three numbers as `#rrggbb`; None if it is none."""
    text = text.strip().lower()
    if match := _HEX.fullmatch(text):
        digits = match[1]
        return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    match = _RGB.fullmatch(text)
    if match is None or max(parts := [int(value) for value in match.groups()]) > 255:
        return None
    return "#" + "".join(f"{part:02x}" for part in parts)


def parse_name(text: str) -> str | None:
    """Return the color with a name of CSS as `#rrggbb`; None for another name."""
    name = text.strip().lower()
    if name not in ImageColor.colormap:
        return None
    red, green, blue = ImageColor.getrgb(name)[:3]  # not the value: Pillow replaces it by numbers at its first use
    return f"#{red:02x}{green:02x}{blue:02x}"
