"""Saved views of the list of links: filters, order and columns under a name. The address of a view has them all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import presets
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext
from waypost.dashboard.list_periods import has_days
from waypost.dashboard.preferences import LINK_COLUMNS
from waypost.dashboard.presets import Preset, PresetName
from waypost.dashboard.routing import Router

pages = Router()

COLUMNS = "columns"
"""The parameter with the shown columns, which replace those that the browser keeps."""
_LIST = "/dashboard/links"
_FIRST_COLUMN = "link"  # is always shown
SETTINGS = ("q", "status", "campaign", "channel", "domain", "period", "from", "to", "order", COLUMNS)
"""The parameters of a list that a view has."""
_MAX_QUERY = 3000


@dataclass(frozen=True)
class Views:
    """The views of an account, with the address of each. `current` is that of the page, None for other settings.

    `query` are the settings of the page.
    """

    saved: Sequence[tuple[Preset, str]]
    current: Preset | None
    query: str


def hidden_columns(context: PageContext) -> Sequence[str]:
    """Return names of LINK_COLUMNS that the list does not show: those that the address, else the browser leaves out."""
    if COLUMNS not in context.request.query_params:
        return context.preferences.hidden_link_columns
    shown = context.query(COLUMNS).split(".")
    return [name for name in LINK_COLUMNS if name not in shown]


def read(tx: Connection, context: PageContext) -> Views:
    """Return the views of the account, and which of them the page shows."""
    hidden = hidden_columns(context)
    columns = ".".join((_FIRST_COLUMN, *(name for name in LINK_COLUMNS if name not in hidden)))
    settings = _settings({**context.request.query_params, COLUMNS: columns})
    saved = [(view, address(view.settings)) for view in presets.listed(tx, context.account, "links")]
    current = next((view for view, _ in saved if view.settings == settings), None)
    return Views(saved, current, urlencode(settings))


def address(settings: Mapping[str, str]) -> str:
    """Return the path of the list with these settings."""
    return f"{_LIST}?{urlencode(settings)}"


def _settings(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return those parameters of a list that belong to a view and are set."""
    unused = () if has_days(parameters) else ("from", "to")
    values = {name: parameters.get(name, "").strip()[:255] for name in SETTINGS if name not in unused}
    return {name: value for name, value in values.items() if value and (name, value) != ("order", "date")}


@pages.post("/dashboard/links/views")
def save_view(context: PageContext) -> Response:
    query = (context.fields.get("query") or [""])[-1][:_MAX_QUERY]
    settings = _settings(dict(parse_qsl(query)))
    path = address(settings)

    def work(tx: Connection, name: str) -> None:
        presets.save(tx, context.account, "links", name, settings)

    return _with_name(context, work, path, "The view was saved.")


@pages.post("/dashboard/links/views/{id:int}")
def rename_view(context: PageContext, id: int) -> Response:
    path = address(context.read(lambda tx: presets.get_owned(tx, context.account, "links", id)).settings)

    def work(tx: Connection, name: str) -> None:
        presets.rename(tx, context.account, "links", id, name)

    return _with_name(context, work, path, "The view was renamed.")


@pages.post("/dashboard/links/views/{id:int}/delete")
def delete_view(context: PageContext, id: int) -> Response:
    context.write(lambda tx: presets.remove(tx, context.account, "links", id))
    return context.redirect(_LIST, message="The view was deleted.")


def _with_name(context: PageContext, work: Callable[[Connection, str], None], path: str, message: str) -> Response:
    """Run `work` with the name in the form, in a transaction, and redirect to `path` with the message or the error."""
    form = context.form()
    context.submit(form, PresetName, lambda tx, fields: work(tx, str(fields["name"])))
    if form.errors:
        return context.redirect(path, message=form.describe("name", gettext("Name")), tone="bad")
    return context.redirect(path, message=message)
