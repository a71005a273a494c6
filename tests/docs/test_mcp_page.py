"""docs/mcp.md lists the tools of the MCP server."""

import re
import shlex
from pathlib import Path

from tests.support.mcp_calls import CALLS, options
from tests.support.source import ROOT
from waypost.integrations.mcp.app import TOOLS, TOOLS_BY_NAME

PAGE = ROOT / "docs" / "mcp.md"


def test_page_lists_every_tool_with_its_effect() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (\w+) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(tool.name, tool.title, tool.effect) for tool in TOOLS]


def test_recorded_session_calls_every_tool() -> None:
    commands = re.findall(r"--tool-name (.+)", PAGE.with_name("mcp-session.md").read_text())
    assert commands == [shlex.join([name, *options(arguments)]) for name, arguments in CALLS.items()]
    assert CALLS.keys() == TOOLS_BY_NAME.keys()


def test_conformance_scenarios_of_the_page_are_those_of_the_tests() -> None:
    named = re.search(r"of tools: (.+?)\. The other", PAGE.read_text(), re.DOTALL)
    assert named
    tests = (Path(__file__).parents[1] / "mcp" / "test_clients.py").read_text()
    for scenario in re.findall(r"`([\w-]+)`", named[1]):
        assert f'"{scenario}"' in tests
