"""The MCP server for AI agents. Imported only if WAYPOST_MCP is on, because it needs the optional extra `mcp`."""
