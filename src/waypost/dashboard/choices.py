"""Values of selects, radio buttons and checkboxes that a page does not offer, for example because the page is old."""

from collections.abc import Collection, Iterable, Sequence

from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import gettext_noop
from waypost.db.schema.nouns import NOUNS
from waypost.errors import not_found

NOT_FOUND = (
    *(not_found(noun.singular).message for noun in NOUNS.values()),
    gettext_noop("No such item in this account."),
    gettext_noop("No such picture in this account."),
    gettext_noop("No such session in this account."),
    gettext_noop("No such export in this account."),
    gettext_noop("No such import in this account."),
    gettext_noop("No such change in this account."),
    gettext_noop("No such API key in this account."),
    gettext_noop("No such share link in this account."),
    gettext_noop("No such item in the trash in this account."),
)
"""The messages of `waypost.errors.not_found`, for items that were deleted since the page was shown."""


def check_choice(
    form: Form,
    name: str,
    pairs: Iterable[Sequence[object]],
    others: Collection[str] = (),
    *,
    value: object = None,
    part: str = "",
) -> str:
    """Replace the error of a field whose value is not offered: the original one can list values of the API.

    `pairs` begin with the values that the page offers, as `others` are. `value` replaces that of the form, for a `part`
    of a row. Returns "".
    """
    if name in form.errors:
        sent = form[name] if value is None else value
        values = sent if isinstance(sent, list) else [sent]
        offered = {str(pair[0]) for pair in pairs} | set(others)
        if not offered.issuperset(str(each).strip() for each in values if each):
            field, name = name, f"{name} {part}".strip()
            form.errors[field] = f"{name} must be one of the options. Select another one."
    return ""
