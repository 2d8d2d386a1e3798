"""The replay token: a run's id says everything that the run depended on, so it needs no store.

It holds the snapshot, the number of the newest statement, the configuration's fingerprint and the request, compressed,
behind a checksum. Who has the token and the snapshot gets the same segments.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tychora_schemas.errors import InvalidRequest
from tychora_schemas.identity import canonical_json
from tychora_schemas.requests import QueryRequest

__all__ = ["Run"]

PREFIX = "run_"
CHECKSUM_BYTES = 8
MOST_BYTES = 1 << 20
"""A token that unfolds to more is not ours: the longest question takes less."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run depended on."""

    snapshot_id: str
    statements: int
    configuration: str
    request: QueryRequest

    def encode(self) -> str:
        """The token: the same run gives the same token."""
        payload: dict[str, Any] = {
            "snapshot": self.snapshot_id,
            "statements": self.statements,
            "configuration": self.configuration,
            "request": self.request.model_dump(mode="json", exclude_defaults=True),
        }
        data = zlib.compress(canonical_json(payload), 9)
        return PREFIX + base64.urlsafe_b64encode(_checksum(data) + data).decode().rstrip("=")

    @classmethod
    def decode(cls, token: str) -> Run:
        """Read a token back. Raises InvalidRequest for anything that `encode` did not make."""
        try:
            if not token.startswith(PREFIX):
                raise ValueError(f"it does not begin with {PREFIX}")
            text = token.removeprefix(PREFIX)
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            checksum, data = raw[:CHECKSUM_BYTES], raw[CHECKSUM_BYTES:]
            if checksum != _checksum(data):
                raise ValueError("its checksum is wrong")
            unfolding = zlib.decompressobj()
            payload = json.loads(unfolding.decompress(data, MOST_BYTES))
            request = QueryRequest.model_validate(payload["request"])
            run = cls(str(payload["snapshot"]), int(payload["statements"]), str(payload["configuration"]), request)
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error, zlib.error, ValidationError) as error:
            raise InvalidRequest(
                f"this is no run id: {str(error).splitlines()[0]}", next_step="give the run_id of a result, unaltered"
            ) from error
        if run.encode() != token:
            raise InvalidRequest(
                "this is no run id: it was altered", next_step="give the run_id of a result, unaltered"
            )
        return run


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(b"run-v1\0" + data).digest()[:CHECKSUM_BYTES]
