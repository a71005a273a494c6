"""UTM parameters of destinations: values that an account uses, as suggestions, and its templates."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, select

from waypost.core.errors import invalid
from waypost.db.schema import links, utm_templates
from waypost.urls import validation
from waypost.urls.url_parts import UTM_NAMES, set_utm_parameters, utm_pairs_of, write_utm_parameters

_READ_LINKS = 200
_MAX_VALUES = 50
_MAX_LENGTH = 255
_MAX_TEMPLATES = 200
_TEMPLATES = select(utm_templates.c.id, utm_templates.c.name, *(utm_templates.c[name] for name in UTM_NAMES))


class Template(NamedTuple):
    """A template that the link editor offers; `values` has the parameters that it sets."""

    id: int
    name: str
    values: Mapping[str, str]


def templates(tx: Connection, account: int) -> Sequence[Template]:
    """Return the newest templates of the account, by name."""
    newest = _TEMPLATES.where(utm_templates.c.account == account).order_by(utm_templates.c.id.desc())
    rows = tx.execute(newest.limit(_MAX_TEMPLATES)).mappings()
    return sorted((_template(row) for row in rows), key=lambda template: template.name.casefold())


def template(tx: Connection, account: int, id: int | None) -> Template:
    """Return the template with this id. Raises INVALID on `utm_template` if the account has none."""
    is_owned = (utm_templates.c.id == id, utm_templates.c.account == account)
    row = tx.execute(_TEMPLATES.where(*is_owned)).mappings().first() if id is not None else None
    if row is None:
        raise invalid("utm_template", "utm_template must be one of your UTM templates. Select another one.")
    return _template(row)


def apply(url: str, values: Mapping[str, str]) -> str:
    """Return the URL with the parameters of a template. Raises INVALID on `url` if it becomes too long."""
    return _checked(set_utm_parameters(url, values))


def write(url: str, values: Mapping[str, str]) -> str:
    """Return the URL with parameters that were typed; an empty one is removed. Raises INVALID as `apply`."""
    return _checked(write_utm_parameters(url, values))


def _checked(tagged: str) -> str:
    validation.refuse_long(tagged, field="url")
    return tagged


def used_values(tx: Connection, account: int) -> Mapping[str, Sequence[str]]:
    """Return the values of each parameter in the destinations of the account's newest links, the newest first."""
    query = select(links.c.url).where(links.c.account == account).order_by(links.c.id.desc()).limit(_READ_LINKS)
    used: dict[str, dict[str, None]] = {name: {} for name in UTM_NAMES}
    for url in tx.execute(query).scalars():
        for name, value in utm_pairs_of(url):
            if name in used and len(value) <= _MAX_LENGTH:
                used[name][value] = None
    return {name: list(values)[:_MAX_VALUES] for name, values in used.items()}


def _template(row: RowMapping) -> Template:
    values = {name: str(row[name]) for name in UTM_NAMES if row[name]}
    return Template(row["id"], row["name"], values)
