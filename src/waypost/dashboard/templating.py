"""Fills in the dashboard's templates; what every template has at hand."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.filters import do_truncate
from jinja2.runtime import Context
from markupsafe import Markup, escape

from waypost import clock
from waypost.dashboard import navigation
from waypost.dashboard.i18n import number, plural, translated
from waypost.http import media_types

STATIC = "/dashboard/static/"
Pairs = Iterable[tuple[object, str]]
MARK = "data:image/svg+xml," + quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32' fill='#0d7a58'>"
    "<path d='M14.5 3h3v27h-3z' opacity='.55'/>"
    "<path d='M6 6h18l5 4.5-5 4.5H6a1.5 1.5 0 0 1-1.5-1.5v-6A1.5 1.5 0 0 1 6 6z'/>"
    "<path d='M26 17H11l-4 3.5 4 3.5h15a1.5 1.5 0 0 0 1.5-1.5v-4A1.5 1.5 0 0 0 26 17z'/></svg>"
)
"""The picture in the browser's tab."""


@cache
def manifest() -> Mapping[str, Any]:
    """What the front end's build made: `files` by their plain name, and `icons`."""
    found = files("waypost.dashboard").joinpath("static", "manifest.json")
    if not found.is_file():
        raise RuntimeError("The dashboard's front end is not built. Run `make install`.")
    told: Mapping[str, Any] = json.loads(found.read_text())
    return told


def draw(template: str, **values: object) -> str:
    """A template, filled in."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """The templates with all they have at hand, compiled as they are needed, once for a process."""
    environment = Environment(
        loader=PackageLoader("waypost.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # or every page would ask the disk whether its templates are still the same
    )
    environment.globals |= {
        "_": translated,
        "plural": plural,
        "static": static,
        "icon": icon,
        "url": url,
        "as_options": as_options,
        "as_boxes": as_boxes,
        "places": navigation,
        "mark": MARK,
    }
    environment.filters |= {
        "moment": moment,
        "day": day,
        "number": number,
        "host": host,
        "bare": bare,
        "size": media_types.size,
    }
    return environment


def static(name: str) -> str:
    """Where a built file is, such as `app.js`."""
    return STATIC + str(manifest()["files"][name])


def icon(name: str) -> Markup:
    """A picture from web/icons.json."""
    return Markup(manifest()["icons"][name])  # noqa: S704  # made by our build


def as_options(pairs: Pairs, now: object = "", *, before: str = "", title: str = "", most: int = 0) -> Markup:
    """(value, words) of each as options of a select, in a fifth of the time that a loop of a template takes.

    `now` is what is selected; `before` stands in front of each value and `title` in front of the words, which are cut
    at about `most` characters.
    """
    chosen, made = str(now), []
    for one, words in pairs:
        value = f"{before}{one}"
        mark = " selected" if value == chosen else ""
        shown = do_truncate(_environment(), words, most) if 0 < most < len(words) else words
        told = f"{title}: {shown}" if title else shown
        made.append(f'<option value="{escape(value)}"{mark}>{escape(told)}</option>')
    return Markup("".join(made))  # noqa: S704  # each part is escaped


def as_boxes(name: str, pairs: Pairs, ticked: Collection[object]) -> Markup:
    """(value, words) of each as a box to tick, and `ticked` those that are."""
    field, made = escape(name), []
    for value, words in pairs:
        mark = " checked" if str(value) in ticked else ""
        box = f'<input type="checkbox" name="{field}" value="{escape(value)}"{mark}>'
        made.append(f"<label>{box}{escape(words)}</label>")
    return Markup("".join(made))  # noqa: S704  # each part is escaped


@pass_context
def url(context: Context, **changed: object) -> str:
    """This page with another query: "" and None take a word away; any change begins at the first page."""
    request = context["context"].request
    query = {**request.query_params, **({} if "page" in changed else {"page": ""}), **changed}
    kept = {name: value for name, value in query.items() if value not in ("", None)}
    path: str = request.url.path
    return path + (f"?{urlencode(kept)}" if kept else "")


@pass_context
def moment(context: Context, second: int) -> Markup:
    """A moment in the viewer's time."""
    local = datetime.fromtimestamp(second, context["context"].time_zone)
    return Markup(f'<time datetime="{_exact(second)}" data-local>{local:%Y-%m-%d %H:%M}</time>')  # noqa: S704  # digits


@pass_context
def day(context: Context, second: int) -> Markup:
    """The day of a moment in the viewer's time; the moment itself is in its title."""
    local = datetime.fromtimestamp(second, context["context"].time_zone)
    shown = f"{local.day} {local:%b %Y}"
    # Made of digits and the names of months. A list has one in each row.
    return Markup(f'<time datetime="{_exact(second)}" title="{local:%Y-%m-%d %H:%M}">{shown}</time>')  # noqa: S704


def _exact(second: int) -> str:
    return clock.text(second).replace(" ", "T") + "Z"


def host(address: str) -> str:
    """The host of a URL, for a glance at where it goes."""
    try:
        return urlsplit(address).hostname or address
    except ValueError:
        return address


def bare(address: str) -> str:
    """A URL without its scheme."""
    return address.partition("://")[2] or address
