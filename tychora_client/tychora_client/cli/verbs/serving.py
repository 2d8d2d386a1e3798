"""The verb for agents: serve."""

from __future__ import annotations

from argparse import Namespace

from tychora_client.cli.output import Outcome
from tychora_client.cli.verbs.base import client_of
from tychora_schemas.errors import InvalidRequest

__all__ = ["serve"]


def serve(options: Namespace, machine: bool) -> Outcome:
    """Speak MCP on standard input and output until the agent leaves."""
    try:
        from tychora_client.server.mcp import run_stdio
    except ImportError as error:
        raise InvalidRequest(f"serving needs a package: {error}", next_step="pip install 'tychora[serve]'") from error
    with client_of(options) as client:
        client.workspace  # noqa: B018 - a workspace that is not there is said now, not to the agent
        run_stdio(client)
    return Outcome("")
