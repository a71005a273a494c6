"""An AI agent that calls the tools of the MCP server in process."""

from dataclasses import dataclass
from typing import Any

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from waypost.auth import api_keys
from waypost.integrations.mcp.app import TOOLS_BY_NAME

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@dataclass(frozen=True)
class Agent:
    """An agent with an API key. Each call is a request of its own, as the server is stateless."""

    key: str
    client: AsgiClient

    def send(self, method: str, /, **parameters: Any) -> Any:
        """Send a JSON-RPC request; return the HTTP response."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        headers = {**HEADERS, "Authorization": f"Bearer {self.key}"}
        return self.client.post("/mcp", json=message, headers=headers)

    def result(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result, error or not. Structured content must match the tool's schema."""
        import jsonschema  # noqa: PLC0415  # takes more than a second, in each process

        response = self.send("tools/call", name=tool, arguments=arguments)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        if not result.get("isError"):
            jsonschema.validate(result["structuredContent"], TOOLS_BY_NAME[tool].definition.output_schema or {})
        return result

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return its structured content."""
        result = self.result(tool, **arguments)
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        return content

    def problem(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must fail; return the text of the error."""
        result = self.result(tool, **arguments)
        assert result.get("isError"), result
        text: str = result["content"][0]["text"]
        return text

    def tools(self) -> list[dict[str, Any]]:
        """List the tools."""
        tools: list[dict[str, Any]] = self.send("tools/list").json()["result"]["tools"]
        return tools


def agent_of(person: Person, scope: api_keys.Scope = "write") -> Agent:
    """Return an agent with a new key of a person."""
    key: str = person.write(lambda tx: api_keys.add(tx, person.account, name="agent", scope=scope))
    return Agent(key, person.client)
