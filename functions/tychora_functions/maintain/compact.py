"""Compacts a workspace: the batches of the newest snapshot become one, without the rows that nobody sees any more."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tychora_format.batch import Parsed, write_batch
from tychora_format.log import Head, Proposal
from tychora_format.manifest import BatchEntry, Manifest, as_ranges, from_ranges
from tychora_format.snapshot import Snapshot
from tychora_format.staging import Collected, Staged, stage_batch
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.maintain.carrying import Carried, Part
from tychora_functions.progress import Progress, Watcher
from tychora_schemas.errors import Conflict, TychoraError
from tychora_schemas.maintenance import CompactReport
from tychora_schemas.receipts import NamedPath

__all__ = ["MANY_BATCHES", "compact", "needs_compaction"]

MANY_BATCHES = 40
"""Batches from which on compacting is advised: each is a part of every search and some files of every sync."""

ATTEMPTS = 3


def needs_compaction(manifest: Manifest) -> bool:
    """Whether a snapshot has so many batches that compacting it is advised."""
    return len(manifest.batches) > MANY_BATCHES


def compact(workspace: Workspace, *, progress: Watcher | None = None) -> CompactReport:
    """Write all that is live in the newest snapshot anew as one batch, and commit a snapshot that lists this instead.

    What is asked is answered as before: same ids, same text, same places; where no superseded rows were left out,
    with the same scores too (BM25 counts superseded rows until they are). Vectors are copied, never computed again:
    where batches have different families there is one new batch per set of families. Older snapshots keep their
    batches, and readers are not disturbed. What rivals commit meanwhile stays beside the new batch. Interrupted at any
    moment, it leaves the state before.

    Raises CorruptWorkspace when a batch cannot be read, Conflict when rivals or collections keep being faster.
    """
    started = time.monotonic()
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            report = _Compaction(workspace, progress or (lambda _: None)).run()
            report.seconds = round(time.monotonic() - started, 3)
            return report
        except Collected:
            if not attempts_left:
                raise
    raise AssertionError("unreachable")


@dataclass(slots=True)
class _Compaction:
    """One attempt, from reading the head to the commit."""

    workspace: Workspace
    watch: Watcher
    entries: list[BatchEntry] = field(default_factory=list)
    notes: list[NamedPath] = field(default_factory=list)

    def run(self) -> CompactReport:
        staged = Staged(self.workspace)
        head = after = self.workspace.head()
        carried = Carried(head)
        if carried.needed:
            for part in carried.parts:
                self.entries.append(self._written(carried, part))
            self.watch(Progress("committing"))
            after = self.workspace.commit_snapshot(lambda newest: self._proposal(newest, carried, staged))
            _prime(after)
        return CompactReport(
            snapshot_id=after.id,
            batches_before=len(head.batches),
            batches_after=len(after.batches),
            rows_before=sum(batch.rows for batch in head.batches),
            rows_after=sum(batch.rows for batch in after.batches),
            bytes_written=sum(file.size for entry in self.entries for file in entry.files),
            notes=self.notes,
        )

    def _written(self, carried: Carried, part: Part) -> BatchEntry:
        """Write and upload the batch of a part."""
        taken = {entry.tag for entry in [*carried.snapshot.manifest.batches, *self.entries]}
        entry = stage_batch(self.workspace, taken, lambda directory, salt: self._build(directory, carried, part, salt))
        assert entry is not None
        return entry

    def _build(self, directory: Path, carried: Carried, part: Part, salt: int) -> BatchEntry:
        sources = carried.sources(part)

        def watched() -> Iterator[Parsed]:
            for done, each in enumerate(carried.parsed(part, sources)):
                self.watch(Progress("indexing", done, len(part.extractions), current=each.source.path))
                yield each

        vectors = carried.vectors(part)
        return write_batch(directory, watched(), sources, vectors, erased=carried.erased(part), salt=salt)

    def _proposal(self, newest: Head, carried: Carried, staged: Staged) -> Proposal | None:
        self.notes.clear()
        head = self.workspace.at_head(newest)
        manifest = self._continue(head, carried)
        if manifest is None:
            self.notes.append(NamedPath(path=head.id, note="a rival compacted the workspace meanwhile"))
            return None
        staged.require(newest, {file.path: file.size for entry in self.entries for file in entry.files})
        return Proposal(self.workspace.put_manifest(manifest))

    def _continue(self, head: Snapshot, carried: Carried) -> Manifest | None:
        """The manifest of `head` with the new batches in place of those that they were made from.

        None when nothing of what was carried over is live there any more: a rival compacted it.
        """
        if head.statements.replaced != carried.snapshot.statements.replaced:
            raise Collected(
                "an erasure took something out of a batch meanwhile", next_step="run the same command again"
            )
        live = _live_places(head)
        if carried.moved and live.isdisjoint(carried.moved):
            return None
        dead: dict[str, set[int]] = {entry.id: set() for entry in self.entries}
        for place, (part, number) in carried.moved.items():
            if place not in live:
                dead[self.entries[part].id].add(number)
        kept = _still_needed(head, carried, live)
        for batch_id in sorted(kept):
            self.notes.append(NamedPath(path=batch_id, note="kept: a rival counts on what only this batch holds"))
        stays = [entry for entry in head.manifest.batches if entry.id in kept or entry.id not in carried.batches]
        for entry in stays:
            dead[entry.id] = from_ranges(head.manifest.dead.get(entry.id, ()))
        for batch_id, number in carried.moved:
            if batch_id in kept:
                dead[batch_id].add(number)
        entries = sorted([*self.entries, *stays], key=lambda entry: entry.id)
        _require_distinct_tags(entries)
        return head.manifest.model_copy(
            update={
                "format": max(self.workspace.format, head.manifest.format),
                "parents": (head.id,),
                "time": utc_now(),
                "batches": tuple(entries),
                "dead": {batch_id: as_ranges(rows) for batch_id, rows in sorted(dead.items()) if rows},
            }
        )


def _prime(snapshot: Snapshot) -> None:
    """Make the vectors ready for searching here, so that the first question does not wait for that."""
    for batch in snapshot.batches:
        for family in batch.entry.families:
            with suppress(TychoraError):  # a cache that is full costs the next reader time, and no commit
                batch.vectors(family)


def _live_places(snapshot: Snapshot) -> set[tuple[str, int]]:
    ids = [batch.id for batch in snapshot.batches]
    columns = (snapshot.recorded.column(name).to_pylist() for name in ("batch", "number"))
    return {(ids[batch], number) for batch, number in zip(*columns, strict=True)}


def _still_needed(head: Snapshot, carried: Carried, live: set[tuple[str, int]]) -> set[str]:
    """The compacted batches that `head` cannot do without.

    A rival may have brought back a source row that was past, or have named an extraction that no live source named.
    """
    old = carried.batches
    kept = {batch_id for batch_id, number in live if batch_id in old and (batch_id, number) not in carried.moved}
    rows = zip(*(head.recorded.column(name).to_pylist() for name in ("extraction_id", "leaf")), strict=True)
    missing = {extraction for extraction, leaf in rows if extraction and leaf is None} - carried.extractions
    holding = [(batch.id, set(batch.extractions.column("extraction_id").to_pylist())) for batch in head.batches]
    for batch_id, extractions in holding:
        if batch_id in kept or batch_id not in old:
            missing -= extractions
    for batch_id, extractions in holding:
        if batch_id in old and not missing.isdisjoint(extractions):
            kept.add(batch_id)
            missing -= extractions
    return kept


def _require_distinct_tags(entries: Sequence[BatchEntry]) -> None:
    tags = [entry.tag for entry in entries if entry.rows]
    if len(set(tags)) != len(tags):
        raise Conflict("a rival's batch has the same tag by chance", next_step="run the same command again")
