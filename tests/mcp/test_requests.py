"""Requests to /mcp: hosts, origins, methods, bodies, and hostile ones. None is a 500."""

import json
from typing import Any

import pytest

from tests.conftest import Person
from tests.support.mcp_agent import HEADERS, Agent
from waypost.integrations.mcp import app
from waypost.integrations.mcp.app import TOOLS, TOOLS_BY_NAME

_LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


def _post(agent: Agent, content: bytes | str, **headers: str) -> Any:
    sent = {**HEADERS, "Authorization": f"Bearer {agent.key}", **headers}
    return agent.client.post("/mcp", content=content, headers=sent)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_return_405_and_open_no_stream(agent: Agent, method: str) -> None:
    headers = {"Authorization": f"Bearer {agent.key}", "Accept": "text/event-stream"}
    response = agent.client.request(method, "/mcp", headers=headers)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://go.localhost:8000", 200),
        ("http://localhost:6274", 200),
        ("https://evil.example", 403),
        ("http://93.184.216.34", 403),
        ("http://go.localhost.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_pages_of_other_websites_are_refused(agent: Agent, origin: str, status: int) -> None:
    assert _post(agent, json.dumps(_LIST), Origin=origin).status_code == status


def test_branded_domains_and_unknown_hosts_have_no_mcp_server(agent: Agent, ana: Person) -> None:
    ana.add("domain", domain="https://go.brand.example")
    for host in ("go.brand.example", "evil.example"):
        assert _post(agent, json.dumps(_LIST), Host=host).status_code in (404, 405)
    assert _post(agent, json.dumps(_LIST), Host="127.0.0.1:8000").status_code == 200


def test_path_below_mcp_is_no_tool(agent: Agent) -> None:
    assert agent.client.post("/mcp/tools", json=_LIST).status_code in (404, 405)
    assert agent.client.post("/mcp/", json=_LIST).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"null", 400),
        (b"[]", 400),
        (json.dumps([_LIST, _LIST]).encode(), 400),
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": 1e999}}', 400),
        (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5000 + b', "method": "ping"}', 400),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 400 + b"1" + b"}" * 401, 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 90_000 + b"1" + b"}" * 90_001, 400),
        (b'{"x": "' + b"a" * app.MAX_BYTES + b'"}', 413),
        (b'{"x": [' + b"0," * 300_000 + b"0]}", 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_invalid_body_is_refused_with_json_rpc_error(agent: Agent, body: bytes, status: int) -> None:
    response = _post(agent, body)
    assert response.status_code == status, response.text
    assert response.json()["error"]["code"] < 0
    assert response.json()["id"] is None


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", "x" * 5000])
@pytest.mark.parametrize(
    "message",
    [
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "nothing/here"},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "2"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_links", "arguments": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}},
    ],
    ids=lambda value: str(value)[:90],
)
def test_invalid_message_is_no_server_error(agent: Agent, message: dict[str, Any], version: str) -> None:
    response = _post(agent, json.dumps(message), **{"MCP-Protocol-Version": version})
    assert response.status_code < 500, response.text


_HOSTILE: list[Any] = [None, True, -1, 0, 2**63, 2**80, 1.5, "", "\0", "x" * 9000, "\u202e💥", [], [[]], {}, {"a": {}}]


_VALID: dict[str, dict[str, Any]] = {
    "delete_items": {"kind": "channel", "ids": [1]},
    "describe_statistics": {"subject": "link", "id": 1},
    "show_qr_code": {"subject": "link", "id": 1},
    "create_link": {"url": "https://example.com/"},
    "change_link": {"id": 1},
    "create_qr_code": {"type": "text", "data": "x"},
    "create_bio_page": {"name": "x"},
    "change_bio_page": {"id": 1},
    "add_bio_block": {"id": 1, "block": {"type": "text", "text": "x"}},
    "change_campaign": {"id": 1},
    "read_campaign": {"id": 1},
}


@pytest.mark.parametrize("name", TOOLS_BY_NAME)
def test_hostile_arguments_are_tool_errors_that_name_the_field(agent: Agent, ana: Person, name: str) -> None:
    for noun, fields in (("url", {"url": "https://example.com/"}), ("campaign", {}), ("bio", {"name": "Ana"})):
        assert ana.add(noun, **fields) == 1
    for argument in TOOLS_BY_NAME[name].arguments.model_fields:
        for value in _HOSTILE:
            result = agent.result(name, **{**_VALID.get(name, {}), argument: value})
            text = result["content"][0].get("text", "")
            assert "Internal error" not in text, (argument, value)
            assert not result.get("isError") or "code: " in text


def test_failing_tool_is_reported_with_request_id(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setitem(TOOLS_BY_NAME["read_account"].__dict__, "function", fail)
    monkeypatch.setitem(TOOLS_BY_NAME["read_account"].__dict__, "_hints", {"arguments": TOOLS[0].arguments})
    response = agent.send("tools/call", name="read_account", arguments={})
    text = response.json()["result"]["content"][0]["text"]
    assert response.status_code == 200
    assert response.headers["x-request-id"] in text
    assert "secret" not in response.text


def test_notification_is_accepted_without_response(agent: Agent) -> None:
    response = _post(agent, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    assert (response.status_code, response.content) == (202, b"")


def test_definitions_of_tools_are_complete(agent: Agent) -> None:
    for tool in agent.tools():
        assert len(tool["description"]) > 30
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        hints = tool["annotations"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"} <= hints.keys()
        assert not (hints["readOnlyHint"] and hints["destructiveHint"])
        for field in tool["inputSchema"]["properties"].values():
            variants = [field, *field.get("anyOf", ())]
            assert any(variant.get("description") for variant in variants), (tool["name"], field)
    assert TOOLS_BY_NAME["delete_items"].definition.annotations.destructive_hint  # type: ignore[union-attr]
    assert len(json.dumps(agent.tools())) < 84_000  # agents read it in every session
