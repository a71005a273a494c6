"""Clients of others against a running service: the official SDK, the conformance suite and the inspector."""

import asyncio
import shutil
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy import Connection

from tests.support.mcp_calls import call_each_tool
from tests.support.mcp_tools import adding_key, check_conformance, inspect
from tests.support.server import Server, serving
from waypost.auth import api_keys
from waypost.db.database import Database
from waypost.integrations.mcp.app import TOOLS, TOOLS_BY_NAME
from waypost.items.accounts import ops

T = TypeVar("T")
_STALLED = 60


@dataclass(frozen=True)
class Node:
    """A running service and an API key."""

    server: Server
    key: str

    @property
    def url(self) -> str:
        return f"{self.server.url}/mcp"


@contextmanager
def _running(folder: Path, template: Path) -> Iterator[Node]:
    """Run a service with the MCP server on and one account."""
    shutil.copy(template, folder / "waypost.db")
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        key = database.write(_add_account)
    with serving(folder, mcp="on", domain_check="off") as server:
        yield Node(server, key)


def _add_account(tx: Connection) -> str:
    account = ops.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1_000_000)
    return api_keys.add(tx, account.id, name="agent")


@pytest.fixture(scope="module")
def serving_node(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Node]:
    """A service for the whole module."""
    with _running(tmp_path_factory.mktemp("node"), sqlite_template) as node:
        yield node


def _with_client(node: Node, work: Callable[[Client], Coroutine[Any, Any, T]], mode: str) -> T:
    """Run `work` with a connected client of the official SDK."""

    async def connected() -> T:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {node.key}"}, trust_env=False) as http,
            Client(streamable_http_client(node.url, http_client=http), mode=mode) as client,
        ):
            return await work(client)

    return asyncio.run(asyncio.wait_for(connected(), 60))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_client_of_official_sdk_lists_and_calls_tools_in_both_protocols(serving_node: Node, mode: str) -> None:
    async def work(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.name == "waypost"
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
        made = await client.call_tool("create_link", {"url": "https://example.com/", "title": mode})
        matches = await client.call_tool("find_links", {"q": mode})
        assert matches.structured_content["links"][0]["id"] == made.structured_content["id"]
        failed = await client.call_tool("read_link", {"id": 10**9})
        assert failed.is_error
        picture = await client.call_tool("show_qr_code", {"subject": "link", "id": made.structured_content["id"]})
        assert picture.content[0].type == "image"

    _with_client(serving_node, work, mode)


# The other scenarios of the suite call tools, resources and prompts of its own demonstration server.
@pytest.mark.parametrize("scenario", ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])
def test_conformance_suite_passes(serving_node: Node, scenario: str) -> None:
    with adding_key(serving_node.server.url, serving_node.key) as url:
        output = check_conformance(f"{url}/mcp", scenario)
    assert "0 failed, 0 warnings" in output


def test_inspector_lists_tools_without_portability_problems(serving_node: Node) -> None:
    listed = inspect(serving_node.url, serving_node.key, "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in TOOLS]


def test_inspector_calls_each_tool(tmp_path: Path, sqlite_template: Path) -> None:
    with _running(tmp_path, sqlite_template) as node:
        recorded = dict(call_each_tool(node.server, node.key))
    assert recorded.keys() == TOOLS_BY_NAME.keys()
    for result in recorded.values():
        assert not result.get("isError"), result
        assert result["structuredContent"]


def test_slow_clients_do_not_delay_others(serving_node: Node) -> None:
    address = ("127.0.0.1", httpx2.URL(serving_node.url).port or 0)
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n"
        f"Authorization: Bearer {serving_node.key}\r\n\r\n{{"
    )
    with ExitStack() as connections:
        stalled = [connections.enter_context(socket.create_connection(address)) for _ in range(_STALLED)]
        for connection in stalled:
            connection.sendall(head.encode())
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        began = time.monotonic()
        headers = {"Accept": "application/json"}
        response = serving_node.server.call("POST", "/mcp", key=serving_node.key, json=message, headers=headers)
        assert response.status_code == 200
        assert time.monotonic() - began < 5
        stalled[0].settimeout(30)
        assert b" 408 " in stalled[0].recv(100)
