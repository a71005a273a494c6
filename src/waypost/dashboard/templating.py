"""The dashboard's Jinja environment: the functions and filters that all templates have."""

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, partial
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.filters import do_truncate
from jinja2.runtime import Context
from markupsafe import Markup, escape

from waypost.clicks.geo import countries
from waypost.core import clock
from waypost.core.errors import not_found
from waypost.core.languages import LANGUAGES, direction
from waypost.core.uris import to_uri
from waypost.dashboard import assets, navigation
from waypost.dashboard.assets import FAVICON_PATH
from waypost.dashboard.forms import Form
from waypost.dashboard.i18n import (
    comma,
    current_language,
    format_clock,
    format_day,
    format_hour,
    format_limit,
    format_near_day,
    format_number,
    format_percent,
    format_size,
    format_time,
    gettext,
    gettext_noop,
    ngettext,
)
from waypost.dashboard.localized_names import agent_name, country_name, plan_name
from waypost.db.schema.nouns import NOUNS
from waypost.media.favicons import origin_of
from waypost.media.qrcode import render as qr_images
from waypost.urls.url_parts import display_host

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
    gettext_noop("No such report in this account."),
    gettext_noop("No such item in the trash in this account."),
)
"""The messages of `waypost.core.errors.not_found`, for items that were deleted since the page was shown."""


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


STATIC = "/dashboard/static/"
_SIDEWAYS = ("arrow-left", "arrow-right-start-on-rectangle", "arrow-uturn-left", "chevron-left", "chevron-right")
Pairs = Iterable[tuple[object, str]]
_CODE = re.compile(
    r"\bwaypost (?:audit verify|backup|check|doctor|migrate|restore|serve|settings|upgrade)\b"
    r"|\bWAYPOST_[A-Z0-9_]+(?:=[\w.-]+)?"
)
"""Commands and settings in messages."""
_HUES = 12  # classes in web/src/tables.css


@cache
def manifest() -> Mapping[str, Any]:
    """Return the output of the front end's build: `files` by their name without hash, and `icons` as SVG."""
    path = files("waypost.dashboard").joinpath("static", "manifest.json")
    if not path.is_file():
        raise RuntimeError("The dashboard's front end is not built. Run `make install`.")
    content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def render_template(template: str, **values: object) -> str:
    """Render a template with these values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """The environment; templates are compiled on first use, once per process."""
    environment = Environment(
        loader=PackageLoader("waypost.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # otherwise every page would check the modification times of its templates
    )
    environment.globals |= {
        "_": gettext,
        "ngettext": ngettext,
        "comma": comma,
        "format_clock": format_clock,
        "format_hour": format_hour,
        "format_number": format_number,  # unlike a filter, a call is never computed when a template is compiled
        "page_language": current_language.get,
        "page_direction": lambda: direction(current_language.get()),
        "page_languages": LANGUAGES,
        "static": static,
        "icon": icon,
        "flag": flag,
        "country_name": country_name,
        "agent_name": agent_name,
        "plan_name": plan_name,
        "world": manifest()["world"],
        "current_url": current_url,
        "check_choice": check_choice,
        "render_options": render_options,
        "render_action_buttons": render_action_buttons,
        "render_checkboxes": render_checkboxes,
        "navigation": navigation,
        "brand_style": assets.style_path,
        "brand_logo": assets.logo_path,
        "brand_version": assets.brand_version,
    }
    environment.filters |= _filters()
    return environment


def _filters() -> Mapping[str, Callable[..., object]]:
    return {
        "local_time": local_time,
        "local_date": local_date,
        "day": day,
        "day_of_input": day_of_input,
        "near_date": near_date,
        "near_day": near_day,
        "iso_day": lambda text: day(date.fromisoformat(text)),
        "relative_time": relative_time,
        "number": _evaluated_for_each_page(format_number),
        "host": host,
        "host_mark": host_mark,
        "qr_code": qr_images.qr_data_url,
        "without_scheme": without_scheme,
        "breakable": breakable,
        "with_code": with_code,
        "percent": _evaluated_for_each_page(format_percent),
        "point_time": point_time,
        "file_size": _evaluated_for_each_page(format_size),
        "size_limit": _evaluated_for_each_page(format_limit),
        "uri": to_uri,
    }


def _evaluated_for_each_page(function: Callable[..., object]) -> Callable[..., object]:
    """Return a filter whose result depends on the language. Jinja would compute those of constants only once."""

    @pass_context
    def run(_context: Context, *values: object) -> object:
        return function(*values)

    return run


def static(name: str) -> str:
    """Return the path of a built file, such as `app.js`."""
    return STATIC + static_name(name)


def static_name(name: str) -> str:
    """Return the name of a built file with its hash."""
    return str(manifest()["files"][name])


def icon(name: str) -> Markup:
    """Return an icon of web/icons.json as SVG. Pages written from right to left mirror those that point sideways."""
    svg: str = manifest()["icons"][name]
    if name in _SIDEWAYS:
        svg = svg.replace('class="icon"', 'class="icon sideways"')
    return _markup(svg)


def _markup(*parts: str) -> Markup:
    """Join HTML of our own build, or whose values are escaped. `Markup.join` would escape it again, and slowly."""
    return Markup("".join(parts))  # noqa: S704


def render_options(
    pairs: Pairs, selected: object = "", *, value_prefix: str = "", label_prefix: str = "", max_length: int = 0
) -> Markup:
    """Return (value, text) pairs as options of a <select>, five times as fast as a loop in a template.

    Texts are truncated to about `max_length` characters; 0 for no limit. The prefixes are put before value and text.
    """
    labeled, options = gettext("%(label)s: %(text)s"), []
    for key, text in pairs:
        value = f"{value_prefix}{key}"
        attribute = " selected" if value == str(selected) else ""
        short = do_truncate(_environment(), text, max_length) if 0 < max_length < len(text) else text
        label = labeled % {"label": label_prefix, "text": short} if label_prefix else short
        options.append(f'<option value="{escape(value)}"{attribute}>{escape(label)}</option>')
    return _markup(*options)


def render_action_buttons(pairs: Pairs, prefix: str = "", max_length: int = 40) -> Markup:
    """Return (value, text) pairs as buttons of a menu, which takes a third of the time of a loop in a template.

    The prefix is put before each value. Texts are truncated to about `max_length` characters.
    """
    start = f'<button class="plain" name="action" dir="auto" value="{escape(prefix)}'
    truncate = partial(do_truncate, _environment(), length=max_length)
    buttons = [f'{start}{escape(value)}">{escape(truncate(text))}</button>' for value, text in pairs]
    return _markup(*buttons)


def render_checkboxes(name: str, pairs: Pairs, checked: Collection[object]) -> Markup:
    """Return (value, text) pairs as checkboxes."""
    field, boxes = escape(name), []
    for value, text in pairs:
        attribute = " checked" if str(value) in checked else ""
        box = f'<input type="checkbox" name="{field}" value="{escape(value)}"{attribute}>'
        boxes.append(f"<label>{box}{escape(text)}</label>")
    return _markup(*boxes)


def flag(country: str) -> Markup:
    """Return the flag of a country as a picture that loads when it is visible; nothing for an unknown name."""
    name = manifest()["flags"].get(countries.code_of(country))
    if name is None:
        return Markup()
    source = STATIC + name
    return Markup('<img class="flag" src="{}" alt="" width="18" height="12" loading="lazy">').format(source)


@pass_context
def current_url(context: Context, *, path: str = "", **changes: object) -> str:
    """Return this page's URL, or that of another `path`, with a changed query: "" and None remove a parameter.

    Any change resets the page.
    """
    request = context["context"].request
    query = {**request.query_params, **({} if "page" in changes else {"page": ""}), **changes}
    parameters = {name: value for name, value in query.items() if value not in ("", None)}
    address: str = path or request.url.path
    return address + (f"?{urlencode(parameters)}" if parameters else "")


@pass_context
def local_time(context: Context, second: int) -> Markup:
    """Return a Unix time as <time> in the viewer's time zone."""
    local, zone = _local(context, second)
    element = Markup('<time datetime="{}" title="{}" data-local>{}</time>')
    return element.format(_iso(second), zone, format_time(local))


@pass_context
def relative_time(context: Context, second: int) -> Markup:
    """Return a Unix time like `local_time`, which a script replaces by the time since then."""
    local, zone = _local(context, second)
    element, text = Markup('<time datetime="{}" title="{} {}" data-relative>{}</time>'), format_time(local)
    return element.format(_iso(second), text, zone, text)


@pass_context
def local_date(context: Context, second: int) -> Markup:
    """Return the date of a Unix time in the viewer's time zone, with the time of day in its title."""
    return _date(context, second, day(_local(context, second)[0]))


@pass_context
def near_date(context: Context, second: int) -> Markup:
    """Return a date as `local_date`, without its year if that is this one."""
    return _date(context, second, near_day(context, second))


def _date(context: Context, second: int, text: str) -> Markup:
    local, zone = _local(context, second)
    return Markup('<time datetime="{}" title="{} {}">{}</time>').format(_iso(second), format_time(local), zone, text)


def _local(context: Context, second: int) -> tuple[datetime, str]:
    """Return a Unix time in the viewer's time zone, and the name of the zone."""
    zone = context["context"].time_zone
    return clock.local(second, zone), zone.key


def day(value: date) -> str:
    """Return a day as in `local_date`."""
    return format_day(value)


@pass_context
def near_day(context: Context, value: str | int) -> str:
    """Return a day, of YYYY-MM-DD or a Unix time, in the viewer's time zone; without its year if that is this one."""
    today, _ = _local(context, clock.now())
    local = date.fromisoformat(value) if isinstance(value, str) else _local(context, value)[0].date()
    return format_near_day(local, today.date())


def day_of_input(value: str) -> str:
    """Return the day of the value of a `datetime-local` field; "" for another text."""
    try:
        return format_day(date.fromisoformat(value[:10]))
    except ValueError:
        return ""


def point_time(at: str, interval: str) -> Markup:
    """Return the start of a point of a chart, YYYY-MM-DD HH:MM:SS, as <time> for people and scripts."""
    local = datetime.fromisoformat(at)
    text = format_time(local) if interval == "hour" else format_day(local)
    return Markup('<time datetime="{}">{}</time>').format(f"{local:%Y-%m-%d %H:%M}", text)


def _iso(second: int) -> str:
    return clock.text(second).replace(" ", "T") + "Z"


_FAVICON = Markup('<img src="{}?origin={}" alt="" loading="lazy" decoding="async" width="32" height="32">')


def host(address: str) -> str:
    """Return the host of a URL, or the text itself if it has none."""
    return display_host(address) or address


def host_mark(address: str, *, has_icon: bool = False) -> Markup:
    """Return the first character of a URL's host in one of twelve colors, always the same for a host.

    With an icon, that of the site lies on it, once the service has it.
    """
    name = host(address).casefold().removeprefix("www.")
    letter = next((character for character in name if character.isalnum()), "?").upper()[:1]
    hue = zlib.crc32(name.encode()) % _HUES
    origin = origin_of(address) if has_icon else ""
    icon = _FAVICON.format(FAVICON_PATH, quote(origin, safe="")) if origin else ""
    return Markup('<span class="host-mark hue-{}" aria-hidden="true">{}{}</span>').format(hue, letter, icon)


def without_scheme(address: str) -> str:
    """Return a URL without its scheme."""
    return address.partition("://")[2] or address


def with_code(text: str) -> Markup:
    """Return a text with its commands and settings as code."""
    safe, shown, end = escape(text), Markup(""), 0
    for match in _CODE.finditer(safe):
        shown += safe[end : match.start()] + Markup('<code dir="ltr">{}</code>').format(match[0])
        end = match.end()
    return shown + safe[end:]


def breakable(address: str) -> Markup:
    """Return an address as host and path, whose lines break before a slash or dot, if possible."""
    host, slash, path = address.partition("/")
    return Markup("").join(Markup("<span>{}</span>").format(_breakable(part)) for part in (host, slash + path) if part)


def _breakable(text: str) -> Markup:
    return Markup("<wbr>/").join(Markup("<wbr>.").join(part.split(".")) for part in text.split("/"))
