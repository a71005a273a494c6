"""Styles that an account saved under a name, for the fields of the designer ("My styles")."""

from collections.abc import Mapping

from waypost.dashboard.forms import Form

FIELDS = ("foreground", "background", "modules", "eyes", "level", "caption", "margin")
_GRADIENT = ("color", "type", "angle")
_MAX_LENGTH = 100
SETTINGS = (*FIELDS, "blend", *(f"gradient.{name}" for name in _GRADIENT), "former")
"""The names of the values of a style."""


def settings_of(form: Form, *, logo: int | None) -> Mapping[str, str]:
    """Return the style in a form, by the names of its fields. `logo`: the code that has the logo, None for no logo."""
    gradients = form["gradient"]
    gradient = gradients[0] if gradients and isinstance(gradients[0], dict) else {}
    values = {
        **{name: form.text(name) for name in FIELDS},
        "blend": "on" if gradient else "",
        **{f"gradient.{name}": gradient[name] for name in _GRADIENT if name in gradient},
        "former": str(logo or ""),
    }
    return {name: value[:_MAX_LENGTH] for name, value in values.items()}


def is_applied(form: Form, settings: Mapping[str, str]) -> bool:
    """Return whether the fields of a form have these values. The logo does not count: a form may keep its own."""
    gradient = (form["gradient"] or [{}])[0]
    parts = gradient if isinstance(gradient, dict) else {}
    shown = {
        **{name: form.text(name) for name in FIELDS},
        **{f"gradient.{name}": parts.get(name) for name in _GRADIENT},
    }
    values = {name: value for name, value in settings.items() if name in shown}
    is_blend_equal = bool(settings.get("blend")) == bool(form.text("blend"))
    return is_blend_equal and all(str(shown[name]).lower() == value.lower() for name, value in values.items())


def apply(form: Form, settings: Mapping[str, str]) -> None:
    """Fill in the fields of a style."""
    gradient = {name: settings[f"gradient.{name}"] for name in _GRADIENT if f"gradient.{name}" in settings}
    rows = [gradient] if settings.get("blend") and gradient else []
    form.values.update({name: settings.get(name, "") for name in (*FIELDS, "blend", "former")})
    form.values["gradient"] = rows
