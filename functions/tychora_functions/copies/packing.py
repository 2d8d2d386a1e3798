"""Packs a workspace into one file, and makes a directory of such a file again."""

from __future__ import annotations

import time
from pathlib import Path

from tychora_format.erasure import erase_from_batches
from tychora_format.packed import pack as format_pack
from tychora_format.workspace import Workspace
from tychora_schemas.errors import AccessDenied, InvalidRequest
from tychora_schemas.receipts import NamedPath
from tychora_schemas.transport import PackReport, UnpackReport

__all__ = ["pack", "unpack"]


def pack(
    workspace: Workspace,
    target: str | Path,
    *,
    at: str = "main",
    history: int | None = None,
    originals: bool = True,
    replace: bool = False,
) -> PackReport:
    """Write the snapshot `at` with its history to one file `NAME.tychora`; see `tychora_format.packed.pack.pack`."""
    started = time.monotonic()
    left = _erased(workspace)
    packed = format_pack.pack(workspace, target, at=at, history=history, originals=originals, replace=replace)
    return PackReport(
        path=str(packed.path),
        snapshot_id=packed.snapshot_id,
        sha256=packed.sha256,
        files=packed.files,
        bytes=packed.bytes,
        snapshots=packed.snapshots,
        originals=originals,
        notes=[*left, *(NamedPath(path=path, note=note) for path, note in packed.notes)],
        seconds=round(time.monotonic() - started, 3),
    )


def _erased(workspace: Workspace) -> list[NamedPath]:
    """Take what is erased out of the batches first, which else waits for a collection; a note where that cannot be."""
    if not workspace.statements.in_force().erasures:
        return []
    try:
        erase_from_batches(workspace)
    except (AccessDenied, InvalidRequest) as error:
        note = f"what was erased is hidden, but its bytes are still in the batches: {error.message}"
        return [NamedPath(path="batches/", note=note)]
    return []


def unpack(source: str | Path, directory: str | Path) -> UnpackReport:
    """Make a directory of a packed file; see `tychora_format.packed.pack.unpack`."""
    started = time.monotonic()
    unpacked = format_pack.unpack(source, directory)
    return UnpackReport(
        path=str(unpacked.path),
        snapshot_id=unpacked.snapshot_id,
        files=unpacked.files,
        bytes=unpacked.bytes,
        seconds=round(time.monotonic() - started, 3),
    )
