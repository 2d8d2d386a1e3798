"""Small JSON files that carry their own checksum, so that one altered bit is noticed on reading."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tychora_schemas.errors import CorruptWorkspace
from tychora_schemas.identity import canonical_json, content_sha256

__all__ = ["seal", "unseal"]

SEAL = "seal"


def seal(value: Mapping[str, Any]) -> bytes:
    """Canonical JSON of `value` with a `seal`: the SHA-256 of the canonical JSON of all other members."""
    return canonical_json({**value, SEAL: content_sha256(canonical_json(dict(value)))})


def unseal(data: bytes, path: str) -> dict[str, Any]:
    """What was sealed. Raises CorruptWorkspace naming `path` when a single bit is not as it was written."""
    try:
        value = json.loads(data)
        found = value.pop(SEAL)
        if seal(value) != data or found != content_sha256(canonical_json(value)):
            raise ValueError("its seal does not match its content")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptWorkspace(
            f"{path} is damaged: {str(error).splitlines()[0] if str(error) else 'it is cut short'}",
            next_step="restore the file from another copy of the bundle",
        ) from error
    return dict(value)
