"""The MCP server as a process over stdio, and as an endpoint on loopback."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from mcp.client.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters

from tychora_client.client import Client
from tychora_client.server.mcp import build_mcp, mcp_app
from tychora_client.server.mcp_reader import Scope

__all__ = ["call", "command", "endpoint", "stdio", "with_client"]

Returned = TypeVar("Returned")


def command(workspace: Path) -> list[str]:
    """The command that serves a workspace to an agent."""
    return [sys.executable, "-m", "tychora_client", "serve", str(workspace), "--mcp-stdio"]


def stdio(workspace: Path) -> StdioServerParameters:
    """How to start a server of the workspace as a process."""
    program, *arguments = command(workspace)
    return StdioServerParameters(command=program, args=arguments, env=None)


@contextmanager
def endpoint(
    client: Client, scope: Scope = lambda: None, wrap: Callable[[Any], Any] = lambda app: app
) -> Iterator[str]:
    """A server on a free port of loopback, its app inside what `wrap` puts around it; gives its URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = wrap(mcp_app(build_mcp(client, scope)))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(20)


def with_client(target: Any, work: Callable[[McpClient], Coroutine[Any, Any, Returned]]) -> Returned:
    """Run `work` with the SDK's client, connected to a server object, a process or a URL."""

    async def connected() -> Returned:
        async with McpClient(target) as client:
            return await work(client)

    return asyncio.run(connected())


def call(target: Any, tool: str, **arguments: Any) -> Any:
    """One call of a tool on a connection of its own."""
    return with_client(target, lambda client: client.call_tool(tool, arguments))
