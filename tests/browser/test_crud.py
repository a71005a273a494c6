"""Campaigns, channels, interstitials, pixels and domains in a real browser: journeys and accessibility checks."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import served, window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from tests.support.visits import new_link
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.overlays import submissions
from waypost.items.overlays.submissions import Answers
from waypost.server.app import build

pytestmark = ON_SQLITE
PATHS = (
    *(
        "/campaigns",
        "/campaigns/new",
        "/campaigns/1",
        "/campaigns/1/add",
        "/campaigns/1/stats",
        "/campaigns/1/settings",
    ),
    *("/campaigns/1/delete", "/channels", "/channels/new", "/channels/1", "/channels/1/edit", "/channels/1/add"),
    *("/splash", "/splash/1", "/overlays", "/overlays/new", "/overlays/1", "/overlays/1/answers", "/pixels"),
    *("/pixels/new", "/pixels/1", "/domains", "/domains/new", "/domains/new?domain=go.brand.example", "/domains/1"),
    "/domains/1/delete",
)


def _follow(page: Page, url: str) -> None:
    """Visit a short URL in another tab and wait for its destination."""
    other = page.context.new_page()
    other.goto(url)
    expect(other.get_by_role("heading", name="The target")).to_be_visible()
    other.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_rotator_distributes_visits_and_counts_them(
    ana: Person, chrome: Browser, address: str, ingester: None, *, scripts: bool
) -> None:
    for n in range(3):
        new_link(ana, f"landing-{n}", title=f"Landing {n}")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/campaigns")
        expect(page.get_by_role("heading", name="Your first campaign")).to_be_visible()
        page.get_by_role("link", name="New campaign").first.click()
        page.get_by_role("textbox", name="Name", exact=True).fill("Spring")
        page.get_by_role("textbox", name="Alias").fill("spring")
        page.get_by_label("Rotation", exact=True).select_option(label="Sequential")
        page.get_by_role("button", name="Create campaign").click()
        expect(page.get_by_role("status").first).to_contain_text("Your campaign is ready")
        page.get_by_label("Landing 0").check()
        page.get_by_label("Landing 1").check()
        page.get_by_role("button", name="Add to campaign").click()
        expect(page.get_by_role("status").first).to_contain_text("2 links were added.")
        page.get_by_label("Quota of landing-1").fill("1")
        page.get_by_role("button", name="Save weights and quotas").click()
        for _ in range(4):
            _follow(page, f"{address}/r/spring")
        page.get_by_role("navigation", name="Campaign", exact=True).get_by_role("link", name="Statistics").click()
        expect(page.locator(".tiles div", has_text="Through the rotator").locator("dd")).to_have_text("4")
        rows = page.locator("section", has_text="Clicks by link").locator("tbody").get_by_role("row")
        expect(rows.nth(0)).to_contain_text("Landing 0")
        expect(rows.nth(0).locator(".num").first).to_have_text("3 75%")
        expect(rows.nth(1).locator(".num").first).to_have_text("1 25%")


@pytest.mark.parametrize("scripts", [True, False])
def test_splash_page_is_shown_in_preview_and_to_visitors(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/splash/new")
        page.get_by_role("textbox", name="Name only you see it").fill("Spring")
        page.get_by_label("Heading").fill("Spring <b>is</b> here")
        page.get_by_label("Redirect after").fill("0")
        if not scripts:
            page.get_by_role("button", name="Preview").click()
        preview = page.frame_locator("iframe.preview, .preview-frames iframe:not(.loading)")
        expect(preview.get_by_role("heading", name="Spring <b>is</b> here")).to_be_visible()
        expect(preview.get_by_role("link", name="Continue")).to_be_visible()
        page.get_by_role("button", name="Create splash page").click()
        expect(page.get_by_role("status").first).to_contain_text("Your splash page is ready.")
        splash = page.url.rpartition("/")[2]
        if scripts:  # the previews added no entries to the history
            page.go_back()
            expect(page).to_have_url(f"{address}/dashboard/splash/new")
        new_link(ana, "spring", type=splash)
        page.goto(f"{address}/spring")
        expect(page.get_by_role("heading", name="Spring <b>is</b> here")).to_be_visible()


def test_overlay_submission_is_listed_and_deleted(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/overlays/new")
        page.get_by_role("link", name="Poll").click()
        page.wait_for_url("**type=poll**")
        page.get_by_role("textbox", name="Name only you see it").fill("Tea")
        page.get_by_label("Answer", exact=True).first.fill("Green")
        page.get_by_label("Answer", exact=True).nth(1).fill("Black")
        page.get_by_role("button", name="Add answer").click()
        page.get_by_label("Answer", exact=True).nth(2).fill("None")
        preview = page.frame_locator(".preview-frames iframe:not(.loading)")
        expect(preview.get_by_label("None")).to_be_visible()
        page.get_by_role("button", name="Create overlay").click()
        expect(page.get_by_role("status").first).to_contain_text("Your overlay is ready.")
        overlay = page.url.rpartition("/")[2]
        new_link(ana, "tea", type=f"overlay-{overlay}")
        visitor = page.context.new_page()
        visitor.goto(f"{address}/tea")
        visitor.get_by_label("Black").check()
        visitor.get_by_role("button", name="Vote").click()
        expect(visitor.get_by_role("status")).to_be_visible()
        visitor.close()
        page.get_by_role("link", name="Submissions").click()
        expect(page.get_by_role("row", name="Black 1")).to_be_visible()
        page.get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Delete …").click()
        expect(page.get_by_role("heading", name="Delete this submission?")).to_be_visible()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="No submissions yet")).to_be_visible()


def test_domain_is_added_after_its_check_succeeds(
    ana: Person, chrome: Browser, settings: Settings, internet: FakeInternet
) -> None:
    checked = Settings(**{**settings.model_dump(exclude_unset=True), "domain_check": "on"})

    def itself(head: bytes) -> list[bytes]:
        path = head.split()[1].decode()
        return [ok(ana.client.get(path, headers={"Host": "go.brand.example"}).content)]

    with served(build(checked, Database(checked.database))) as url, window(chrome) as seen:
        page = seen.page
        sign_in(page, url)
        page.goto(f"{url}/dashboard/domains/new")
        page.get_by_label("Host name").fill("http://go.brand.example")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("Only this machine can open short URLs")).to_be_visible()
        expect(page.get_by_text("The domain does not point to this server yet.")).to_be_visible()
        page.get_by_role("button", name="Add domain").click()
        expect(page.locator(".field-error")).to_contain_text("has no address in the DNS")
        assert ["400" in error for error in seen.console_errors] == [True]  # browsers log every error status
        seen.console_errors.clear()
        with server(itself) as internet.routes[PUBLIC]:
            internet.add_host("go.brand.example", PUBLIC)  # after the form, because the page polls too
            page.get_by_role("link", name="Check now").click()
            expect(page.get_by_text("The domain points to this server.")).to_be_visible()
            page.get_by_role("button", name="Add domain").click()
            expect(page.get_by_role("status").first).to_contain_text("Your domain is ready.")
    assert ana.get("/domains")["data"]["result"] == 1


@pytest.fixture
def ana_with_items(ana: Person) -> Person:
    """Ana with one of each resource, some with long or right-to-left text."""
    campaign = ana.add("campaign", name="حملة الربيع" * 20, slug="spring", rotation="weighted")
    for n in range(3):
        link = new_link(ana, f"landing-{n}", title=f"Landing {n} " * 20)
        ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": n + 1})
    link = new_link(ana, "other", title="x" * 255)
    channel = ana.add("channel", name="قناة" * 30, color="#ffd400", starred=True)
    ana.post(f"/channel/{channel}/assign/links/{link}")
    ana.post("/splash/add", {"name": "x" * 255, "title": "Hello", "message": "مرحبا " * 100, "counter": 8})
    overlay = ana.add("overlay", name="Tea" * 50, type="contact", message="Words " * 50)
    answers = Answers(name="Zoë", email=f"{'z' * 60}@example.com", message="Long" * 200)
    ana.write(lambda tx: submissions.add(tx, ana.account, overlay, answers, link=link))
    ana.post("/pixel/add", {"type": "tiktok", "name": "x" * 255, "tag": "C" * 64})
    ana.post(
        "/domain/add",
        {
            "domain": f"https://{'go.' * 20}brand.example",
            "redirectroot": f"https://x.example/{'y' * 300}",
            "alsowww": True,
        },
    )
    return ana


def test_pages_are_accessible_and_fit_the_screen(ana_with_items: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for path in PATHS:
            seen.page.goto(f"{address}/dashboard{path}")
            examine(seen.page, path)
        assert seen.foreign_urls == []
