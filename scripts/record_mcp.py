"""Write docs/mcp-session.md: the inspector lists and calls each tool of the MCP server. Run by `make mcp-session`."""

import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.support.mcp_calls import CALLS, call_each_tool, options
from tests.support.mcp_tools import inspect
from tests.support.server import Server, serving

_PAGE = Path(__file__).parents[1] / "docs" / "mcp-session.md"
_BASE = "https://go.example.com"
_MAX_TEXT = 60
_INTRODUCTION = """# Recorded session of the MCP server

The command line of the [MCP inspector](https://github.com/modelcontextprotocol/inspector) lists and calls each tool of
[the MCP server](mcp.md) on a new account. `make mcp-session` records this page, and a test runs the same calls.
Long texts are shortened, and the text content, which repeats the structured one, is left out. `MCP` stands for

```sh
npx @modelcontextprotocol/inspector@latest --cli https://go.example.com/mcp --transport http \\
  --header "Authorization: Bearer wp_…"
```
"""


def main() -> None:
    """Start a service in a temporary folder, and record the calls."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), mcp="on", domain_check="off") as server:
        text = _INTRODUCTION + "".join(_sections(server, server.owner_key))
    _PAGE.write_text(re.sub(rf"http://(localhost|127\.0\.0\.1):{httpx2.URL(server.url).port}", _BASE, text))


def _sections(server: Server, key: str) -> Iterator[str]:
    listed = inspect(f"{server.url}/mcp", key, "tools/list", "--strict")["tools"]
    names = "\n".join(f"{tool['name']}: {tool['title']}" for tool in listed)
    yield f"\n## tools/list\n\n```sh\nMCP --method tools/list\n```\n\n```text\n{names}\n```\n"
    for name, result in call_each_tool(server, key):
        command = shlex.join(["--tool-name", name, *options(CALLS[name])])
        pictures = [content for content in result["content"] if content["type"] != "text"]
        answer = "\n".join(
            json.dumps(_short(part), indent=2, ensure_ascii=False) for part in (*pictures, result["structuredContent"])
        )
        yield f"\n## {name}\n\n```sh\nMCP --method tools/call {command}\n```\n\n```json\n{answer}\n```\n"


def _short(value: Any) -> Any:
    """Return the value with shortened texts."""
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        return f"{value[:_MAX_TEXT]}…"
    return value


if __name__ == "__main__":
    main()
