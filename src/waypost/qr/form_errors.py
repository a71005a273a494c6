"""Errors of a code in the designer: each is assigned to the input that has it, in words of the form."""

import re
from collections.abc import Mapping, Sequence

from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext, gettext_noop
from waypost.qr import content_faults
from waypost.qrcode import payloads
from waypost.settings import Settings
from waypost.urls.validation import is_no_address

_REQUIRED = re.compile(r" is required for the type \w+\.\Z")
# By the beginning of a message with names of the API: the input, and the message for the designer.
_OTHER_MESSAGES = (
    ("data needs a latitude ", "geo.lat", gettext_noop("Enter a latitude from -90 to 90, such as 52.52.")),
    ("data needs a longitude ", "geo.lng", gettext_noop("Enter a longitude from -180 to 180, such as 13.405.")),
    ("data must have apple, ", "app.apple", gettext_noop("Enter the page of the app in at least one store.")),
    (
        "data.pass is required for ",
        "wifi.pass",
        gettext_noop("Enter the password of the network. An open network has no encryption."),
    ),
    (
        "dynamic must be true for an app",
        "dynamic",
        gettext_noop("An app needs tracking, because the store is selected at the scan."),
    ),
)


def assign_content(form: Form, parts: Mapping[str, Sequence[str]], settings: Settings) -> None:
    """Add the errors of all parts of the content, and replace these parts by valid ones in `data`.

    So the other fields are checked with valid content.
    """
    code_type, content = form.text("type"), form["data"]
    data = content[0] if content else ""
    if code_type not in payloads.TYPES or not isinstance(data, dict):
        return
    reading = content_faults.collect(code_type, data, settings)
    for part, message in sorted(reading.faults, key=lambda fault: not fault[0]):  # without a part: stays at the content
        form.errors["data"] = message
        assign_to_part(form, parts, part)
    form.values["data"] = [reading.repaired]


def assign_to_part(form: Form, parts: Mapping[str, Sequence[str]], known_part: str = "") -> None:
    """Replace the error of the content by one of the input that has it, if it is known."""
    code_type = form.text("type")
    _replace_other_messages(form, code_type)
    message, inputs = _REQUIRED.sub(" is required.", form.errors.get("data", "")), parts.get(code_type, ())
    match = re.match(r"data(?:\.(\w+))? ", message)
    part = known_part or (match[1] or (inputs[0] if len(inputs) == 1 else "") if match else "")
    if match and part in inputs:
        del form.errors["data"]
        translated = (
            message if is_no_address(message) else gettext(message)
        )  # here, because the catalog has the message with its API name
        rest = translated.removeprefix(match[0]) if translated.startswith(match[0]) else message[match.end() :]
        form.errors[f"{code_type}.{part}"] = f"{code_type}.{part} {rest}"


def _replace_other_messages(form: Form, code_type: str) -> None:
    for beginning, name, text in _OTHER_MESSAGES:
        field = "dynamic" if name == "dynamic" else "data"
        if form.errors.get(field, "").startswith(beginning):
            del form.errors[field]
            form.errors.setdefault(_raw_input(form, code_type) or name, text)


def _raw_input(form: Form, code_type: str) -> str:
    """Return the name of the input of a whole text, if the code has one instead of parts."""
    rows = form[code_type]
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    return f"{code_type}.raw" if row.get("raw") else ""
