"""The parts of the designer of QR codes: saved styles ("My styles"), former logos, and the repair of colors.

Colors without enough contrast are repaired (decision 33).
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.core.errors import Problem
from waypost.dashboard.forms import Form
from waypost.db.schema import qrs
from waypost.media.branding.colors import shades
from waypost.media.qrcode import styles

STYLE_FIELDS = ("foreground", "background", "modules", "eyes", "level", "caption", "margin")
_GRADIENT = ("color", "type", "angle")
_MAX_SETTING_LENGTH = 100
STYLE_SETTINGS = (*STYLE_FIELDS, "blend", *(f"gradient.{name}" for name in _GRADIENT), "former")
"""The names of the values of a style."""
_MAX_LOGOS = 8
_MAX_CODES = 60  # the newest ones are read
_LAST_BYTES = 16  # of a PNG; they contain the checksum of its pixels
_c = qrs.c


def style_settings(form: Form, *, logo: int | None) -> Mapping[str, str]:
    """Return the style in a form, by the names of its fields. `logo`: the code that has the logo, None for no logo."""
    gradients = form["gradient"]
    gradient = gradients[0] if gradients and isinstance(gradients[0], dict) else {}
    values = {
        **{name: form.text(name) for name in STYLE_FIELDS},
        "blend": "on" if gradient else "",
        **{f"gradient.{name}": gradient[name] for name in _GRADIENT if name in gradient},
        "former": str(logo or ""),
    }
    return {name: value[:_MAX_SETTING_LENGTH] for name, value in values.items()}


def is_style_applied(form: Form, settings: Mapping[str, str]) -> bool:
    """Return whether the fields of a form have these values. The logo does not count: a form may keep its own."""
    gradient = (form["gradient"] or [{}])[0]
    parts = gradient if isinstance(gradient, dict) else {}
    shown = {
        **{name: form.text(name) for name in STYLE_FIELDS},
        **{f"gradient.{name}": parts.get(name) for name in _GRADIENT},
    }
    values = {name: value for name, value in settings.items() if name in shown}
    is_blend_equal = bool(settings.get("blend")) == bool(form.text("blend"))
    return is_blend_equal and all(str(shown[name]).lower() == value.lower() for name, value in values.items())


def apply_style(form: Form, settings: Mapping[str, str]) -> None:
    """Fill in the fields of a style."""
    gradient = {name: settings[f"gradient.{name}"] for name in _GRADIENT if f"gradient.{name}" in settings}
    rows = [gradient] if settings.get("blend") and gradient else []
    form.values.update({name: settings.get(name, "") for name in (*STYLE_FIELDS, "blend", "former")})
    form.values["gradient"] = rows


def find_former_logos(tx: Connection, account: int) -> Sequence[tuple[int, str]]:
    """Return the ids and names of codes with different logos, the newest first (index qrs_account_id)."""
    size = func.length(_c.logo)
    checksum = func.substr(_c.logo, size - _LAST_BYTES + 1, _LAST_BYTES)
    columns = (_c.id, _c.name, _c.alias, size.label("size"), checksum.label("checksum"))
    query = select(*columns).where(_c.account == account).order_by(_c.id.desc()).limit(_MAX_CODES)
    logos: dict[tuple[int, bytes], Any] = {}
    for row in tx.execute(query):
        if row.size and len(logos) < _MAX_LOGOS:
            logos.setdefault((row.size, bytes(row.checksum)), row)
    return [(row.id, row.name or row.alias) for row in logos.values()]


def logo_data_url(logo: bytes) -> str:
    """Return a stored logo as the API takes it."""
    return f"data:image/png;base64,{base64.b64encode(logo).decode()}"


def repair_contrast(form: Form) -> Mapping[str, str]:
    """Return the nearest readable colors by field of the designer; empty if the colors have no error, or another one.

    Both colors are returned if they only have to be swapped.
    """
    field = next((name for name in ("foreground", "gradient") if name in form.errors), "")
    try:
        ink = styles.color(_ink_of(form, field), field=field)
        paper = styles.color(form.text("background"), field="background")
    except Problem:
        return {}
    return _nearest("gradient.color" if field == "gradient" else field, ink, paper) if field else {}


def _ink_of(form: Form, field: str) -> str:
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
