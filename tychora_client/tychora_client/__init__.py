"""What people hold: `Client` and `AsyncClient`, and the functions about copies; the command line is in `.cli`.

Importing this package loads none of what they need; that happens when one of them is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tychora_client.async_client import AsyncClient
    from tychora_client.client import Client
    from tychora_client.copies import check_proof, sync, unpack

__all__ = ["AsyncClient", "Client", "check_proof", "sync", "unpack"]

MODULES = {
    "AsyncClient": "async_client",
    "Client": "client",
    "check_proof": "copies",
    "sync": "copies",
    "unpack": "copies",
}


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
