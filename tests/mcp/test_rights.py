"""The rights of the API key: authentication, read-only keys, rate limit, suspended accounts."""

from typing import Any

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.mcp_agent import HEADERS, Agent, agent_of
from waypost.db.schema import accounts
from waypost.integrations.mcp.app import TOOLS

_LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer wp_unknown", "Basic YTpi"])
def test_request_without_valid_key_returns_401(service: AsgiClient, authorization: str | None) -> None:
    headers = HEADERS if authorization is None else {**HEADERS, "Authorization": authorization}
    response = service.post("/mcp", json=_LIST, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["data"] == {"code": "api_key_required"}


def test_read_only_key_lists_reading_tools_only(agent: Agent, reader: Agent) -> None:
    listed = {tool["name"] for tool in reader.tools()}
    assert listed == {tool["name"] for tool in agent.tools() if tool["annotations"]["readOnlyHint"]}
    assert listed == {tool.name for tool in TOOLS if tool.effect == "read"}
    assert reader.call("read_account")["can_write"] is False
    assert agent.call("read_account")["can_write"] is True


_CHANGES: dict[str, dict[str, Any]] = {
    "delete_items": {"kind": "link", "ids": [1]},
    "create_link": {"url": "https://example.com/new"},
    "change_link": {"id": 1, "title": "changed"},
    "create_links": {"links": [{"url": "https://example.com/new"}]},
    "change_links": {"ids": [1], "fields": {"title": "changed"}},
    "create_campaign": {"name": "new"},
    "change_campaign": {"id": 1, "name": "changed"},
    "create_qr_code": {"type": "text", "data": "new"},
    "create_bio_page": {"name": "new"},
    "change_bio_page": {"id": 1, "name": "changed"},
    "add_bio_block": {"id": 1, "block": {"type": "text", "text": "new"}},
}


def test_read_only_key_changes_nothing_with_any_tool(agent: Agent, reader: Agent, ana: Person) -> None:
    assert _CHANGES.keys() == {tool.name for tool in TOOLS if tool.effect != "read"}
    for noun, fields in (("url", {"url": "https://example.com/"}), ("campaign", {}), ("bio", {"name": "Ana"})):
        assert ana.add(noun, **fields) == 1
    kinds = ("link", "campaign", "qr", "bio")
    before = [agent.call("list_items", kind=kind) for kind in kinds]
    for name, arguments in _CHANGES.items():
        assert reader.problem(name, **arguments).endswith("(code: read_only_key)")
    assert [agent.call("list_items", kind=kind) for kind in kinds] == before


def test_context_of_read_only_key_refuses_to_write(reader: Agent, ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in TOOLS:  # as if each tool had the wrong effect
        monkeypatch.setitem(tool.__dict__, "effect", "read")
    link = ana.add("url", url="https://example.com/", title="Boots")
    assert reader.problem("change_link", id=link, title="changed").endswith("(code: read_only_key)")
    assert reader.problem("delete_items", kind="link", ids=[link]).endswith("(code: read_only_key)")
    assert ana.details("url", link)["title"] == "Boots"


def test_each_request_counts_toward_the_limit_of_the_key(agent: Agent, ana: Person) -> None:
    _set_limit(ana, 3)
    remaining = [int(agent.send("tools/list").headers["x-ratelimit-remaining"]) for _ in range(3)]
    assert remaining == [2, 1, 0]
    response = agent.send("tools/list")
    assert response.status_code == 429
    assert 1 <= int(response.headers["retry-after"]) <= 61
    assert response.json()["error"]["message"].startswith("Over the limit of 3 requests a minute.")
    same_key = Person(ana.account, ana.username, agent.key, ana.client, ana.database)
    assert same_key.call("GET", "/account").status_code == 429


def test_bulk_calls_count_as_bulk_requests(agent: Agent, ana: Person) -> None:
    items = [{"action": "create", "noun": "url", "fields": {"url": f"https://example.com/{n}"}} for n in range(101)]
    ids = [result["id"] for result in ana.post("/bulk", {"items": items})["results"]]
    token = agent.call("delete_items", kind="link", ids=ids, dry_run=True)["confirm"]
    _set_limit(ana, 10)
    agent = agent_of(ana)
    agent.call("delete_items", kind="link", ids=ids, confirm=token)
    assert int(agent.send("tools/list").headers["x-ratelimit-remaining"]) == 7  # two for the deletion, one for this


def test_suspended_account_is_refused(agent: Agent, ana: Person) -> None:
    ana.write(lambda tx: tx.execute(accounts.update().where(accounts.c.id == ana.account).values(suspended=True)))
    response = agent.send("tools/call", name="find_links", arguments={})
    assert (response.status_code, response.json()["error"]["data"]["code"]) == (403, "account_suspended")


def _set_limit(person: Person, limit: int) -> None:
    person.write(
        lambda tx: tx.execute(accounts.update().where(accounts.c.id == person.account).values(rate_limit=limit))
    )
