"""Publishes a change: one batch and one snapshot, put on top of whatever rivals committed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from tychora_format.batch import Embedding, Parsed, matrix_path, write_batch
from tychora_format.log import Head, Proposal
from tychora_format.manifest import BatchEntry, Manifest, as_ranges, from_ranges
from tychora_format.objects import object_path
from tychora_format.snapshot import LiveSource, Snapshot, content_root
from tychora_format.staging import Collected, Staged, stage_batch
from tychora_format.tables import SOURCES, SourceRow
from tychora_format.vectors import prime_matrix
from tychora_format.workspace import Workspace, utc_now
from tychora_schemas.errors import Conflict, TychoraError

__all__ = ["Change", "Published", "publish"]


@dataclass(frozen=True, slots=True)
class Change:
    """What a writer wants to be true afterwards, against the live sources that it saw.

    `sources` are new states of sources (each replaces the live one of the same id), `parsed` the extractions that they
    bring, `removed` the live sources that are gone. `seen` tells, for every source of either kind that was live, where.
    """

    sources: Sequence[SourceRow] = ()
    parsed: Sequence[Parsed] = ()
    removed: Sequence[LiveSource] = ()
    seen: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sources or self.removed)


@dataclass(frozen=True, slots=True)
class Published:
    """The snapshot that is now the head, and the paths that a rival had changed meanwhile, with what came of it."""

    snapshot: Snapshot
    conflicts: list[tuple[str, str]]


def publish(
    workspace: Workspace, change: Change, embeddings: Mapping[str, Embedding], staged: Staged | None = None
) -> Published:
    """Make `change` true: atomic, safe to repeat, on top of any head.

    `staged` was made before the originals of the change were captured; raises its Collected where those, or the
    batch's files, fell to a collection meanwhile.

    Where a rival changed the same source, both revisions are kept and this one, the later, is the head; a source that
    this change removes and a rival changed stays. Both are reported as conflicts.
    """
    conflicts: list[tuple[str, str]] = []
    head = workspace.head()
    if not change or _is_made(head, change):
        return Published(head, conflicts)
    staged = staged or Staged(workspace)
    entry = _write(workspace, change, embeddings, {batch.entry.tag for batch in head.batches})
    files = {file.path: file.size for file in entry.files} if entry else {}
    files |= {object_path(row.content_sha256): row.size for row in change.sources if row.content_sha256}

    def propose(head: Head) -> Proposal | None:
        conflicts.clear()
        manifest = _continue(workspace, workspace.at_head(head), change, entry, conflicts)
        if manifest is None:
            return None
        staged.require(head, files)
        return Proposal(workspace.put_manifest(manifest))

    return Published(workspace.commit_snapshot(propose), conflicts)


def _write(
    workspace: Workspace, change: Change, embeddings: Mapping[str, Embedding], taken: set[int]
) -> BatchEntry | None:
    """Write and upload the change's batch; None when it brings no row."""
    if not change.sources:
        return None
    entry = stage_batch(
        workspace,
        taken,
        lambda directory, salt: write_batch(directory, change.parsed, change.sources, embeddings, salt=salt),
    )
    if entry and entry.rows:
        for family, embedding in embeddings.items():
            with suppress(TychoraError):  # a cache that is full costs the next reader time, and no commit
                prime_matrix(matrix_path(workspace.cache, entry.id, family), embedding.vectors)
    return entry


def _continue(
    workspace: Workspace, head: Snapshot, change: Change, entry: BatchEntry | None, conflicts: list[tuple[str, str]]
) -> Manifest | None:
    """The manifest of `head` with the change made, or None when it is made already."""
    if _is_made(head, change):
        return None
    _require_extractions(head, change)
    past = set(_past(head, change, conflicts))
    if entry is None and not past:
        return None
    dead = {batch_id: from_ranges(ranges) for batch_id, ranges in head.manifest.dead.items()}
    for batch_id, number in past:
        dead.setdefault(batch_id, set()).add(number)
    entries = {each.id: each for each in head.manifest.batches}
    if entry:
        # A state that was published before, without text of its own, makes the same batch: its rows come alive again.
        dead.pop(entry.id, None)
        past |= {(entry.id, number) for number in range(entry.sources)}
        entries.setdefault(entry.id, entry)
    tags = [each.tag for each in entries.values() if each.rows]
    if len(set(tags)) != len(tags):
        raise Conflict("a rival's batch has the same tag by chance", next_step="run the same command again")
    live = _live_after(head, past, change.sources)
    return Manifest(
        format=max(workspace.format, head.manifest.format),
        parents=(head.id,) if head.id else (),
        time=utc_now(),
        content_root=content_root(live),
        batches=tuple(entries[batch_id] for batch_id in sorted(entries)),
        dead={batch_id: as_ranges(rows) for batch_id, rows in sorted(dead.items()) if rows},
    )


def _require_extractions(head: Snapshot, change: Change) -> None:
    """Raise Collected where a source names an extraction that was there when the change was made, and no longer is.

    A rival's compaction leaves out what nothing live needed at its time.
    """
    brought = {each.extraction.header.extraction_id for each in change.parsed}
    needed = {row.extraction_id for row in change.sources if row.extraction_id} - brought
    for batch in head.batches if needed else ():
        needed.difference_update(batch.extractions.column("extraction_id").to_pylist())
    if needed:
        raise Collected(
            f"{len(needed)} texts that this commit counts on were left out by a compaction meanwhile",
            next_step="run the same command again",
        )


def _is_made(head: Snapshot, change: Change) -> bool:
    """True when the head is as the change wants it: this was published before, or a rival wanted the same.

    The id of the change's batch would not tell: Lance names its files at random.
    """
    concerned = [row.source_id for row in change.sources] + [each.row.source_id for each in change.removed]
    live = head.recorded.filter(pc.is_in(head.recorded.column("source_id"), pa.array(concerned, pa.string())))
    rows = [SourceRow(**values) for values in live.select(SOURCES.names).to_pylist()]
    return {row.source_id: row for row in rows} == {row.source_id: row for row in change.sources}


def _past(head: Snapshot, change: Change, conflicts: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """The live source rows of `head` that the change makes past."""
    replaced = {row.source_id: row for row in change.sources}
    removed = {each.row.source_id: each for each in change.removed}
    concerned = pa.array([*replaced, *removed], pa.string())
    live = head.recorded.filter(pc.is_in(head.recorded.column("source_id"), concerned))
    past = []
    for source_id, path, batch, number in zip(
        *(live.column(name).to_pylist() for name in ("source_id", "path", "batch", "number")), strict=True
    ):
        place = (head.batches[batch].id, number)
        as_seen = change.seen.get(source_id) == place
        if source_id in removed and source_id not in replaced:
            if as_seen:
                past.append(place)
            else:
                conflicts.append((path, "it was to be removed, but a rival changed it meanwhile: it stays"))
            continue
        if not as_seen:
            conflicts.append((path, "a rival changed it meanwhile: both revisions are kept, the later one is current"))
        past.append(place)
    return past


def _live_after(head: Snapshot, past: set[tuple[str, int]], sources: Sequence[SourceRow]) -> pa.Table:
    names = ["source_id", "path", "state", "revision_id", "extraction_id", "leaf"]
    ids = [batch.id for batch in head.batches]
    places = zip(head.recorded.column("batch").to_pylist(), head.recorded.column("number").to_pylist(), strict=True)
    kept = pa.array([(ids[batch], number) not in past for batch, number in places], pa.bool_())
    before = head.recorded.select(names).filter(kept)
    new = pa.Table.from_pylist([{name: getattr(row, name, None) for name in names} for row in sources], before.schema)
    return pa.concat_tables([before, new])
