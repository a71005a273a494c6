"""Aliases of items in the trash: they stay reserved, can be restored, and become free for their account only."""

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.dashboard_client import Browser
from tests.support.files import new_file, upload
from tests.support.imports import SHOP, planned_rows, run
from tests.support.trash import delete_in_dashboard, entries, move, restore, restore_in_dashboard
from tests.support.visits import DESTINATION, new_link, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.transfer.imports import apply
from waypost.transfer.imports.planner import Options

BRAND = "https://go.brand.example"
IN_TRASH = "That alias belongs to an item in your trash."
TAKEN = "That alias is taken."


def test_alias_in_trash_is_refused_with_reason_until_item_is_deleted_for_good(
    ana: Person, ben: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    delete_in_dashboard(dashboard, "url", new_link(ana, "spring"))
    other = new_link(ana, "other")
    body = {"url": SHOP, "custom": "spring"}
    bio = {"name": "Page", "alias": "spring"}

    def refusals(person: Person) -> list[str]:
        return [
            refused(person.call("POST", "/url/add", body), 400, "custom"),
            refused(person.call("POST", "/bio/add", bio), 400, "alias"),
            refused(upload(person, "a.txt", custom="spring"), 400, "custom"),
        ]

    assert all(message.startswith(IN_TRASH) for message in refusals(ana))
    assert refused(ana.call("PUT", f"/url/{other}/update", {"custom": "spring"}), 400, "custom").startswith(IN_TRASH)
    assert all(message.startswith(TAKEN) for message in refusals(ben))
    dashboard.submit("/trash/delete", at="/trash", id=entries(database, ana))
    assert visit(service, "spring").status_code == 404
    assert all(message.startswith(TAKEN) for message in refusals(ben))
    ana.post("/url/add", body)
    assert visit(service, "spring").headers["location"] == SHOP


@pytest.mark.parametrize("noun", ["url", "campaign", "bio", "file"])
def test_restored_alias_reaches_its_item_again(
    noun: str, ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    path = "r/spring" if noun == "campaign" else "spring"
    if noun == "url":
        item = new_link(ana, "spring")
    elif noun == "file":
        item = new_file(ana, "a.txt", custom="spring")
    elif noun == "bio":
        item = ana.add("bio", name="Page", alias="spring")
    else:
        item = ana.add("campaign", name="Spring", slug="spring", public=True)
        ana.post(f"/campaign/{item}/assign/{new_link(ana, 'member')}")
    before = visit(service, path)
    assert before.status_code in (200, 302)
    delete_in_dashboard(dashboard, noun, item)
    assert visit(service, path).status_code == 404
    restore_in_dashboard(dashboard, *entries(database, ana))
    after = visit(service, path)
    assert (after.status_code, after.headers.get("location")) == (before.status_code, before.headers.get("location"))


def test_restored_alias_is_that_of_domain_that_ignores_case_now(
    ana: Person, service: AsgiClient, database: Database
) -> None:
    domain = ana.add("domain", domain=BRAND)
    link = new_link(ana, "Sale", domain=BRAND)
    move(database, ana, "url", link)
    new_link(ana, "sALE", domain=BRAND)
    message = refused(ana.call("PUT", f"/domain/{domain}/update", {"ignorecase": True}), 400, "ignorecase")
    assert message.endswith("Rename one, or delete it from the trash.")
    ana.remove("url", link + 1)
    ana.update("domain", domain, ignorecase=True)
    assert refused(ana.call("POST", "/url/add", {"url": SHOP, "custom": "SALE", "domain": BRAND}), 400, "custom")
    restore(database, ana, entries(database, ana))
    assert ana.details("url", link)["alias"] == "sale"
    assert visit(service, f"{BRAND}/sAlE").headers["location"] == DESTINATION


def test_import_reports_alias_in_trash(ana: Person, ben: Person, settings: Settings, database: Database) -> None:
    move(database, ana, "url", new_link(ana, "spring"))
    export = f"alias,url\nspring,{SHOP}"
    for options in (Options("skip"), Options("replace")):
        (row,) = planned_rows(ana, settings, export, options)
        assert (row.fate, row.reason) == ("conflict", "The alias belongs to an item in your trash.")
    (row,) = planned_rows(ana, settings, export, Options("suffix"))
    assert (row.fate, row.alias) == ("create", "spring-2")
    (row,) = planned_rows(ben, settings, export)
    assert (row.fate, row.reason) == ("conflict", "The alias is taken.")


def test_import_does_not_take_alias_that_moved_to_trash_after_its_plan(
    ana: Person, service: AsgiClient, settings: Settings, database: Database
) -> None:
    link = new_link(ana, "spring")
    ana.remove("url", link)  # the alias is free for the account
    planned_rows(ana, settings, f"alias,url\nspring,{SHOP}")
    link = new_link(ana, "spring")
    move(database, ana, "url", link)
    apply.apply(database, ana.account, settings)
    assert ana.get("/urls")["data"]["result"] == 0
    restore(database, ana, entries(database, ana))
    assert ana.details("url", link)["alias"] == "spring"


def test_restored_import_is_known_to_next_import(ana: Person, settings: Settings, database: Database) -> None:
    export = f"id,alias,url\n7,spring,{SHOP}"
    run(ana, settings, export)
    before = [row.fate for row in planned_rows(ana, settings, export)]
    link = ana.get("/urls")["data"]["urls"][0]["id"]
    move(database, ana, "url", link)
    restore(database, ana, entries(database, ana))
    assert [row.fate for row in planned_rows(ana, settings, export)] == before
