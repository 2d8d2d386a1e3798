"""What a copy of a bundle was made without, said in a small file of it, so that nobody takes that for lost.

A copy that is made of such a copy says it too, until a repair has brought everything.
"""

from __future__ import annotations

from tychora_format.sealed import seal, unseal
from tychora_format.store import Store
from tychora_schemas.errors import NotFound

__all__ = ["LEFT_OUT", "encode_left_out", "originals_left_out"]

LEFT_OUT = "left-out.json"


def encode_left_out() -> bytes:
    """The bytes of the file that says that originals were left out, sealed."""
    return seal({"originals": True})


def originals_left_out(store: Store) -> bool:
    """Whether this copy was made without originals. Raises CorruptWorkspace when the file that says so is damaged."""
    try:
        return bool(unseal(store.read(LEFT_OUT), LEFT_OUT).get("originals"))
    except NotFound:
        return False
