"""What stands behind an id: a unit with its place, a source with its revisions, a snapshot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.extraction import unit_id
from tychora_format.history import Revisited
from tychora_format.manifest import Manifest, from_ranges
from tychora_format.snapshot import Snapshot
from tychora_format.tables import UNIT_PREFIX, ExtractionRow, SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.checking import verify_citation
from tychora_functions.delivery import delivered
from tychora_functions.inspection import live_count, source_entry
from tychora_schemas.errors import InvalidRequest, NotFound
from tychora_schemas.locator import Locator
from tychora_schemas.receipts import RevisionEntry, SnapshotEvidence, SourceEvidence, UnitEvidence
from tychora_schemas.result import SegmentSource

__all__ = ["evidence", "verify_citation"]

IDENTITY = re.compile(r"(unit|source|revision|snapshot)_([0-9a-f]{8,64})")
HASH = re.compile(r"[0-9a-f]{8,64}")
KINDS = "unit_…, source_…, revision_… or a snapshot's hash, with at least 8 of its digits"


def evidence(workspace: Workspace, id: str, at: str = "main") -> UnitEvidence | SourceEvidence | SnapshotEvidence:
    """What `id` names in the snapshot `at`. The first digits of an id suffice, at least 8, where they are unique.

    Raises InvalidRequest for an id of no known form or a prefix of several, NotFound when the snapshot has no such
    thing: it may be of another snapshot, see `at`.
    """
    return delivered(workspace, lambda: _evidence(workspace, id, at))


def _evidence(workspace: Workspace, id: str, at: str) -> UnitEvidence | SourceEvidence | SnapshotEvidence:
    wanted = id.strip()
    if HASH.fullmatch(wanted):
        return _snapshot(workspace.resolve(wanted))
    match = IDENTITY.fullmatch(wanted)
    if match is None:
        raise InvalidRequest(f"{id!r} is no id that evidence is found by", next_step=f"give {KINDS}")
    kind, digits = match.groups()
    if kind == "snapshot":
        return _snapshot(workspace.resolve(digits))
    snapshot = workspace.resolve(at)
    if kind == "unit":
        return _unit(snapshot, wanted, digits, at)
    return _source(workspace, snapshot, f"{kind}_id", wanted, at)


def _unit(snapshot: Snapshot, wanted: str, digits: str, at: str) -> UnitEvidence:
    """The unit's text comes from its chunk, its place from the chunk's span of it."""
    found = {unit: place for place in _units(snapshot, digits) for unit in [place[1]]}
    if len(found) > 1:
        raise _ambiguous(wanted, len(found))
    for ordinal, unit, row, start, end in found.values():
        batch = snapshot.batches[ordinal]
        chunk = batch.chunks([row])[0]
        extraction = batch.extraction(chunk.extraction)
        span = next(span for span in chunk.units if (span.start, span.end) == (start, end))
        sources = snapshot.everything.sources_of(extraction.extraction_id)
        first = sources[0]
        return UnitEvidence(
            id=f"unit_{unit}",
            snapshot_id=snapshot.id,
            kind=span.kind,
            text=chunk.text[start:end],
            locator=Locator.model_validate_json(span.locator),
            heading_path=chunk.heading_path,
            source=SegmentSource(
                id=first.source_id,
                collection=first.collection,
                path=first.path,
                title=extraction.title or PurePosixPath(first.path).stem,
                kind=extraction.kind,
            ),
            revision_id=first.revision_id or "",
            content_sha256=extraction.content_sha256,
            also_at=tuple(each.path for each in sources[1:] if each.collection == first.collection),
            attributes=json.loads(span.attributes) if span.attributes else {},
        )
    raise _absent("unit", wanted, at)


def _units(snapshot: Snapshot, digits: str) -> Iterator[tuple[int, str, int, int, int]]:
    """The visible units whose hash starts with `digits`: batch ordinal, hash, chunk row, start and end in the chunk."""
    prefix = bytes.fromhex(digits[: len(digits) // 2 * 2][: 2 * UNIT_PREFIX])
    for ordinal, batch in enumerate(snapshot.batches):
        units = batch.table("units")
        if units is None:
            continue
        stored = units.column("unit_prefix").cast(pa.binary())
        hits = units.filter(pc.starts_with(stored, pattern=prefix))
        for hit in hits.to_pylist():
            if not snapshot.everything.rows[ordinal][hit["row"]]:
                continue
            chunk = batch.chunks([hit["row"]])[0]
            number = next(n for n, span in enumerate(chunk.units) if span.start == hit["start"])
            content = batch.extraction(chunk.extraction).content_sha256
            span, text = chunk.units[number], chunk.text[hit["start"] : hit["end"]]
            whole = unit_id(content, chunk.first_unit + number, span.kind, text, span.locator).hex()
            if whole.startswith(digits):
                yield ordinal, whole, hit["row"], hit["start"], hit["end"]


def _source(workspace: Workspace, snapshot: Snapshot, column: str, wanted: str, at: str) -> SourceEvidence:
    rows = [live.row for live in snapshot.live_sources(lambda row: (getattr(row, column) or "").startswith(wanted))]
    if not rows:
        raise _absent(column.removesuffix("_id"), wanted, at)
    if len({row.source_id for row in rows}) > 1:
        raise _ambiguous(wanted, len(rows))
    row = rows[0]
    extraction = _extraction(snapshot, row.extraction_id)
    return SourceEvidence(
        id=row.source_id,
        snapshot_id=snapshot.id,
        source=source_entry(row),
        title=(extraction.title or PurePosixPath(row.path).stem) if extraction else None,
        kind=extraction.kind if extraction else None,
        chunks=extraction.rows if extraction else 0,
        warnings=extraction.warnings if extraction else [],
        revisions=_revisions(workspace, snapshot, row.source_id),
    )


def _extraction(snapshot: Snapshot, extraction_id: str | None) -> ExtractionRow | None:
    for batch in snapshot.batches if extraction_id else ():
        ordinal = pc.index(batch.extractions.column("extraction_id"), extraction_id).as_py()
        if ordinal >= 0:
            return batch.extraction(ordinal)
    return None


def _revisions(workspace: Workspace, snapshot: Snapshot, source_id: str) -> list[RevisionEntry]:
    """The states of a source that this location knows up to `snapshot`, newest first."""
    known: dict[str, dict[int, SourceRow]] = {}
    states: list[RevisionEntry] = []
    for past, manifest in _until(workspace, snapshot):
        for row in _live_rows(workspace, manifest, source_id, known):
            state = RevisionEntry(
                time=past.time,
                snapshot_id=past.snapshot,
                path=row.path,
                state=row.state,
                revision_id=row.revision_id,
                content_sha256=row.content_sha256,
                size=row.size,
            )
            if not states or _differs(states[0], state):
                states.insert(0, state)
    return states


def _until(workspace: Workspace, snapshot: Snapshot) -> Iterator[tuple[Revisited, Manifest]]:
    """The states of the past with their manifests, oldest first, as far as `snapshot`."""
    for state in reversed(workspace.lineage()):
        yield state, workspace.manifest(state.snapshot)
        if state.snapshot == snapshot.id:
            return


def _live_rows(
    workspace: Workspace, manifest: Manifest, source_id: str, known: dict[str, dict[int, SourceRow]]
) -> Iterator[SourceRow]:
    """The rows of a source that are live in a snapshot and not hidden; `known` keeps what each batch says."""
    statements = workspace.statements.in_force()
    for named in manifest.batches:
        if named.id not in known:
            entry = statements.replaced.get(named.id, named)
            table = Batch(entry, workspace.store, workspace.cache).sources
            numbered = table.append_column("number", pa.array(range(table.num_rows), pa.uint32()))
            hits = numbered.filter(pc.equal(numbered.column("source_id"), pa.scalar(source_id))).to_pylist()
            rows = {hit.pop("number"): SourceRow(**hit) for hit in hits}
            known[named.id] = {number: row for number, row in rows.items() if not statements.hides(row)}
        dead = from_ranges(manifest.dead.get(named.id, ())) if known[named.id] else set()
        yield from (row for number, row in known[named.id].items() if number not in dead)


def _differs(before: RevisionEntry, after: RevisionEntry) -> bool:
    return (before.path, before.state, before.revision_id) != (after.path, after.state, after.revision_id)


def _snapshot(snapshot: Snapshot) -> SnapshotEvidence:
    manifest = snapshot.manifest
    return SnapshotEvidence(
        id=snapshot.id,
        snapshot_id=snapshot.id,
        time=manifest.time,
        parents=list(manifest.parents),
        content_root=manifest.content_root,
        sources=live_count(manifest),
        chunks=snapshot.everything.size,
        batches=[batch.id for batch in manifest.batches],
    )


def _absent(kind: str, wanted: str, at: str) -> NotFound:
    return NotFound(
        f"there is no {kind} {wanted} in {at}",
        next_step="if it was cited from another snapshot, name that one with --at (tychora inspect WORKSPACE log)",
    )


def _ambiguous(wanted: str, count: int) -> InvalidRequest:
    return InvalidRequest(f"{wanted} is the beginning of {count} ids", next_step="give more digits")
