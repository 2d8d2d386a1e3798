"""The verb for agents that run beside this machine's files: serve."""

from __future__ import annotations

from tychora_client.cli.arguments.base import Parser, Verbs, add_verb

__all__ = ["add_serving"]


def add_serving(verbs: Verbs[Parser]) -> None:
    """Add it."""
    parser = add_verb(
        verbs,
        "serve",
        "let an agent ask over MCP",
        "Serve a workspace to an agent as read-only MCP tools, over standard input and output. `inspect WORKSPACE "
        "mcp-config` prints what to paste into an agent's settings.",
    )
    parser.add_argument("--mcp-stdio", action="store_true", required=True, help="speak MCP on stdin and stdout")
