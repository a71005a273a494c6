"""UTM parameters in the link editor: a selected template, and the fields, which browsers without scripts send."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from waypost.dashboard import forms
from waypost.dashboard.forms import Form
from waypost.errors import invalid
from waypost.links import utm
from waypost.urls.utm import NAMES

_MAX_LENGTH = 255


def fill(form: Form, url: str) -> None:
    """Show the parameters of a stored destination in the fields, except in those that were sent."""
    shown = utm.values_of(url)
    for name in NAMES:
        form.values.setdefault(name, shown.get(name, ""))


def apply(tx: Connection, account: int, form: Form, fields: dict[str, Any], *, url: str = "") -> None:
    """Write the selected template, then the edited fields, into the destination. `url` is the stored destination.

    A field that is equal to the stored parameter leaves the destination as it is, an emptied one removes its parameter.
    Scripts write the fields into the destination themselves and send none. Raises INVALID.
    """
    selected, template = form.text("utm_template"), None
    if selected and "utm_template" not in form.errors:
        template = utm.template(tx, account, forms.parse_id(selected))
    edited = _edited(form, utm.values_of(url))
    if "url" in form.errors or not (template or edited):
        return
    tagged = utm.apply(fields.get("url", form.text("url")), template.values if template else {})
    fields["url"] = utm.write(tagged, edited)


def _edited(form: Form, shown: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields that were sent and are not as they were shown. Raises INVALID on the first that is too long."""
    edited = {
        name: form.text(name)
        for name in NAMES
        if name in form.values and name not in form.errors and form.text(name) != shown.get(name, "").strip()
    }
    for field, value in edited.items():
        if len(value) > _MAX_LENGTH:
            raise invalid(field, f"{field} must be at most {_MAX_LENGTH} characters.")
    return edited
