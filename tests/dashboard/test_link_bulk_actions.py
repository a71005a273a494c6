"""Bulk actions of the list of links: channel, expiry, domain, UTM template, export, and undo of each."""

import csv
import io
import re
from html import unescape
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import Person
from tests.support.bulk_actions import PLACE, SKIPPED, message_of, new_links, restore_deleted, run_action, undo_action
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.statements import counted_statements
from tests.support.visits import DESTINATION
from waypost.db.schema import link_undos


def test_status_and_campaign_of_selected_links_are_undone(ana: Person, dashboard: Browser) -> None:
    first, second = (ana.add("campaign", name=name) for name in ("Spring", "Summer"))
    ids = new_links(ana, campaign=first)
    ana.update("url", ids[0], campaign=None, status="private")
    page = run_action(dashboard, "status-disabled", ids)
    assert {ana.details("url", link)["status"] for link in ids} == {"disabled"}
    assert undo_action(dashboard, page) == "3 links are as they were."
    assert [ana.details("url", link)["status"] for link in ids] == ["private", "public", "public"]
    page = run_action(dashboard, f"campaign-{second}", ids)
    ana.update("url", ids[1], campaign=first)
    ana.remove("url", ids[2])
    assert undo_action(dashboard, page) == (
        "The link is as it was. 2 links were changed again or deleted, and stay as they are."
    )
    assert [ana.details("url", link)["campaign"] for link in ids[:2]] == [None, first]
    page = run_action(dashboard, f"campaign-{second}", ids[1:2])
    ana.remove("campaign", first)
    assert "stays as it is" in undo_action(dashboard, page)


def test_links_are_added_to_and_removed_from_channel_and_undone(ana: Person, dashboard: Browser) -> None:
    channel = ana.add("channel", name="Letter")
    ids = new_links(ana)
    ana.update("url", ids[0], channel=[channel])

    def members() -> list[bool]:
        return [ana.details("url", link)["channel"] == [channel] for link in ids]

    page = run_action(dashboard, f"channel-{channel}", ids)
    assert members() == [True] * 3
    assert undo_action(dashboard, page) == "2 links are as they were."
    assert members() == [True, False, False]
    page = run_action(dashboard, f"unchannel-{channel}", ids)
    assert message_of(page) == "3 links were updated."
    assert members() == [False] * 3
    assert undo_action(dashboard, page) == "The link is as it was."
    assert members() == [True, False, False]
    page = run_action(dashboard, f"unchannel-{channel}", ids[1:])
    assert "Undo" not in page.text, "nothing was changed"


def test_expiry_is_asked_set_removed_and_undone(ana: Person, dashboard: Browser) -> None:
    ids = new_links(ana)
    ana.update("url", ids[0], expiry="2099-01-01 10:00:00")
    page = run_action(dashboard, "expiry", ids, expiry="2098-12-31T23:59")
    assert [ana.details("url", link)["expiry"] for link in ids] == ["2098-12-31 23:59:00"] * 3
    assert undo_action(dashboard, page) == "3 links are as they were."
    assert [ana.details("url", link)["expiry"] for link in ids] == ["2099-01-01 10:00:00", "", ""]
    run_action(dashboard, "expiry", ids[:1], expiry="")
    assert ana.details("url", ids[0])["expiry"] == ""


@pytest.mark.parametrize(
    ("expiry", "error"), [("2001-01-01T10:00", "must not be in the past"), ("soon", "must be a date")]
)
def test_invalid_expiry_is_reported_at_its_field_and_selection_is_kept(
    ana: Person, dashboard: Browser, expiry: str, error: str
) -> None:
    ids = new_links(ana)
    question = dashboard.submit("/links/bulk", at="/links", action="expiry", id=ids)
    form = {name: hidden_field(question, name) for name in ("token", "action", "confirmed")}
    page = dashboard.client.post("/dashboard/links/bulk", data={**form, "id": ids, "expiry": expiry})
    assert page.status_code == 400
    assert f"Expires {error}" in page.text
    assert hidden_field(page, "id") == ",".join(map(str, ids))
    assert [ana.details("url", link)["expiry"] for link in ids] == [""] * 3


def test_domain_is_changed_with_conflicts_named_and_undone(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://go.brand.example")
    ids = new_links(ana)
    taken = ana.add("url", url=DESTINATION, custom="link-1", domain="https://go.brand.example")
    page = run_action(dashboard, "domain-go.brand.example", ids)
    assert message_of(page) == (
        "2 links were updated. One link stays as it was: link-1 (That alias is taken. Please choose another one)."
    )
    hosts = [ana.details("url", link)["shorturl"] for link in ids]
    assert [url.startswith("https://go.brand.example/link-") for url in hosts] == [True, False, True]
    assert ana.details("url", taken)["shorturl"] == "https://go.brand.example/link-1"
    assert undo_action(dashboard, page) == "2 links are as they were."
    assert not [url for link in ids if "brand" in (url := ana.details("url", link)["shorturl"])]


def test_domain_that_ignores_case_is_undone_to_same_alias(ana: Person, dashboard: Browser) -> None:
    ana.add("domain", domain="https://go.brand.example", ignorecase=True)
    link = ana.add("url", url=DESTINATION, custom="Link-A")
    page = run_action(dashboard, "domain-go.brand.example", [link])
    assert ana.details("url", link)["shorturl"] == "https://go.brand.example/link-a"
    assert undo_action(dashboard, page) == "The link is as it was."
    assert ana.details("url", link)["alias"] == "Link-A"


def test_template_is_written_into_selected_links_and_undone(ana: Person, dashboard: Browser) -> None:
    template = ana.add("utm", name="Newsletter", utm_source="news", utm_medium="email")
    ids = new_links(ana)
    ana.update("url", ids[1], url=f"{DESTINATION}?utm_source=news&utm_medium=email")
    before = [ana.details("url", link)["longurl"] for link in ids]
    page = run_action(dashboard, f"utm-{template}", ids)
    assert message_of(page) == "3 links were updated."
    assert ana.details("url", ids[0])["longurl"] == f"{DESTINATION}?n=0&utm_source=news&utm_medium=email"
    assert undo_action(dashboard, page) == "2 links are as they were."
    assert [ana.details("url", link)["longurl"] for link in ids] == before


def test_template_is_written_with_one_update_for_all_links(ana: Person, dashboard: Browser) -> None:
    template = ana.add("utm", name="Newsletter", utm_source="news")
    ids = new_links(ana, 25)
    with counted_statements("links") as statements:
        page = run_action(dashboard, f"utm-{template}", ids)
    assert message_of(page) == "25 links were updated."
    assert sum(statement.startswith("UPDATE links") for statement in statements) == 1
    assert all(ana.details("url", link)["longurl"].endswith("utm_source=news") for link in ids)


def test_destination_that_cannot_take_the_parameters_is_named(ana: Person, dashboard: Browser) -> None:
    template = ana.add("utm", name="Long", utm_source="x" * 255)
    ids = new_links(ana, 1)
    ana.update("url", ids[0], url=f"https://example.com/?{'x' * 8100}")
    page = run_action(dashboard, f"utm-{template}", ids)
    assert "One link stays as it was: link-0 (" in message_of(page)
    assert "Undo" not in page.text


def test_selected_and_all_matching_links_are_exported(ana: Person, ben: Person, dashboard: Browser) -> None:
    ids, foreign = new_links(ana, 30), ben.add("url", url=DESTINATION)

    def exported(**fields: Any) -> list[str]:
        response = dashboard.submit("/links/bulk?q=link-2", at="/links", action="export", **fields)
        assert response.headers["content-type"].startswith("text/csv")
        return [row["id"] for row in csv.DictReader(io.StringIO(response.text.removeprefix("\ufeff")))]

    assert exported(id=ids[3:5]) == [str(link) for link in ids[3:5]]
    assert exported(all="1", id=ids[:1]) == [str(link) for link in reversed([ids[2], *ids[20:30]])]
    assert exported(id=[ids[3], foreign]) == [str(ids[3])]
    unknown = dashboard.submit("/links/bulk", at="/links", action="export", id=[foreign])
    assert dashboard.flash_message(unknown) == SKIPPED
    nothing = dashboard.submit("/links/bulk", at="/links", action="export")
    assert dashboard.flash_message(nothing) == "Select at least one link."


def test_actions_on_links_and_targets_of_others_change_nothing(ana: Person, ben: Person, dashboard: Browser) -> None:
    own, foreign = ana.add("url", url=DESTINATION), ben.add("url", url=DESTINATION)
    before = ben.details("url", foreign)
    channel, campaign = ana.add("channel", name="A"), ana.add("campaign", name="A")
    template = ana.add("utm", name="A", utm_source="a")
    ana.add("domain", domain="https://go.brand.example")
    actions = ("status-disabled", f"campaign-{campaign}", f"channel-{channel}", f"unchannel-{channel}", "expiry")
    for action in (*actions, f"utm-{template}", "domain-go.brand.example", "export"):
        form = {"action": action, "id": [foreign], "confirmed": "1", "expiry": "2099-01-01T00:00"}
        message = dashboard.flash_message(dashboard.submit("/links/bulk", at="/links", **form))
        assert message == SKIPPED, action
    assert ben.details("url", foreign) == before
    ben.add("domain", domain="https://theirs.example")
    theirs = (
        f"channel-{ben.add('channel', name='B')}",
        f"unchannel-{ben.add('channel', name='C')}",
        f"campaign-{ben.add('campaign', name='B')}",
        f"utm-{ben.add('utm', name='B', utm_source='b')}",
        "domain-theirs.example",
    )
    for action in theirs:
        form = {"action": action, "id": [own], "confirmed": "1"}
        message = dashboard.flash_message(dashboard.submit("/links/bulk", at="/links", **form))
        assert re.fullmatch("No such (channel|campaign|UTM template|domain) in this account.", message), action
    details = ana.details("url", own)
    assert (details["status"], details["channel"], details["campaign"], details["longurl"]) == (
        "public",
        [],
        None,
        DESTINATION,
    )


def test_more_links_than_one_transaction_are_changed_deleted_and_restored(ana: Person, dashboard: Browser) -> None:
    items = [{"action": "create", "noun": "url", "fields": {"url": DESTINATION}} for _ in range(1_000)]
    for _ in range(2):
        ana.post("/bulk", {"items": items})
    ids = [ana.add("url", url=DESTINATION) for _ in range(10)]

    def run_on_all(action: str) -> Any:
        question = dashboard.submit("/links/bulk", at="/links", action=action, all="1", next=PLACE)
        assert len(hidden_field(question, "id").split(",")) == 2_010
        names = ("token", "action", "confirmed", "next", "id")
        form = {name: unescape(hidden_field(question, name)) for name in names}
        path = "delete" if action == "delete" else "bulk"
        response = dashboard.client.post(f"/dashboard/links/{path}", data=form)
        return dashboard.client.get(response.headers["location"])

    page = run_on_all("status-disabled")
    assert message_of(page) == "2,010 links were updated."
    assert ana.get("/urls", limit=1)["data"]["result"] == 2_010
    assert {ana.details("url", link)["status"] for link in (1, 1_500, ids[-1])} == {"disabled"}
    assert undo_action(dashboard, page) == "2,010 links are as they were."
    assert {ana.details("url", link)["status"] for link in (1, 1_500, ids[-1])} == {"public"}
    page = run_on_all("delete")
    assert message_of(page) == "2,010 links were deleted."
    assert ana.get("/urls", limit=1)["data"]["result"] == 0
    assert restore_deleted(dashboard, page) == "2,010 items were restored."
    assert ana.get("/urls", limit=1)["data"]["result"] == 2_010


@pytest.mark.parametrize(
    "action", ["", "status", "status-x", "channel", "channel-x", "utm-", "utm-9" + "9" * 30, "nonsense", "campaign-²"]
)
def test_unknown_action_is_refused(ana: Person, dashboard: Browser, action: str) -> None:
    response = dashboard.submit("/links/bulk", at="/links", action=action, id=new_links(ana, 1))
    assert dashboard.flash_message(response) == "Select an action."


def test_undo_of_another_account_and_old_ones_are_unknown(ana: Person, ben: Person, dashboard: Browser) -> None:
    ids = new_links(ana, 1)
    pages = [run_action(dashboard, f"status-{status}", ids) for status in ("disabled", "public", "private", "public")]
    batches = [re.findall(r'value="(\w{32})"', page.text)[0] for page in pages]
    token = hidden_field(pages[0], "token")
    ana.write(
        lambda tx: tx.execute(update(link_undos).where(link_undos.c.batch == batches[1]).values(account=ben.account))
    )
    for batch in (batches[0], batches[1], "", "x" * 1000):
        data = {"token": token, "batch": batch}
        assert dashboard.client.post("/dashboard/links/undo", data=data).status_code == 404
    assert ana.details("url", ids[0])["status"] == "public"
