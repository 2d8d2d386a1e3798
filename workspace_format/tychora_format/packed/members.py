"""The files of a bundle, as members of a packed file: each with the hash that a manifest or its name states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tychora_format.left_out import LEFT_OUT
from tychora_format.manifest import BatchEntry, Manifest, snapshot_path
from tychora_format.objects import object_path
from tychora_format.packed.archive import Member
from tychora_format.sealed import unseal
from tychora_format.statements import InForce
from tychora_format.workspace import MARKER, Workspace
from tychora_schemas.errors import CorruptWorkspace

__all__ = ["members_of", "of_bytes", "resolved_batches"]


def members_of(workspace: Workspace) -> Iterator[Member]:
    """Every file of a bundle that is one, with the hash that a manifest or its name states, or its seal checked.

    Files that nothing names are left out. Raises CorruptWorkspace naming a file that is damaged or missing.
    """
    store = workspace.store
    statements = workspace.statements.in_force()
    stated = {
        file.path: file
        for snapshot_id in sorted(workspace.snapshot_ids())
        for entry in resolved_batches(workspace.manifest(snapshot_id), statements)
        for file in entry.files
    }
    for entry in store.list():
        top, name = entry.path.partition("/")[0], Path(entry.path).stem
        if file := stated.pop(entry.path, None):
            yield Member(file.path, file.size, store, file.sha256)
        elif entry.path in (object_path(name), snapshot_path(name)):
            yield Member(entry.path, entry.size, store, name)
        elif top in (MARKER, LEFT_OUT, "tags", "statements", "log"):
            data = store.read(entry.path)
            unseal(data, entry.path)
            yield of_bytes(entry.path, data)
    for path in stated:
        raise CorruptWorkspace(
            f"{path} is missing, though a snapshot names it", next_step="restore it from another copy of the workspace"
        )


def resolved_batches(manifest: Manifest, statements: InForce) -> list[BatchEntry]:
    """The batches of a manifest, each by the entry that stands for it now."""
    return [statements.replaced.get(entry.id, entry) for entry in manifest.batches]


def of_bytes(path: str, data: bytes) -> Member:
    """A small file, whose bytes are at hand."""
    return Member(path, len(data), data)
