"""Every tool that writes records what it changed, with the origin `agent`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conftest import Person
from tests.support.audit_log import Recorded
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.mcp_agent import Agent
from waypost.integrations.mcp.app import TOOLS

pytestmark = ON_BOTH_DATABASES
_URL = "https://example.com/"
_CALLS: Sequence[tuple[str, Mapping[str, Any], Sequence[str]]] = (
    ("create_link", {"url": _URL, "custom": "boots"}, ["link.created"]),
    ("create_links", {"links": [{"url": f"{_URL}1"}, {"url": f"{_URL}2"}]}, ["link.created"] * 2),
    ("create_campaign", {"name": "Boots"}, ["campaign.created"]),
    ("create_bio_page", {"name": "Ana"}, ["bio.created"]),
    ("create_qr_code", {"type": "text", "data": "Table 1"}, ["qr.created"]),
    ("change_link", {"id": 1, "title": "Boots"}, ["link.updated"]),
    ("change_link", {"id": 1, "title": "Boots"}, []),
    ("change_links", {"ids": [1, 2], "fields": {"campaign": 1}}, ["link.updated"] * 2),
    ("change_links", {"ids": [1, 2], "fields": {"campaign": 1}}, []),
    ("change_campaign", {"id": 1, "public": True}, ["campaign.updated"]),
    ("change_bio_page", {"id": 1, "theme": "ocean"}, ["bio.updated"]),
    ("add_bio_block", {"id": 1, "block": {"type": "text", "text": "Hi"}}, ["bio.updated"]),
    ("delete_items", {"kind": "link", "ids": [1, 2], "dry_run": True}, []),
    ("delete_items", {"kind": "link", "ids": [1, 2], "dry_run": False}, ["link.deleted"] * 2),
)
"""Each call can use the items of those before it."""


def test_each_call_records_its_change(agent: Agent, ana: Person, recorded: Recorded) -> None:
    recorded()
    for tool, arguments, names in _CALLS:
        agent.call(tool, **arguments)
        events = recorded()
        assert [event.name for event in events] == names, tool
        assert {(event.origin, event.actor, event.key) for event in events} <= {("agent", ana.account, agent.key[:8])}


def test_every_tool_that_writes_is_called() -> None:
    assert {tool.definition.name for tool in TOOLS if tool.effect != "read"} == {name for name, *_ in _CALLS}
