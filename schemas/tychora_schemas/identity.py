"""Identities: `<kind>_<sha256>` over a domain tag and RFC 8785 canonical JSON; content by the SHA-256 of its bytes.

The same input gives the same id on any machine, in any order. The domain tag (`revision-v1`) keeps the kinds apart:
equal payloads of two kinds never share an id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import rfc8785

__all__ = ["canonical_json", "content_sha256", "digest", "identity", "merkle_root"]


_FLAT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_EXACT = 1 << 53


def canonical_json(value: Any) -> bytes:
    """`value` as RFC 8785 canonical JSON, the one spelling that is hashed and stored."""
    if isinstance(value, dict) and all(map(_is_plain, value, value.values())):
        # The standard encoder spells such objects the same, and is several times faster: ids are made by the thousand.
        return _FLAT.encode(value).encode()
    return rfc8785.dumps(value)


def _is_plain(key: Any, value: Any) -> bool:
    """True where the two encoders agree: ASCII keys, whose order is the same, and no number but exact integers."""
    kind = type(value)
    return (
        isinstance(key, str)
        and key.isascii()
        and (kind is str or value is None or (kind is int and -_EXACT < value < _EXACT))
    )


def content_sha256(data: bytes) -> str:
    """The SHA-256 of exactly these bytes, as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(tag: str, payload: Any) -> bytes:
    """32 bytes: SHA-256 over the domain tag, a NUL and the canonical JSON of `payload`."""
    return hashlib.sha256(tag.encode() + b"\0" + canonical_json(payload)).digest()


def identity(kind: str, payload: Any, version: int = 1) -> str:
    """`<kind>_<64 hex digits>`, hashed under the domain tag `<kind>-v<version>`."""
    return f"{kind}_{digest(f'{kind}-v{version}', payload).hex()}"


def merkle_root(leaves: Iterable[bytes]) -> bytes:
    """The Merkle root of `leaves` (32-byte hashes, in the given order), after RFC 6962 section 2.1.

    A leaf is hashed as `SHA-256(0x00 ‖ leaf)`, a pair as `SHA-256(0x01 ‖ left ‖ right)`; an odd last node rises
    unchanged, which equals the RFC's split at the largest power of two. The root of nothing is `SHA-256("")`.
    """
    level = [hashlib.sha256(b"\x00" + leaf).digest() for leaf in leaves]
    if not level:
        return hashlib.sha256(b"").digest()
    while len(level) > 1:
        pairs = [hashlib.sha256(b"\x01" + level[i] + level[i + 1]).digest() for i in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            pairs.append(level[-1])
        level = pairs
    return level[0]
