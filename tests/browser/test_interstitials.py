"""Interstitials in a real browser without internet access."""

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import BRANDED, HOST, served, window
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.overlays import new_overlay
from tests.support.pixels import PROVIDER_SCRIPTS
from tests.support.visits import FIREFOX, clicks, new_link
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
TARGET = "https://target.example/page"
FRAMED = "http://framed.example/page"


@pytest.fixture(params=[HOST, BRANDED])
def host(request: pytest.FixtureRequest, ana: Person) -> str:
    """A host with the dashboard, where pages have no origin, and a branded domain, where they have one."""
    if request.param == BRANDED:
        ana.add("domain", domain=f"http://{BRANDED}")
    return str(request.param)


@pytest.fixture
def site(host: str, address: str) -> str:
    """The URL of the host in a running app."""
    return address.replace(HOST, host)


def _splash(person: Person, **fields: object) -> str:
    return str(person.add("splash", **{"name": "A page", "title": "Wait", **fields}))


@pytest.mark.parametrize("scripts", [True, False])
def test_splash_page_redirects_after_countdown_and_counts_once(
    ana: Person, chrome: Browser, host: str, site: str, *, scripts: bool
) -> None:
    link = new_link(ana, "spring", domain=host, url=TARGET, type=_splash(ana, counter=2))
    with window(chrome, scripts=scripts) as seen:
        seen.page.goto(f"{site}/spring")
        expect(seen.page.get_by_role("heading", name="Wait")).to_be_visible()
        seen.page.wait_for_url(TARGET)
    assert clicks(ana, link) == (1, 1)


def test_skip_button_appears_and_redirects(ana: Person, chrome: Browser, host: str, site: str) -> None:
    new_link(ana, "spring", domain=host, url=TARGET, type=_splash(ana, counter=60, skip=1))
    with window(chrome) as seen:
        seen.page.goto(f"{site}/spring")
        button = seen.page.get_by_role("link", name="Skip")
        expect(button).not_to_be_visible()
        expect(button).to_be_visible()
        button.click()
        seen.page.wait_for_url(TARGET)


def test_all_pixel_providers_are_started_before_redirect(ana: Person, chrome: Browser, host: str, site: str) -> None:
    pixels = [ana.add("pixel", type=kind, name=kind, tag="TAG-1") for kind in PROVIDER_SCRIPTS]
    link = new_link(ana, "spring", domain=host, url=TARGET, pixels=pixels)
    with window(chrome) as seen:
        seen.page.goto(f"{site}/spring", wait_until="commit")
        seen.page.wait_for_url(TARGET)
        assert set(seen.foreign_urls) == {TARGET, *(script for script, _ in PROVIDER_SCRIPTS.values())}
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{site}/spring", wait_until="commit")
        seen.page.wait_for_url(TARGET)
        assert seen.foreign_urls == [TARGET]
    assert clicks(ana, link)[0] == 2


def test_pixels_load_only_after_consent(ana: Person, chrome: Browser, settings: Settings, host: str) -> None:
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    link = new_link(ana, "spring", domain=host, url=TARGET, pixels=[pixel])
    script = PROVIDER_SCRIPTS["qapixel"][0]
    asking = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    with served(build(asking, Database(asking.database))) as address:
        site = address.replace(HOST, host)
        for button, request in (("Decline", [TARGET]), ("Allow", [script, TARGET])):
            context = chrome.new_context(user_agent=FIREFOX)
            with window(chrome, context=context) as seen:
                seen.page.goto(f"{site}/spring")
                expect(seen.page.get_by_role("heading", name="Allow tracking?")).to_be_visible()
                seen.page.wait_for_timeout(300)
                assert seen.foreign_urls == []
                seen.page.get_by_role("button", name=button).click()
                seen.page.wait_for_url(TARGET)
                assert seen.foreign_urls == request
            with window(chrome, context=context) as seen:
                seen.page.goto(f"{site}/spring", wait_until="commit")
                seen.page.wait_for_url(TARGET)
                assert seen.foreign_urls == request
            context.close()
    assert clicks(ana, link)[0] == 4


def test_overlay_over_frame_accepts_contact_form(
    ana: Person, chrome: Browser, host: str, site: str, framed_site: FakeInternet
) -> None:
    item = new_overlay(ana, "contact", position="center")
    new_link(ana, "spring", domain=host, url=FRAMED, type=f"overlay-{item}")
    with window(chrome) as seen:
        seen.page.goto(f"{site}/spring")
        expect(seen.page.frame_locator("iframe").get_by_role("heading", name="The target")).to_be_visible()
        seen.page.get_by_label("Your name").fill("Zoë")
        seen.page.get_by_label("Your e-mail").fill("zoe@example.com")
        seen.page.get_by_label("Your message").fill("Hello")
        seen.page.get_by_role("button", name="Write").click()
        expect(seen.page.get_by_text("We answer soon")).to_be_visible()
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{site}/spring")
        expect(seen.page.get_by_role("dialog")).to_be_visible()
        seen.page.get_by_role("button", name="Close").click()
        expect(seen.page.get_by_role("dialog")).not_to_be_visible()
    assert [submission["message"] for submission in ana.get(f"/overlay/{item}/submissions")["data"]["submissions"]] == [
        "Hello"
    ]


def test_overlay_page_accepts_contact_form_without_scripts(ana: Person, chrome: Browser, host: str, site: str) -> None:
    item = new_overlay(ana, "newsletter")
    new_link(ana, "spring", domain=host, url=TARGET, type=f"overlay-{item}")
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{site}/spring")
        seen.page.get_by_label("Your e-mail").fill("zoe@example.com")
        seen.page.get_by_role("button", name="Sign me up").click()
        expect(seen.page.get_by_role("heading", name="Thank you")).to_be_visible()
        seen.page.get_by_role("link", name="Continue").click()
        seen.page.wait_for_url(TARGET)
    assert len(ana.get(f"/overlay/{item}/submissions")["data"]["submissions"]) == 1


@pytest.mark.parametrize("kind", ["poll", "contact", "newsletter"])
def test_overlay_form_on_page_with_pixel_is_sent_by_script(
    ana: Person, chrome: Browser, host: str, site: str, kind: str
) -> None:
    item = new_overlay(ana, kind)
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    new_link(ana, "spring", domain=host, url=TARGET, type=f"overlay-{item}", pixels=[pixel])
    with window(chrome) as seen:
        page = seen.page
        page.goto(f"{site}/spring")
        if kind == "poll":
            page.get_by_label("Blue").check()
        else:
            page.get_by_label("Your e-mail").fill("zoe@example.com")
        if kind == "contact":
            page.get_by_label("Your message").fill("Hello")
        page.locator("#answer button").click()
        expect(page.get_by_role("status")).to_be_visible()
        if kind == "poll":
            expect(page.locator(".results li")).to_have_text(["Red0 %", "Blue100 %"])
        assert page.url == f"{site}/spring"
        assert seen.foreign_urls == [PROVIDER_SCRIPTS["qapixel"][0]]
        page.get_by_role("link", name="Continue").click()
        page.wait_for_url(TARGET)
    assert len(ana.get(f"/overlay/{item}/submissions")["data"]["submissions"]) == 1


def test_overlay_form_with_invalid_field_shows_message_of_server(
    ana: Person, chrome: Browser, host: str, site: str
) -> None:
    item = new_overlay(ana, "newsletter")
    new_link(ana, "spring", domain=host, url=TARGET, type=f"overlay-{item}")
    with window(chrome) as seen:
        page = seen.page
        page.goto(f"{site}/spring")
        page.get_by_label("Your e-mail").fill("zoe@localhost")  # valid for a browser
        page.locator("#answer button").click()
        expect(page.get_by_role("alert")).to_have_text("Your e-mail must be a valid address.")
        page.get_by_label("Your e-mail").fill("zoe@example.com")
        page.locator("#answer button").click()
        expect(page.get_by_role("status")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    assert len(ana.get(f"/overlay/{item}/submissions")["data"]["submissions"]) == 1


def test_consent_on_splash_page_is_kept_and_counts_once(
    ana: Person, chrome: Browser, settings: Settings, host: str
) -> None:
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    link = new_link(ana, "spring", domain=host, url=TARGET, type=_splash(ana, counter=0), pixels=[pixel])
    asking = Settings(**{**settings.model_dump(), "pixel_consent": "on"})
    with served(build(asking, Database(asking.database))) as address, window(chrome) as seen:
        seen.page.goto(f"{address.replace(HOST, host)}/spring")
        seen.page.get_by_role("button", name="Allow").click()
        expect(seen.page.get_by_text("Allow tracking?")).not_to_be_visible()
        expect(seen.page.get_by_role("heading", name="Wait")).to_be_visible()
        seen.page.wait_for_timeout(300)
        assert seen.foreign_urls == [PROVIDER_SCRIPTS["qapixel"][0]]
        assert clicks(ana, link)[0] == 1
        seen.page.get_by_role("link", name="Continue").click()
        seen.page.wait_for_url(TARGET)


def test_provider_script_can_use_cookies_and_storage(ana: Person, chrome: Browser, host: str, site: str) -> None:
    pixel = ana.add("pixel", type="qapixel", name="x", tag="TAG-1")
    new_link(ana, "spring", domain=host, url=TARGET, type=_splash(ana, counter=0), pixels=[pixel])
    script = """
        document.cookie = "_fbp=1; path=/; max-age=60";
        localStorage.setItem("a", "b");
        window.kept = [document.cookie.includes("_fbp=1"), localStorage.getItem("a"), sessionStorage.getItem("a")];
    """
    with window(chrome) as seen:
        seen.page.route(
            PROVIDER_SCRIPTS["qapixel"][0], lambda route: route.fulfill(body=script, content_type="text/javascript")
        )
        with seen.page.expect_response(PROVIDER_SCRIPTS["qapixel"][0]):
            seen.page.goto(f"{site}/spring")
        seen.page.wait_for_timeout(300)
        assert seen.page.evaluate("window.kept") == [True, "b", None]


def test_coupon_is_copied(ana: Person, chrome: Browser, host: str, site: str) -> None:
    new_link(ana, "spring", domain=host, url=TARGET, type=f"overlay-{new_overlay(ana, 'coupon')}")
    context = chrome.new_context(user_agent=FIREFOX)
    with window(chrome, context=context) as seen:
        seen.page.goto(f"{site}/spring")
        seen.page.get_by_role("button", name="Copy").click()
        expect(seen.page.get_by_role("button", name="Copied")).to_be_visible()
    context.close()
