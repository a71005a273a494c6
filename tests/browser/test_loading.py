"""Layout shift while a page loads on a desktop (CLS): the page in pieces. Phones are in `test_touch_targets.py`."""

from functools import partial

from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.crawl import crawl
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.form_pages import signed_out_paths
from tests.support.layout_shift import is_frame, load, record_shifts, show_pictures_late, too_much_shift
from tests.support.public_pages import ROOT_PAGE, public_pages, shared_statistics

pytestmark = ON_SQLITE
_MIN_PUBLIC_PAGES = 40
_CHECKS = {"layout shift": too_much_shift}


def test_pages_do_not_shift_while_they_load(ana: Person, chrome: Browser, slow_address: str, sample: None) -> None:
    with window(chrome) as seen:
        sign_in(seen.page, slow_address)
        record_shifts(seen.page)
        seen.page.set_viewport_size({"width": 1280, "height": 800})
        paths = [path for path in dashboard_paths() if not is_frame(path)]
        steps = {path: partial(load, seen.page, f"{slow_address}{path}") for path in paths}
        assert crawl(seen.page, steps, _CHECKS) == {}


def test_public_pages_do_not_shift_while_they_load(ana: Person, chrome: Browser, slow_public_address: str) -> None:
    signed_out = [path.lstrip("/") for path in signed_out_paths(ana)]
    paths = [*signed_out, *(page.path for page in (*public_pages(ana), ROOT_PAGE)), *shared_statistics(ana)]
    assert len(paths) > _MIN_PUBLIC_PAGES
    with window(chrome, stays=True) as seen:
        record_shifts(seen.page)
        show_pictures_late(seen.page)
        seen.page.set_viewport_size({"width": 1280, "height": 800})
        steps = {path: partial(load, seen.page, f"{slow_public_address}/{path}") for path in paths}
        assert crawl(seen.page, steps, _CHECKS) == {}


def test_field_of_a_page_in_pieces_gets_the_focus(chrome: Browser, slow_address: str) -> None:
    with window(chrome) as seen:
        seen.page.goto(f"{slow_address}/dashboard/signin")
        expect(seen.page.get_by_label("Username or e-mail")).to_be_focused()
