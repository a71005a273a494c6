"""Every page, loaded twice for all checks of a page: in English on a phone, and from right to left on a desktop."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from sqlalchemy import Connection, text

from tests.conftest import Person
from tests.support import accessibility
from tests.support.browser import HOST, Window, served, window
from tests.support.browser_login import fetched, sign_in
from tests.support.crawl import Checks, Steps, crawl
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.form_pages import FormPage, form_pages, public_form_pages, signed_out_paths, submit_in_browser
from tests.support.layout import faults_by_width, layout_faults, mirror_faults
from tests.support.layout_shift import (
    is_frame,
    load,
    record_shifts,
    show_pictures_late,
    too_much_shift,
    with_late_fonts,
)
from tests.support.public_pages import PICTURE, ROOT_PAGE, PublicPage, public_pages, shared_statistics
from tests.support.server import free_port
from tests.support.slow_pages import in_pieces
from tests.support.touch import controls_on_each_other, small_targets, zooming_fields
from tests.support.visits import CHROME
from waypost.clicks.ingest import read_barrier
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.email_reports import ops as email_reports
from waypost.items.moderation import blocklist, reports
from waypost.server.app import build

pytestmark = ON_SQLITE
_MIN_PUBLIC_PAGES = 40
_DESKTOP: ViewportSize = {"width": 1280, "height": 800}
_OPEN_ALL = "document.querySelectorAll('main details').forEach(details => { details.open = true })"
_OPEN_OTHERS = """() => {
  const exclusive = [...document.querySelectorAll("main details[name]")];
  for (const details of exclusive.reverse()) details.open = true;
  return exclusive.length > 1;
}"""
_OPEN_SOME = """document.querySelectorAll(
  "details.form-section, .chart-table, .breakdown details, .language-switch"
).forEach(details => { details.open = true })"""
_EXAMINED = (
    *("/dashboard", "/dashboard/links", "/dashboard/links/new", "/dashboard/links/1", "/dashboard/links/1/stats"),
    *("/dashboard/links/1/delete", "/dashboard/links?q=nothing+matches", "/dashboard/links/1/trial?device=iphone"),
    *("/dashboard/import", "/dashboard/import/new", "/dashboard/account", "/dashboard/account/keys"),
    *("/dashboard/account/sessions", "/dashboard/account/factor", "/dashboard/account/connections"),
    *("/dashboard/account/delete", "/dashboard/admin/accounts", "/dashboard/admin/accounts/1"),
    *("/dashboard/admin/plans", "/dashboard/admin/plans/new", "/dashboard/admin/plans/1"),
    *("/dashboard/admin/reports", "/dashboard/admin/reports/1", "/dashboard/admin/blocks"),
    "/dashboard/admin/health?try=storage",
)
"""Pages of the dashboard that axe-core checks here. Other tests check those of their part, in its states."""
_BLOCKED_CHECK = "Blocked script execution in "
"""The console message if a script that prepares checks does not run in the sandboxed frame of a preview."""
_BROKEN_PICTURES = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
_PICTURES = "[...document.images].map(one => one.src)"
_HTTP_OK, _SERVER_ERROR = 200, 500


def _serve(settings: Settings, **changes: Any) -> Iterator[str]:
    port = free_port()
    changes = {"base_url": f"http://{HOST}:{port}", "pixel_consent": "on", "root_redirect": "page", **changes}
    opened = Settings.model_validate({**settings.model_dump(), **changes})
    with served(with_late_fonts(in_pieces(build(opened, Database(settings.database)))), port) as url:
        yield url


@pytest.fixture
def english(settings: Settings, framed_site: FakeInternet) -> Iterator[str]:
    """The URL of an app whose pages arrive in pieces and whose fonts are late. The registration is closed."""
    yield from _serve(settings)


@pytest.fixture
def pseudo(settings: Settings, framed_site: FakeInternet) -> Iterator[str]:
    """The URL of an app as that of `english`, with registration and the pseudo-language."""
    yield from _serve(settings, registration="on", pseudo_language="on")


@pytest.fixture
def phone(chrome: Browser) -> Iterator[Page]:
    """A page of a phone, whose pointer is a finger."""
    screen: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    context = chrome.new_context(user_agent=CHROME, service_workers="block", **screen)
    with window(chrome, context=context, stays=True) as seen:
        yield seen.page
    context.close()


@pytest.fixture
def desktop(chrome: Browser) -> Iterator[Window]:
    """A window of a desktop in the pseudo-language, which is written from right to left and has longer texts."""
    context = chrome.new_context(user_agent=CHROME, locale=PSEUDO_LANGUAGE, service_workers="block", viewport=_DESKTOP)
    with window(chrome, context=context, stays=True) as seen:
        yield seen
        seen.console_errors[:] = [error for error in seen.console_errors if not error.startswith(_BLOCKED_CHECK)]
    context.close()


def _small_targets_in_opened_parts(page: Page) -> list[str]:
    """Check all parts opened, and once more for those of which only one can be open."""
    page.evaluate(_OPEN_ALL)
    faults = small_targets(page)
    return faults + small_targets(page) if page.evaluate(_OPEN_OTHERS) else faults


def _layout(width: int, page: Page) -> object:
    return faults_by_width(page, [width])


def _direction(page: Page) -> str:
    return "" if page.evaluate("document.documentElement.dir") == "rtl" else "from left to right"


def _violations(page: Page) -> object:
    page.evaluate(_OPEN_SOME)
    accessibility.remember_shown(page)
    return accessibility.faults(page)


def _dark_colors(page: Page) -> object:
    accessibility.show(page, "dark")
    return accessibility.color_faults(page)


def _leave(page: Page) -> None:
    """Hide the page, so that the change to the screen on which the next one loads costs nothing."""
    page.evaluate("document.body.style.display = 'none'")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(_DESKTOP)


_SHIFT: Checks = {"layout shift": too_much_shift}
_PHONE: Checks = {
    "controls on each other": controls_on_each_other,
    "small targets": small_targets,
    "small targets in opened parts": _small_targets_in_opened_parts,
    "zooming fields": zooming_fields,
    "layout": layout_faults,
}
_WIDE: Checks = {
    "direction": _direction,
    "violations at 1280": _violations,
    "layout at 1280": partial(_layout, 1280),
    "sides at 1280": mirror_faults,
    "layout at 1920": partial(_layout, 1920),
    "layout at 768": partial(_layout, 768),
    "layout at 390": partial(_layout, 390),
    "sides at 390": mirror_faults,
    "layout at 320": partial(_layout, 320),
    "violations at 320": accessibility.faults_of_small_screen,
    "dark colors at 320": _dark_colors,
    "": _leave,
}
_BY_AXE = ("violations at 1280", "violations at 320", "dark colors at 320")
_CLOSED: Checks = {
    "violations": _violations,
    "layout": faults_by_width,
    "sides": mirror_faults,
    "dark colors": _dark_colors,
}


def _steps(page: Page, address: str, paths: Iterable[str], forms: Iterable[FormPage] = ()) -> Steps:
    """Return how pages and responses to forms are opened."""
    pages = {path: partial(_load, page, address, path) for path in paths}
    return {**pages, **{form.name: partial(_submit, page, address, form) for form in forms}}


def _load(page: Page, address: str, path: str) -> None:
    """Open a page. Pages of the dashboard must not fail."""
    response = load(page, f"{address}{path}")
    assert response is not None
    assert response.status < _SERVER_ERROR or not path.startswith("/dashboard"), path


def _submit(page: Page, address: str, form: FormPage) -> None:
    """Open the response to a form. Compare its text, unless it is in the pseudo-language."""
    submit_in_browser(page, address, form)
    if page.evaluate("document.documentElement.lang") == "en":
        expect(page.get_by_text(form.says).first).to_be_visible()


def _crawl_dashboard(page: Page, address: str, forms: Iterable[FormPage], checks: Checks) -> None:
    """Check all pages of a signed-in user. A frame forbids scripts: those that record shifts, and axe-core."""
    sign_in(page, address)
    without_axe = {name: check for name, check in checks.items() if name not in _BY_AXE}
    pages = dashboard_paths()
    frames = {path: partial(page.goto, f"{address}{path}") for path in pages if is_frame(path)}
    assert crawl(page, frames, without_axe) == {}
    record_shifts(page)
    similar = [path for path in pages if path not in (*frames, *_EXAMINED)]
    assert crawl(page, _steps(page, address, similar), {**_SHIFT, **without_axe}) == {}
    assert crawl(page, _steps(page, address, _EXAMINED, forms), {**_SHIFT, **checks}) == {}


def _fill(person: Person, settings: Settings) -> list[FormPage]:
    """Create items with short and long texts, besides those of the demo. Return the pages of forms.

    All visits are counted: one that arrives while the page of visits is open moves its rows.
    """
    public_pages(person)
    forms = form_pages(person)
    for n in range(3):
        person.add("url", url=f"https://target.example/{'long' * 50}", title=f"Link {n}" * 20)
    person.write(_lengthen)
    person.write(partial(_add_report, account=person.account))
    read_barrier.require(settings.journal_dir, person.database)
    return forms


def _add_report(tx: Connection, account: int) -> None:
    email_reports.add(tx, account, email="ana@example.com", every="week", language="en", timezone="UTC")


def _lengthen(tx: Connection) -> None:
    """Give the first link long texts, and add an abuse report and a blocked host with long texts."""
    values = {"title": "Link 1" * 20, "url": f"https://target.example/{'long' * 50}"}
    tx.execute(text("UPDATE links SET title = :title, url = :url WHERE id = 1"), values)
    comment = "long-words" * 50
    reports.add(tx, host="", alias="x" * 50, reason="phishing", comment=comment, reporter=b"somebody")
    blocklist.block(tx, f"{'very-' * 11}long.example", kind="host")


def test_every_page_of_the_dashboard_suits_a_phone(
    ana: Person, phone: Page, english: str, settings: Settings, sample: None
) -> None:
    _crawl_dashboard(phone, english, _fill(ana, settings), _PHONE)


def test_every_page_of_the_dashboard_suits_a_desktop_from_right_to_left(
    ana: Person, desktop: Window, pseudo: str, settings: Settings, sample: None
) -> None:
    _crawl_dashboard(desktop.page, pseudo, _fill(ana, settings), _WIDE)
    assert set(desktop.foreign_urls) <= {PICTURE}


def _load_public(page: Page, address: str, public: PublicPage) -> None:
    """Open a public page and compare its status and text."""
    response = load(page, f"{address}/{public.path}")
    assert (public.path, response and response.status) == (public.path, public.status)
    if public.says:
        expect(page.get_by_text(public.says).first).to_be_visible()


def test_every_page_for_visitors_suits_a_phone(ana: Person, phone: Page, english: str) -> None:
    public = {f"/{page.path}": partial(_load_public, phone, english, page) for page in (*public_pages(ana), ROOT_PAGE)}
    signed_out = signed_out_paths(ana)
    paths = [*signed_out, *(f"/{path}" for path in shared_statistics(ana))]
    pictures: set[str] = set()

    def broken_pictures(page: Page) -> object:
        pictures.update(page.evaluate(_PICTURES))
        return page.evaluate(_BROKEN_PICTURES)

    record_shifts(phone)
    show_pictures_late(phone)
    steps: Steps = {**public, **_steps(phone, english, paths, public_form_pages(ana, "before-poll"))}
    assert crawl(phone, steps, {**_SHIFT, "pictures": broken_pictures, **_PHONE}) == {}
    own = [urlsplit(url)._replace(scheme="", netloc="").geturl() for url in pictures if HOST in url]
    assert own
    closed = [path for path in signed_out if "register" in path]
    complete = [path for path in (*own, *signed_out) if path not in closed]
    assert [path for path in complete if fetched(english, path.lstrip("/")).status_code != _HTTP_OK] == []
    assert closed
    assert crawl(phone, _steps(phone, english, closed), _CLOSED) == {}


def test_every_page_for_visitors_suits_a_desktop_from_right_to_left(ana: Person, desktop: Window, pseudo: str) -> None:
    page = desktop.page
    paths = [*signed_out_paths(ana), *(f"/{public.path}" for public in (*public_pages(ana), ROOT_PAGE))]
    paths += [f"/{path}" for path in shared_statistics(ana)]
    record_shifts(page)
    show_pictures_late(page)
    assert len(paths) > _MIN_PUBLIC_PAGES
    steps = _steps(page, pseudo, paths, public_form_pages(ana, "before-poll"))
    assert crawl(page, steps, {**_SHIFT, **_WIDE}) == {}
