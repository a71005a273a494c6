"""Checks of the throw-away noun `badges` in every part of the service; tests/contract/test_new_noun.py runs them."""

from pathlib import Path

import pytest
from sqlalchemy import Table, func, select

from tests.conftest import Person
from tests.support.archives import export, plan
from tests.support.dashboard_client import Browser, form_version
from tests.support.databases import ON_SQLITE
from tests.support.mcp_agent import agent_of
from waypost.admin import account_deletion
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.schema.nouns import NOUNS
from waypost.items.accounts import deletion
from waypost.transfer.imports import apply, undo

pytestmark = ON_SQLITE
_STAR = {"name": "Star", "color": "#112233"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The settings, with the MCP server on."""
    return settings.model_copy(update={"mcp": "on"})


def _rows(person: Person, table: Table) -> int:
    query = select(func.count()).select_from(table).where(table.c.account == person.account)
    return int(person.database.read(lambda tx: tx.execute(query).scalar_one()))


def test_badge_is_in_navigation_search_and_trash_of_dashboard(ana: Person, dashboard: Browser) -> None:
    assert 'href="/dashboard/badges"' in dashboard.get("").text
    assert dashboard.submit_for_message("/badges/new", **_STAR) == "Your badge is ready."
    (badge,) = ana.get("/badges")["data"]["badges"]
    path = f"/badges/{badge['id']}"
    assert f"/dashboard{path}" in dashboard.get("/badges").text
    assert f"/dashboard{path}" in dashboard.get("/search", params={"q": "star"}).text
    assert "/dashboard/badges/new" in dashboard.get("/search", params={"q": "new badge"}).text
    version = form_version(dashboard.get(path), path)
    assert dashboard.submit_for_message(path, name="Moon", color="#445566", version=version) == "Saved."
    before = ana.details("badge", badge["id"])
    assert before["name"] == "Moon"
    assert "The badge was deleted." in dashboard.submit_for_message(f"{path}/delete")
    assert ana.call("GET", f"/badge/{badge['id']}").json()["message"] == "No such badge in this account."
    assert "Moon" in dashboard.get("/trash").text
    entry = ana.database.read(lambda tx: tx.execute(select(schema.trash.c.id)).scalar_one())
    assert dashboard.submit_for_message(f"/trash/{entry}/restore", at="/trash") == "The item was restored."
    assert ana.details("badge", badge["id"]) == before


def test_badges_are_changed_in_bulk_and_by_agents(ana: Person) -> None:
    created = ana.post("/bulk", {"items": [{"noun": "badge", "action": "create", "fields": _STAR}] * 2})
    first, second = (result["id"] for result in created["results"])
    change = {"noun": "badge", "action": "update", "id": first, "fields": {"name": "Moon"}}
    assert ana.post("/bulk", {"items": [change]})["results"][0]["name"] == "Moon"
    agent = agent_of(ana)
    assert [(item["id"], item["name"]) for item in agent.call("list_items", kind="badge")["items"]] == [
        (second, "Star"),
        (first, "Moon"),
    ]
    assert [(item["kind"], item["id"]) for item in agent.call("find", q="moon")["items"]] == [("badge", first)]
    assert agent.call("delete_items", kind="badge", ids=[first])["deleted"]
    assert [badge["id"] for badge in ana.get("/badges")["data"]["badges"]] == [second]


def test_badges_are_in_archive_and_in_deletion_of_account(
    ana: Person, ben: Person, settings: Settings, tmp_path: Path
) -> None:
    ben.add("badge", **_STAR)
    archive = export(ben, settings, tmp_path / "ben.zip")
    assert plan(ana, settings, archive) == {"create": 1}
    apply.apply(ana.database, ana.account, settings)
    (badge,) = ana.get("/badges")["data"]["badges"]
    assert {name: badge[name] for name in _STAR} == _STAR
    undo.undo(ana.database, ana.account)
    assert ana.get("/badges")["data"]["badges"] == []
    assert plan(ben, settings, archive) == {"there": 1}
    table = NOUNS["badge"].table
    ana.add("badge", **_STAR)
    assert ben.database.read(lambda tx: deletion.contents(tx, ben.account)).items["Badges"] == 1
    account_deletion.delete_account(ben.database, ben.account)
    assert (_rows(ben, table), _rows(ana, table)) == (0, 1)
