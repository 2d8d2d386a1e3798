"""What people hold: `Client` and `AsyncClient` here, the command line in `tychora_client.cli`.

Importing this package loads none of what they need; that happens when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tychora_client.async_client import AsyncClient
    from tychora_client.client import Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    if name == "Client":
        from tychora_client.client import Client

        return Client
    if name == "AsyncClient":
        from tychora_client.async_client import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
