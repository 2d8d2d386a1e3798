"""Originals: the exact bytes that were captured, addressed by their SHA-256."""

from __future__ import annotations

from pathlib import Path

from tychora_format.store import Store
from tychora_schemas.errors import CorruptWorkspace, NotFound
from tychora_schemas.identity import content_sha256

__all__ = ["Objects", "object_path"]


def object_path(sha256: str) -> str:
    """Where the object of this hash lies in the bundle."""
    return f"objects/{sha256[:2]}/{sha256}"


class Objects:
    """The content-addressed objects of a bundle."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def has(self, sha256: str, size: int) -> bool:
        """True when the object is there with this size."""
        return self.store.size(object_path(sha256)) == size

    def put(self, sha256: str, data: bytes | Path) -> None:
        """Keep `data`, whose hash the caller has computed. Safe to repeat."""
        self.store.write(object_path(sha256), data)

    def get(self, sha256: str) -> bytes:
        """The object's bytes. Raises NotFound when it is not retained here, CorruptWorkspace when it is altered."""
        path = object_path(sha256)
        try:
            data = self.store.read(path)
        except NotFound as error:
            raise NotFound(
                f"the original {sha256[:12]}… is not retained in this copy of the bundle",
                next_step="ask a copy that was not packed without originals",
            ) from error
        if content_sha256(data) != sha256:
            raise CorruptWorkspace(
                f"{path} is damaged: its bytes do not match its name",
                next_step="restore the file from another copy, or add its source again",
            )
        return data
