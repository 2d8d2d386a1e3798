"""The server: a workspace for agents, over MCP."""
