"""The form of a link: its options, campaigns and channels by name, UTM fields, names of targets, and errors of rows."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from sqlalchemy import Connection, Table, select
from starlette.responses import Response

from waypost.core.errors import Problem, invalid, taken
from waypost.core.settings import Settings
from waypost.core.text_folding import folded
from waypost.dashboard import forms
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form
from waypost.dashboard.localized_names import country_name, find_country, find_language, language_name
from waypost.db import channel_colors, crud
from waypost.db.schema import campaigns, channels, domains, overlays, pixels, splashes
from waypost.items.links import columns, ops, utm
from waypost.urls.url_parts import UTM_NAMES, utm_values_of

Options = Mapping[str, Sequence[tuple[int | str, str]]]
Selected = Mapping[str, Sequence[int | str]]
_MAX_OTHERS = 1_000
_TABLES = {"campaigns": campaigns, "channels": channels, "pixels": pixels, "splashes": splashes, "overlays": overlays}
LISTED = 200
"""Campaigns or channels of a list that has all of them; there can be more if it has as many. Others are typed."""
COLLECTIONS = ("campaigns", "channels")
ALL_OPTIONS = (*_TABLES, "domains")


def load_options(
    tx: Connection, account: int, *, names: Sequence[str] = ALL_OPTIONS, selected: Selected | None = None
) -> Options:
    """Return (id, name) of each option, newest first; domains are identified by their host.

    Returns the newest 200 campaigns and channels, 1,000 others, and every selected one: a form without a selected
    option would clear it.
    """
    return {name: _options(tx, name, account, (selected or {}).get(name, ())) for name in names}


def _options(tx: Connection, name: str, account: int, selected: Sequence[int | str]) -> Sequence[tuple[int | str, str]]:
    table: Table = _TABLES.get(name, domains)
    key, label = (table.c.host, table.c.host) if table is domains else (table.c.id, table.c.name)
    query = select(key, label).where(table.c.account == account).order_by(table.c.id.desc())
    limit = LISTED if name in COLLECTIONS else _MAX_OTHERS
    options = [(row[0], row[1]) for row in tx.execute(query.limit(limit)).all()]
    missing = set(selected) - {key for key, _ in options}
    if missing and len(options) == limit:
        options += [(row[0], row[1]) for row in tx.execute(query.where(key.in_(sorted(missing, key=str))))]
    return options


GROUPS = {"campaign": campaigns, "channel": channels}
_MAX_SUGGESTED = 20
_MAX_READ = 10_000  # names that a search compares, the newest first


def find_group(tx: Connection, account: int, kind: str, name: str) -> int | None:
    """Return the id of the group with this name."""
    table = GROUPS[kind]
    return crud.find_by_name(tx, table, name, table.c.account == account)


def find_campaign(tx: Connection, account: int, name: str) -> int:
    """Return the id of the campaign with this name. Raises INVALID on `campaign_name`."""
    campaign = find_group(tx, account, "campaign", " ".join(name.split()))
    if campaign is None:
        raise invalid("campaign_name", "campaign_name must be the name of one of your campaigns.")
    return campaign


def suggest_groups(tx: Connection, account: int, kind: str, text: str) -> Sequence[str]:
    """Return names that contain the text, those that begin with it first.

    Compares in Python, because SQLite folds the case of ASCII only: 10 ms for 10,000 names.
    """
    c = GROUPS[kind].c
    newest = select(c.name).where(c.account == account).order_by(c.id.desc()).limit(_MAX_READ)
    part = folded(" ".join(text.split()))
    matches = [name for name in tx.execute(newest).scalars() if part in folded(name)]
    return sorted(matches, key=lambda name: not folded(name).startswith(part))[:_MAX_SUGGESTED]


_TYPED_FIELD = "newchannel"
_MAX_NEW_CHANNELS = 20
_NAME_LENGTH = 255
_TAKEN = crud.name_errors(channels, taken(_TYPED_FIELD, "You already have a channel with this name."))


def ensure_channels(tx: Connection, account: int, text: str) -> list[int]:
    """Return the ids of the channels with the names in `text`, which commas separate. Raises INVALID on `newchannel`.

    Existing channels are found without regard to case and Unicode form.
    """
    names = list(dict.fromkeys(filter(None, (" ".join(name.split()) for name in text.split(",")))))
    if len(names) > _MAX_NEW_CHANNELS:
        raise invalid(_TYPED_FIELD, f"At most {_MAX_NEW_CHANNELS} channels can be added at once.")
    if any(len(name) > _NAME_LENGTH or not name.isprintable() for name in names):
        raise invalid(
            _TYPED_FIELD,
            f"The name of a channel must have at most {_NAME_LENGTH} characters, all of them printable.",
        )
    colors = channel_colors.in_turn(tx, account)
    return [
        find_group(tx, account, "channel", name)
        or crud.add(tx, channels, account, {"name": name, "color": next(colors)}, _TAKEN)
        for name in names
    ]


_MAX_UTM_LENGTH = 255


def fill_utm(form: Form, url: str) -> None:
    """Show the parameters of a stored destination in the fields, except in those that were sent."""
    shown = utm_values_of(url)
    for name in UTM_NAMES:
        form.values.setdefault(name, shown.get(name, ""))


def apply_utm(tx: Connection, account: int, form: Form, fields: dict[str, Any], *, url: str = "") -> None:
    """Write the selected template, then the edited fields, into the destination. `url` is the stored destination.

    A field that is equal to the stored parameter leaves the destination as it is, an emptied one removes its parameter.
    Scripts write the fields into the destination themselves and send none. Raises INVALID.
    """
    selected, template = form.text("utm_template"), None
    if selected and "utm_template" not in form.errors:
        template = utm.template(tx, account, forms.parse_id(selected))
    edited = _edited_utm(form, utm_values_of(url))
    if "url" in form.errors or not (template or edited):
        return
    tagged = utm.apply(fields.get("url", form.text("url")), template.values if template else {})
    fields["url"] = utm.write(tagged, edited)


def _edited_utm(form: Form, shown: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields that were sent and are not as they were shown. Raises INVALID on the first that is too long."""
    edited = {
        name: form.text(name)
        for name in UTM_NAMES
        if name in form.values and name not in form.errors and form.text(name) != shown.get(name, "").strip()
    }
    for field, value in edited.items():
        if len(value) > _MAX_UTM_LENGTH:
            raise invalid(field, f"{field} must be at most {_MAX_UTM_LENGTH} characters.")
    return edited


_NAMED_TARGETS: Mapping[str, tuple[str, Callable[[str], str], Callable[[str], str]]] = {
    "geotarget": ("location", country_name, find_country),
    "languagetarget": ("language", language_name, find_language),
}
"""By field: the part of its rows that is a name, the name for a stored value, and the stored value for a name."""


def localize_targets(form: Form) -> Form:
    """Replace stored values in the form by names in the viewer's language, for display."""
    for field, (part, name_of, _) in _NAMED_TARGETS.items():
        _replace_part(form, field, part, name_of)
    return form


def read_targets(form: Form) -> Form:
    """Replace names in the viewer's language in a submitted form by the values that are stored."""
    for field, (part, _, find) in _NAMED_TARGETS.items():
        _replace_part(form, field, part, find)
    return form


def _replace_part(form: Form, field: str, part: str, change: Callable[[str], str]) -> None:
    rows = form[field]
    if isinstance(rows, list):
        form.values[field] = [{**row, part: change(row.get(part, ""))} for row in rows if isinstance(row, dict)]


_URL_PARTS = {
    "geotarget": ("link",),
    "devicetarget": ("link",),
    "languagetarget": ("link",),
    "deeplink": ("apple", "google"),
    "parameters": (),
}


def assign_row_errors(tx: Connection, form: Form, *, settings: Settings) -> None:
    """Replace the error of all rows of a field by one for each part that has one, such as `geotarget.2.link`.

    The error of the field stays if no part has one.
    """
    for name, url_parts in _URL_PARTS.items():
        rows: Any = form[name] or []
        if name not in form.errors:
            continue
        parts = {part for row in rows for part in row}
        messages = _faults_of_model(form, name, parts) | _invalid_urls(tx, name, rows, url_parts, settings)
        for (number, part), text in sorted(messages.items()):
            form.errors[f"{name}.{number}.{part}"] = f"{name}.{number}.{part} {text}"
        if messages:
            del form.errors[name]


def _faults_of_model(form: Form, name: str, parts: Set[str]) -> dict[tuple[int, str], str]:
    """Return the texts of the model's errors by number of the row, from 1, and part."""
    messages: dict[tuple[int, str], str] = {}
    for (field, *location), text in form.faults.items():
        names = [part for part in location if part in parts]
        numbers = [part + 1 for part in location if isinstance(part, int)]
        if field == name and names:
            messages.setdefault((numbers[0] if numbers else 1, str(names[-1])), f"{text}.")
    return messages


def _invalid_urls(
    tx: Connection, name: str, rows: Sequence[dict[str, str]], parts: Sequence[str], settings: Settings
) -> dict[tuple[int, str], str]:
    messages: dict[tuple[int, str], str] = {}
    for number, row in enumerate(rows, 1):
        for part in parts:
            if name == "deeplink" and not row.get(part):
                continue
            try:
                columns.destination(tx, row.get(part, ""), name, settings)
            except Problem as problem:
                messages[number, part] = problem.message.removeprefix(f"{name} ")
    return messages


def find_existing(tx: Connection, account: int, form: Form, fields: dict[str, Any]) -> ops.Link | None:
    """Return the newest link to the destination of a new one, or None.

    None also if the form is another one, has an alias, or was sent again to create another link.
    """
    if not form.text("ask") or form.text("custom") or "url" in form.errors:
        return None
    existing = ops.find_by_destination(tx, account, fields["url"])
    return None if existing is None or form.text("another") == str(existing.id) else existing


def respond_quick_create(context: PageContext, form: Form, link: ops.Address | ops.Link | None) -> Response:
    """Return the form again: with its errors, with the existing link, or empty and with the new link."""
    place, template = form.text("quick"), "links/quick_create.html"
    if link is None:
        return context.render(template, status=400, place=place, form=form, link=None)
    kept = form if isinstance(link, ops.Link) else None
    return context.render(template, place=place, form=kept, link=link)
