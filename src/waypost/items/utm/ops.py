"""UTM templates: values of the five UTM parameters under a name, which are written into the destinations of links."""

from dataclasses import dataclass
from typing import TypedDict, Unpack

from sqlalchemy import Connection

from waypost.core.errors import taken
from waypost.db import crud
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import utm_templates

_TAKEN = crud.name_errors(utm_templates, taken("name", "You already have a UTM template with this name."))


@dataclass(frozen=True)
class Template:
    """A template. An empty value leaves its parameter as it is."""

    id: int
    name: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    utm_term: str
    utm_content: str
    created: int


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    name: str
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_term: str | None
    utm_content: str | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Template]:
    """The account's templates."""
    return crud.page(tx, utm_templates, account, window, Template)


def get_owned(tx: Connection, account: int, template: int) -> Template:
    """One template."""
    return crud.get_owned(tx, utm_templates, account, template, Template)


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Template:
    """Create a template. Raises TAKEN on `name`."""
    return get_owned(tx, account, crud.add(tx, utm_templates, account, fields, _TAKEN))


def change(tx: Connection, account: int, template: int, **fields: Unpack[Fields]) -> Template:
    """Set the given fields. Links keep the parameters that they have. Raises TAKEN on `name`."""
    crud.change(tx, utm_templates, account, template, fields, _TAKEN)
    return get_owned(tx, account, template)


def remove(tx: Connection, account: int, template: int) -> None:
    """Delete a template. Links keep the parameters that they have."""
    crud.remove(tx, utm_templates, account, template)
