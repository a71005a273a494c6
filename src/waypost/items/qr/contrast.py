"""Colors that repair a QR code without enough contrast (decision 33)."""

from collections.abc import Mapping

from waypost.core.errors import Problem
from waypost.dashboard.forms import Form
from waypost.media.branding.colors import shades
from waypost.media.qrcode import styles


def repair(form: Form) -> Mapping[str, str]:
    """Return the nearest readable colors by field of the designer; empty if the colors have no error, or another one.

    Both colors are returned if they only have to be swapped.
    """
    field = next((name for name in ("foreground", "gradient") if name in form.errors), "")
    try:
        ink = styles.color(_ink(form, field), field=field)
        paper = styles.color(form.text("background"), field="background")
    except Problem:
        return {}
    return _nearest("gradient.color" if field == "gradient" else field, ink, paper) if field else {}


def _ink(form: Form, field: str) -> str:
    rows = form["gradient"] if field == "gradient" else ()
    return next((row["color"] for row in rows if isinstance(row, dict)), form.text("foreground"))


def _nearest(field: str, ink: str, paper: str) -> Mapping[str, str]:
    if _is_readable(ink, paper):
        return {}
    if field == "foreground" and _is_readable(paper, ink):
        return {"foreground": paper, "background": ink}
    for darker in shades(ink, "#000000"):
        if _is_readable(darker, paper):
            return {field: darker}
    return next(({"background": lighter} for lighter in shades(paper, "#ffffff") if _is_readable(ink, lighter)), {})


def _is_readable(ink: str, paper: str) -> bool:
    is_darker = styles.luminance(ink) < styles.luminance(paper)
    return is_darker and styles.contrast(ink, paper) >= styles.LEAST_CONTRAST
