"""One call of each tool of the MCP server, by the command line of the inspector."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.mcp_tools import inspect_each
from tests.support.server import Server

CALLS: Mapping[str, Mapping[str, Any]] = {
    "read_account": {},
    "create_link": {"url": "https://example.com/", "custom": "boots"},
    "create_links": {"links": [{"url": "https://example.com/1"}]},
    "create_campaign": {"name": "Boots"},
    "create_bio_page": {"name": "Ana"},
    "create_qr_code": {"type": "text", "data": "Table 1"},
    "change_link": {"id": 1, "title": "Boots"},
    "change_links": {"ids": [1], "fields": {"campaign": 1}},
    "change_campaign": {"id": 1, "public": True},
    "change_bio_page": {"id": 1, "theme": "ocean"},
    "add_bio_block": {"id": 1, "block": {"type": "text", "text": "Hi"}},
    "find": {"q": "boots"},
    "find_links": {"q": "boots"},
    "list_items": {"kind": "link"},
    "list_dead_links": {},
    "read_link": {"short": "boots"},
    "read_campaign": {"id": 1},
    "read_bio_page": {"id": 1},
    "describe_statistics": {"subject": "account"},
    "show_qr_code": {"subject": "qr", "id": 1},
    "check_domain": {"id": 1},
    "list_submissions": {"overlay": 1},
    "delete_items": {"kind": "link", "ids": [1], "dry_run": True},
}
"""Arguments by tool. Each call can use what the calls before it created."""


def call_each_tool(server: Server, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Call the tools on a service with a new account; yields their names and results."""
    overlay = {"name": "Ask", "type": "contact", "message": "Hi"}
    for noun, fields in (("domain", {"domain": "https://go.brand.invalid"}), ("overlay", overlay)):
        assert server.call("POST", f"/api/{noun}/add", key=key, json=fields).status_code == 200
    calls = [["--tool-name", name, *options(arguments)] for name, arguments in CALLS.items()]
    yield from zip(CALLS, inspect_each(f"{server.url}/mcp", key, "tools/call", calls), strict=True)


def options(arguments: Mapping[str, Any]) -> list[str]:
    """Return the options of the inspector for the arguments of a tool."""
    pairs = [f"{field}={json.dumps(value)}" for field, value in arguments.items()]
    return ["--tool-arg", *pairs] if pairs else []
