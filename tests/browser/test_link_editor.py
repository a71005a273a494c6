"""The link editor in a real browser: channels that are typed, the preview of the shared link, accessibility."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.accessibility import faults
from tests.support.browser import window
from tests.support.browser_login import sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, ok, server
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as groups

pytestmark = ON_SQLITE
PAGE = b"<title>Boots</title><meta name=description content='Warm and dry'>"


def test_link_is_created_with_typed_channels_and_preview(
    ana: Person, chrome: Browser, address: str, internet: FakeInternet
) -> None:
    ana.add("channel", name="Newsletter")
    internet.add_host("shop.example", PUBLIC)
    with (
        server(lambda _: [ok(PAGE, b"Content-Type: text/html")]) as internet.routes[PUBLIC],
        signed_in_page(chrome, address) as page,
    ):
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(f"{address}/dashboard/links/new")
            _preview_while_typing(page, has_tabs=width == 390)
            channels = page.get_by_role("combobox", name="Find or create a channel")
            channels.fill("news")
            expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(
                ["Newsletter", "Create the channel “news”"]
            )
            assert faults(page) == []
            channels.press("Enter")
            expect(page.get_by_label("Newsletter")).to_be_checked()
            expect(page.locator("[data-picker-status]")).to_have_text("Added: Newsletter")
            channels.fill("Spring sale")
            channels.press("ArrowDown")
            channels.press("Enter")
            expect(page.get_by_label("Spring sale")).to_be_checked()
            assert faults(page) == []
        page.get_by_role("button", name="Create link").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready")
    assert [channel["name"] for channel in ana.get("/channels")["data"]["channels"]] == ["Spring sale", "Newsletter"]
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    assert len(ana.details("url", link)["channel"]) == 2


def _preview_while_typing(page: Page, *, has_tabs: bool) -> None:
    """Type a destination and a title, and check the card that a chat would show."""
    card = page.locator(".social-card")
    expect(page.locator(".card-preview")).to_be_hidden()
    page.get_by_label("Destination URL").first.fill("http://shop.example/")
    expect(card.locator(".title")).to_have_text("Boots")
    page.locator("summary", has_text="Link preview").last.click()
    page.get_by_label("Preview title").fill("My boots")
    expect(card.locator(".title")).to_have_text("My boots")
    page.get_by_label("Preview title").fill("")
    expect(card.locator(".title")).to_have_text("Boots")
    if has_tabs:
        page.locator(".view-tabs").get_by_text("Preview").click()
        expect(page.get_by_label("Preview title")).to_be_hidden()
    page.get_by_text("WhatsApp").click()
    if has_tabs:
        page.locator(".view-tabs").get_by_text("Edit").click()
        expect(card).to_be_hidden()


def test_utm_fields_read_and_write_the_destination(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("url", url="https://example.com/old?utm_medium=email", custom="old")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/new")
        url = page.get_by_label("Destination URL").first
        page.locator("summary", has_text="UTM parameters").click()
        source, medium = page.locator("#utm_source"), page.locator("#utm_medium")
        expect(page.locator("#utm_medium-used option")).to_have_attribute("value", "email")
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert faults(page) == []
        source.fill("news & more")
        source.press("Tab")
        expect(url).to_have_value("")
        url.fill("https://example.com/a?x=%7e&flag&utm_medium=e+mail&utm_medium=b&bad=%zz#top?utm_source=no")
        url.press("Tab")
        expect(medium).to_have_value("e mail")
        start = "https://example.com/a?x=%7e&flag"
        source_part = "utm_source=news%20%26%20more"
        expect(url).to_have_value(f"{start}&utm_medium=e+mail&utm_medium=b&bad=%zz&{source_part}#top?utm_source=no")
        medium.fill("post")
        medium.press("Tab")
        expect(url).to_have_value(f"{start}&utm_medium=post&bad=%zz&{source_part}#top?utm_source=no")
        for field in (medium, source):
            field.fill("")
            field.press("Tab")
        expect(url).to_have_value(f"{start}&bad=%zz#top?utm_source=no")
        url.fill("https://example.com/b?utm_source=web")
        expect(source).to_have_value("web")
        medium.fill("print")
        page.get_by_role("button", name="Create link").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready")
    stored = ana.get("/urls")["data"]["urls"][0]["longurl"]
    assert stored == "https://example.com/b?utm_source=web&utm_medium=print"


@pytest.mark.parametrize("scripts", [True, False])
def test_oldest_of_many_campaigns_and_channels_are_chosen(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    for number in range(201):
        ana.write(lambda tx, n=number: campaigns.add(tx, ana.account, name=f"Sale {n}"))  # type: ignore[misc]
        ana.write(lambda tx, n=number: groups.add(tx, ana.account, name=f"News {n}"))  # type: ignore[misc]
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/new")
        page.get_by_label("Destination URL").first.fill("https://shop.example/")
        page.locator("summary", has_text="Organization").click()
        page.get_by_label("Another campaign").fill("Sale 0")
        if scripts:
            expect(page.locator("#campaign-names option").first).to_have_attribute("value", "Sale 0")
            channels = page.get_by_role("combobox", name="Find or create a channel")
            channels.fill("news 0")
            expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["News 0"])
            channels.press("Enter")
            expect(page.get_by_label("News 0", exact=True)).to_be_checked()
        else:
            page.get_by_label("New channels").fill("news 0")
        page.get_by_role("button", name="Create link").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready")
        page.goto(f"{address}/dashboard/links/1")
        expect(page.locator("#campaign option:checked")).to_have_text("Sale 0")
    link = ana.get("/urls")["data"]["urls"][0]
    assert (link["campaign"], link["channel"]) == (1, [1])


@pytest.mark.parametrize("scripts", [True, False])
def test_rows_of_targeting_are_shown_when_they_are_added(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    link = ana.add("url", url="https://example.com/", parameters=[{"name": "coupon", "value": "A"}])
    phone = chrome.new_context(java_script_enabled=scripts, viewport={"width": 390, "height": 844})
    with window(chrome, context=phone) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/{link}")
        expect(page.locator(".bottom-nav")).to_be_hidden()
        page.locator("summary", has_text="Targeting").click()
        rows = page.locator("[data-row]:visible")
        if scripts:
            expect(rows).to_have_count(1)
            page.get_by_role("button", name="Add app links").click()
            expect(page.get_by_label("App Store")).to_be_focused()
            expect(page.get_by_role("button", name="Add app links")).to_be_hidden()
            page.get_by_role("button", name="Add parameter").click()
            expect(rows).to_have_count(3)
        else:
            expect(rows).to_have_count(6)
        page.get_by_label("Name", exact=True).last.fill("size")
        page.get_by_label("Value", exact=True).last.fill("L")
        page.get_by_role("button", name="Save").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert [row["name"] for row in ana.details("url", link)["parameters"]] == ["coupon", "size"]
