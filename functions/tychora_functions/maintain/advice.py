"""Advice: what somebody who looks after a workspace should do about its newest snapshot."""

from __future__ import annotations

from tychora_format.manifest import snapshot_path
from tychora_format.snapshot import Snapshot
from tychora_functions.maintain.compact import needs_compaction
from tychora_schemas.receipts import NamedPath

__all__ = ["advice"]


def advice(head: Snapshot) -> list[NamedPath]:
    """The notes for a report about a workspace with this newest snapshot; none in the usual case."""
    if not needs_compaction(head.manifest):
        return []
    note = f"{len(head.batches)} batches slow every search down: tychora manage WORKSPACE compact joins them"
    return [NamedPath(path=snapshot_path(head.id), note=note)]
