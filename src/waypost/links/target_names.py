"""The countries and languages of a link's rules in the viewer's language, as its editor shows them."""

from collections.abc import Callable, Mapping

from waypost.dashboard.forms import Form
from waypost.dashboard.localized_names import country_name, find_country, find_language, language_name

_PARTS: Mapping[str, tuple[str, Callable[[str], str], Callable[[str], str]]] = {
    "geotarget": ("location", country_name, find_country),
    "languagetarget": ("language", language_name, find_language),
}
"""By field: the part of its rows that is a name, the name for a stored value, and the stored value for a name."""


def localize(form: Form) -> Form:
    """Replace stored values in the form by names in the viewer's language, for display."""
    for field, (part, name_of, _) in _PARTS.items():
        _replace(form, field, part, name_of)
    return form


def read(form: Form) -> Form:
    """Replace names in the viewer's language in a submitted form by the values that are stored."""
    for field, (part, _, find) in _PARTS.items():
        _replace(form, field, part, find)
    return form


def _replace(form: Form, field: str, part: str, change: Callable[[str], str]) -> None:
    rows = form[field]
    if isinstance(rows, list):
        form.values[field] = [{**row, part: change(row.get(part, ""))} for row in rows if isinstance(row, dict)]
