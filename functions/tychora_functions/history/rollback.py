"""Rolls back: a new snapshot that holds what an old one held. Nothing of what came between is lost."""

from __future__ import annotations

import pyarrow as pa

from tychora_format.log import Head, Proposal
from tychora_format.manifest import as_ranges
from tychora_format.objects import object_path
from tychora_format.snapshot import Snapshot, content_root
from tychora_format.staging import Staged
from tychora_format.workspace import Workspace, utc_now
from tychora_schemas.errors import NotFound
from tychora_schemas.maintenance import RollbackReport

__all__ = ["rollback"]


def rollback(workspace: Workspace, reference: str) -> RollbackReport:
    """Commit a snapshot with the live sources of the one that `reference` names; erased ones do not come back.

    Where a rival commits first, the old state is put on top of that as well. Nothing is committed where the newest
    snapshot holds the same already.
    """
    target = workspace.resolve(reference)
    if not target.id:
        raise NotFound(
            f"{reference} is the state before the first commit", next_step="remove the sources, or start anew"
        )
    staged = Staged(workspace)
    before = workspace.head()
    kept = _not_erased(target)
    root = content_root(kept)
    dead = _dead(target, kept)
    files = _files(target, kept)

    def propose(newest: Head) -> Proposal | None:
        head = workspace.at_head(newest)
        if head.manifest.content_root == root:
            return None
        staged.require(newest, files)
        made = target.manifest.model_copy(
            update={
                "format": max(workspace.format, target.manifest.format),
                "parents": (head.id,),
                "time": utc_now(),
                "content_root": root,
                "dead": dead,
            }
        )
        return Proposal(workspace.put_manifest(made))

    after = workspace.commit_snapshot(propose)
    return RollbackReport(snapshot_id=after.id, before=before.id, restored=target.id, sources=kept.num_rows)


def _not_erased(target: Snapshot) -> pa.Table:
    hidden = target.statements
    admitted = [
        leaf is None and hidden.erased.isdisjoint(names)
        for leaf, *names in zip(
            *(
                target.recorded.column(name).to_pylist()
                for name in ("leaf", "source_id", "revision_id", "content_sha256")
            ),
            strict=True,
        )
    ]
    return target.recorded.filter(pa.array(admitted, pa.bool_()))


def _files(target: Snapshot, kept: pa.Table) -> dict[str, int]:
    """What the new snapshot counts on, with sizes: a collection may be dropping the old one meanwhile."""
    files = {file.path: file.size for batch in target.batches for file in batch.entry.files}
    originals = zip(kept.column("content_sha256").to_pylist(), kept.column("size").to_pylist(), strict=True)
    return files | {object_path(content): size for content, size in originals if content}


def _dead(target: Snapshot, kept: pa.Table) -> dict[str, tuple[tuple[int, int], ...]]:
    """Per batch, all source rows but those kept."""
    live: dict[int, set[int]] = {}
    for batch, number in zip(kept.column("batch").to_pylist(), kept.column("number").to_pylist(), strict=True):
        live.setdefault(batch, set()).add(number)
    rest = {
        batch.id: set(range(batch.entry.sources)) - live.get(ordinal, set())
        for ordinal, batch in enumerate(target.batches)
    }
    return {batch_id: as_ranges(rows) for batch_id, rows in rest.items() if rows}
