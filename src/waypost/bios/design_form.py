"""The fields of the builder for own colors and background: switches and colors instead of empty values."""

import re
from collections.abc import Mapping
from typing import Any

from waypost.bios import design
from waypost.bios.design import Design
from waypost.dashboard.forms import Form

FLAGS = ("own", "blend", "autotext", "autobuttontext")
FIELDS = {"background": "background", "gradient": "gradient", "picture": "backdrop", "text": "textcolor"}
"""The fields of the form by the parts of a design; others are called like the part."""
_SHOWN = {"gradient": "#cfe3ff", "text": "#000000", "buttontext": "#ffffff"}
"""The color that is shown for one that is not set."""
_HEX = re.compile(r"#[0-9A-Fa-f]{6}\Z")


def design_of(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the design of a submitted form; None for the colors of the theme."""
    if not values.get("own"):
        return None
    return {
        "background": values.get("background", ""),
        "gradient": values.get("gradient", "") if values.get("blend") else "",
        "picture": values.get("backdrop", ""),
        "text": "" if values.get("autotext") else values.get("textcolor", ""),
        "button": values.get("button", ""),
        "buttontext": "" if values.get("autobuttontext") else values.get("buttontext", ""),
    }


def values_of(stored: Design | None) -> dict[str, str]:
    """Return the values of the form's fields."""
    parts = stored or design.DEFAULTS
    return {
        "own": "on" if stored else "",
        "background": parts["background"],
        "blend": "on" if parts["gradient"] else "",
        "gradient": parts["gradient"] or _SHOWN["gradient"],
        "backdrop": parts["picture"],
        "autotext": "" if parts["text"] else "on",
        "textcolor": parts["text"] or _SHOWN["text"],
        "button": parts["button"],
        "autobuttontext": "" if parts["buttontext"] else "on",
        "buttontext": parts["buttontext"] or _SHOWN["buttontext"],
    }


def check(form: Form) -> None:
    """Add an error to each field whose text could not be read."""
    parts: Any = form["design"]
    if not parts or not all(_HEX.match(color) for name, color in parts.items() if name != "picture" and color):
        return  # the model rejects other colors
    names = {part: FIELDS.get(part, part) for part in parts}
    for fault in design.faults(design.complete(parts) or {}, names):
        form.errors.setdefault(names[fault.part], fault.message)


def preview_of(form: Form) -> dict[str, Any] | None:
    """Return the design of a form for its preview, with defaults for invalid colors."""
    parts: Any = form["design"]
    if not parts:
        return None
    valid = {name: value for name, value in parts.items() if name == "picture" or _HEX.match(value)}
    return design.complete(valid)
