"""Compares two snapshots: which sources and units differ, and what the same questions find in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pyarrow.compute as pc

from tychora_format.snapshot import Snapshot
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.delivery import delivered
from tychora_functions.query.query import query
from tychora_schemas.difference import (
    AnswerDrift,
    Change,
    DifferenceReport,
    DriftedSegment,
    SourceDifference,
    UnitDifference,
)
from tychora_schemas.locator import Locator
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

__all__ = ["compare"]

SHOWN_UNITS = 20
"""Units listed per source; all are counted."""
SHOWN_CHARACTERS = 120

Unit = tuple[str, str, str]
"""Kind, text, locator."""


def compare(
    workspace: Workspace, before: str, after: str = "main", questions: Sequence[str] = (), k: int = 8
) -> DifferenceReport:
    """What differs from snapshot `before` to snapshot `after` (references), and how the answers to `questions` drift.

    Units are compared by kind and text within their source: an edit elsewhere in the file leaves them the same. Raises
    NotFound for a reference that names no snapshot.
    """
    return delivered(workspace, lambda: _compare(workspace, before, after, questions, k))


def _compare(workspace: Workspace, before: str, after: str, questions: Sequence[str], k: int) -> DifferenceReport:
    one, other = workspace.resolve(before), workspace.resolve(after)
    first = {live.row.source_id: live.row for live in one.live_sources()}
    second = {live.row.source_id: live.row for live in other.live_sources()}
    report = DifferenceReport(
        before=one.id, after=other.id, same_content=one.manifest.content_root == other.manifest.content_root
    )
    for source_id in {**first, **second}:
        found = _compared(one, other, first.get(source_id), second.get(source_id))
        if found is None:
            report.unchanged += 1
        else:
            report.sources.append(found)
    report.sources.sort(key=lambda each: (each.collection, each.path, each.source_id))
    report.answers = [_drift(workspace, one, other, question, k) for question in questions]
    return report


def _compared(
    one: Snapshot, other: Snapshot, before: SourceRow | None, after: SourceRow | None
) -> SourceDifference | None:
    row = after or before
    if row is None or _state(before) == _state(after):
        return None
    old, new = _units(one, before), _units(other, after)
    gone, come = (Counter((kind, text) for kind, text, _ in units) for units in (old, new))
    only_old, only_new = gone - come, come - gone
    return SourceDifference(
        change=_change(before, after),
        source_id=row.source_id,
        collection=row.collection,
        path=row.path,
        was=before.path if before and after and before.path != after.path else None,
        units_kept=(gone & come).total(),
        units_added=only_new.total(),
        units_removed=only_old.total(),
        units=[*_differing("removed", old, only_old), *_differing("added", new, only_new)][:SHOWN_UNITS],
    )


def _state(row: SourceRow | None) -> tuple[str | None, ...] | None:
    return (row.path, row.state, row.revision_id, row.extraction_id) if row else None


def _change(before: SourceRow | None, after: SourceRow | None) -> Change:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.revision_id != after.revision_id or before.state != after.state:
        return "changed"
    return "moved" if before.path != after.path else "reread"


def _units(snapshot: Snapshot, row: SourceRow | None) -> list[Unit]:
    """Kind, text and locator of the units of a source in a snapshot, in reading order."""
    wanted = row.extraction_id if row else None
    for batch in snapshot.batches if wanted else ():
        ordinal = pc.index(batch.extractions.column("extraction_id"), wanted).as_py()
        if ordinal >= 0:
            extraction = batch.extraction(ordinal)
            chunks = batch.chunks(range(extraction.first_row, extraction.first_row + extraction.rows))
            return [
                (span.kind, chunk.text[span.start : span.end], span.locator) for chunk in chunks for span in chunk.units
            ]
    return []


def _differing(
    change: Literal["added", "removed"], units: list[Unit], wanted: Counter[Any]
) -> Iterator[UnitDifference]:
    """The first units of `units` that `wanted` counts by kind and text."""
    left = wanted.copy()
    for kind, text, locator in units:
        if left[kind, text] > 0:
            left[kind, text] -= 1
            yield UnitDifference(change=change, kind=kind, text=text, locator=Locator.model_validate_json(locator))


def _drift(workspace: Workspace, one: Snapshot, other: Snapshot, question: str, k: int) -> AnswerDrift:
    before, after = (
        query(workspace, QueryRequest(question=question, k=k, at=snapshot.id or "main")) for snapshot in (one, other)
    )
    old, new = _ranks(before), _ranks(after)
    drifted = [
        DriftedSegment(path=path, text=text[:SHOWN_CHARACTERS], rank_before=old.get(key, 0), rank_after=new.get(key, 0))
        for key in {**new, **old}
        for path, text in [key]
        if old.get(key) != new.get(key)
    ]
    return AnswerDrift(
        question=question,
        same=not drifted,
        kept=len(old.keys() & new.keys()),
        verdict_before=before.coverage.verdict,
        verdict_after=after.coverage.verdict,
        segments=drifted,
    )


def _ranks(result: QueryResult) -> dict[tuple[str, str], int]:
    """The rank of each segment, from 1, by the path and text that a reader sees."""
    ranks: dict[tuple[str, str], int] = {}
    for rank, segment in enumerate(result.segments, start=1):
        ranks.setdefault((segment.source.path, segment.text), rank)
    return ranks
