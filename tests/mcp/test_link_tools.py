"""Tools for links: find, read, create, change, many at once, dead links."""

import pytest

from tests.conftest import BASE, Person
from tests.support.mcp_agent import Agent
from waypost.core.settings import Settings
from waypost.db.schema import link_checks


def test_created_link_is_found_and_read_by_id_and_short_url(agent: Agent, ana: Person) -> None:
    made = agent.call("create_link", url="https://example.com/boots", custom="boots", title="Winter boots")
    assert made["short_url"] == f"{BASE}/boots"
    assert [link["id"] for link in agent.call("find_links", q="WINTER")["links"]] == [made["id"]]
    by_id = agent.call("read_link", id=made["id"])
    assert by_id == agent.call("read_link", short=made["short_url"]) == agent.call("read_link", short="boots")
    assert by_id["link"] == ana.details("url", made["id"])


def test_changed_link_keeps_settings_that_are_not_sent(agent: Agent, ana: Person) -> None:
    link = ana.add("url", url="https://example.com/", title="Boots", clicklimit=5)
    agent.call("change_link", id=link, url="https://example.com/new", clicklimit=None)
    details = ana.details("url", link)
    assert (details["longurl"], details["title"], details["clicklimit"]) == ("https://example.com/new", "Boots", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "url is required. (field: url; code: invalid)"),
        ({"url": "javascript:alert(1)"}, "url must begin with http:// or https://. (field: url; code: invalid)"),
        ({"url": "https://example.com/", "custom": "mcp"}, "custom is reserved by this service."),
        ({"url": "https://example.com/", "clicklimit": 0}, "clicklimit must be at least 1. (field: clicklimit;"),
        ({"url": "https://example.com/", "campaign": 99}, "campaign must be the id of a campaign in this account;"),
        ({"url": "https://example.com/", "colour": "red"}, "colour is not an argument of create_link."),
        ({"url": "https://example.com/", "geotarget": [{"location": "Atlantis", "link": "https://a.example"}]}, "geo"),
        ({"url": "https://example.com/\0"}, "url must not contain NUL characters. (field: url; code: invalid)"),
    ],
)
def test_invalid_argument_is_tool_error_with_field_and_fix(agent: Agent, arguments: object, message: str) -> None:
    assert agent.problem("create_link", **arguments).startswith(message)  # type: ignore[arg-type]


def test_read_link_needs_either_id_or_short_url(agent: Agent) -> None:
    for arguments in ({}, {"id": 1, "short": "boots"}):
        assert agent.problem("read_link", **arguments).startswith("Send id or short, and not both.")


def test_numbers_and_booleans_as_text_are_accepted(agent: Agent, ana: Person) -> None:
    link = agent.call("create_link", url="https://example.com/", clicklimit="7")["id"]
    assert ana.details("url", link)["clicklimit"] == 7


def test_pages_of_links_are_complete_and_bounded(agent: Agent, ana: Person) -> None:
    ids = [ana.add("url", url=f"https://example.com/{number}") for number in range(5)]
    first = agent.call("find_links", limit=2)
    assert (first["total"], first["page"], first["next_page"]) == (5, 1, 2)
    last = agent.call("find_links", limit=2, page=3)
    assert ([link["id"] for link in last["links"]], last["next_page"]) == ([ids[0]], None)
    assert agent.call("find_links", limit=2, page=900)["links"] == []
    assert "limit must be at most 100" in agent.problem("find_links", limit=101)


def test_links_are_filtered_by_campaign_status_and_state(agent: Agent, ana: Person) -> None:
    campaign = ana.add("campaign", name="Boots")
    inside = ana.add("url", url="https://example.com/1", campaign=campaign)
    disabled = ana.add("url", url="https://example.com/2", status="disabled")
    locked = ana.add("url", url="https://example.com/3", password="secret")
    for arguments, expected in (({"campaign": campaign}, inside), ({"status": "disabled"}, disabled)):
        assert [link["id"] for link in agent.call("find_links", **arguments)["links"]] == [expected]
    assert [link["id"] for link in agent.call("find_links", state="password")["links"]] == [locked]


def test_many_links_are_created_and_one_failure_affects_no_other(agent: Agent, ana: Person) -> None:
    ana.add("url", url="https://example.com/", custom="taken")
    links = [{"url": "https://example.com/1"}, {"url": "https://example.com/2", "custom": "taken"}]
    answer = agent.call("create_links", links=links)
    assert (answer["done"], answer["failed"]) == (1, 1)
    assert answer["results"][0]["short_url"].startswith(BASE)
    assert answer["results"][1]["field"] == "custom"
    assert answer["results"][1]["problem"] == "That alias is taken. Please choose another one."


def test_many_links_get_the_same_settings(agent: Agent, ana: Person, ben: Person) -> None:
    campaign = ana.add("campaign", name="Boots")
    own = [ana.add("url", url=f"https://example.com/{number}") for number in range(3)]
    foreign = ben.add("url", url="https://example.com/", title="Ben")
    answer = agent.call("change_links", ids=[*own, foreign, own[0]], fields={"campaign": campaign, "title": "Sale"})
    assert (answer["done"], answer["failed"]) == (3, 1)
    assert answer["results"][3]["problem"] == "No such link in this account."
    assert {ana.details("url", link)["campaign"] for link in own} == {campaign}
    assert ben.details("url", foreign)["title"] == "Ben"


def test_unknown_settings_in_bulk_are_errors(agent: Agent) -> None:
    assert agent.problem("change_links", ids=[1], fields={"id": 2}).startswith("fields has id, which is no setting")
    links = [{"url": "https://example.com/", "alias": "boots"}]
    assert agent.problem("create_links", links=links).startswith("links[0] has alias, which is no setting of a link.")
    assert "links must have at most 100 elements" in agent.problem("create_links", links=links * 101)


def test_dead_links_are_listed_with_the_last_check(agent: Agent, ana: Person, settings: Settings) -> None:
    ana.add("url", url="https://example.com/alive")
    dead = ana.add("url", url="https://example.com/dead")
    row = {"account": ana.account, "link": dead, "due": 9, "checked": 8, "status": 404, "failing_since": 0}
    ana.write(lambda tx: tx.execute(link_checks.insert().values(**row, failures=3, dead=True)))
    answer = agent.call("list_dead_links")
    assert answer["checks"] is bool(settings.dead_links_days)
    assert [(link["id"], link["status_code"]) for link in answer["links"]] == [(dead, 404)]
    assert answer["links"][0]["failing_since"] == "1970-01-01 00:00:00"
