"""The MCP face: a workspace as read-only tools for agents, over stdio or streamable HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tychora_client.client import Client

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.applications import Starlette

    from tychora_client.server.mcp_reader import Scope

__all__ = ["KEY_PLACEHOLDER", "build_mcp", "mcp_app", "mcp_config", "run_stdio"]

KEY_PLACEHOLDER = "YOUR_KEY"
LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")
MOST_BODY_BYTES = 1 << 20


def build_mcp(client: Client, scope: Scope = lambda: None) -> MCPServer[Any]:
    """The server of a workspace. `scope` is asked on each call for the collections that its caller may read.

    Every tool reads only. An answer is inside its token budget, and a failed call has `{"error": {code, message,
    next_step}}` as its text. No tool reports progress: none of them takes long enough to be watched.
    """
    from importlib.metadata import PackageNotFoundError, version

    from tychora_client.server.mcp_tools import server_for

    try:
        installed = version("tychora")
    except PackageNotFoundError:  # a checkout that is only on the path
        installed = ""
    return server_for(client, scope, installed)


def mcp_app(
    server: MCPServer[Any],
    allowed_hosts: Sequence[str] = LOOPBACK,
    allowed_origins: Sequence[str] = (),
    path: str = "/mcp",
) -> Starlette:
    """The server as an ASGI app at `path`, stateless, each answer one JSON body.

    Requests whose Host or Origin is not allowed are refused; `name:*` allows any port. Where the app is mounted in
    another, that one's lifespan must hold `server.session_manager.run()`.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    return server.streamable_http_app(
        streamable_http_path=path,
        json_response=True,
        stateless_http=True,
        max_request_body_size=MOST_BODY_BYTES,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(allowed_hosts), allowed_origins=list(allowed_origins)
        ),
    )


def run_stdio(client: Client) -> None:
    """Serve one caller, who may read everything, until standard input ends. Only protocol goes to standard output."""
    build_mcp(client).run("stdio")


def mcp_config(workspace: str, command: str = "tychora", url: str | None = None) -> dict[str, Any]:
    """What to paste into an agent's configuration: the server started by the agent, or the endpoint at `url`."""
    if url is None:
        server: dict[str, Any] = {"command": command, "args": ["serve", workspace, "--mcp-stdio"]}
    else:
        endpoint = f"{url.rstrip('/')}/mcp"
        server = {"type": "http", "url": endpoint, "headers": {"Authorization": f"Bearer {KEY_PLACEHOLDER}"}}
    return {"mcpServers": {"tychora": server}}
