"""The outline of a source: its headings, or the symbols of code, in reading order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.extraction import unit_id
from tychora_format.snapshot import Snapshot
from tychora_format.tables import ChunkRow, ExtractionRow
from tychora_format.workspace import Workspace
from tychora_functions.delivery import delivered
from tychora_schemas.errors import NotFound
from tychora_schemas.locator import Locator
from tychora_schemas.outline import OutlineEntry, OutlineReport

__all__ = ["outline"]


def outline(workspace: Workspace, source_id: str, at: str = "main") -> OutlineReport:
    """The outline of a live source of the snapshot `at`. Raises NotFound where it is not live, or has no text."""
    return delivered(workspace, lambda: _outline(workspace.resolve(at), source_id, at))


def _outline(snapshot: Snapshot, source_id: str, at: str) -> OutlineReport:
    for live in snapshot.live_sources(lambda row: row.source_id == source_id and row.extraction_id is not None):
        for batch in snapshot.batches:
            ordinal = pc.index(batch.extractions.column("extraction_id"), live.row.extraction_id).as_py()
            if ordinal >= 0:
                extraction = batch.extraction(ordinal)
                return OutlineReport(
                    source_id=source_id,
                    snapshot_id=snapshot.id,
                    path=live.row.path,
                    title=extraction.title or live.row.path,
                    entries=tuple(_entries(batch, extraction)),
                )
    raise NotFound(
        f"there is no source {source_id} with text in {at}", next_step="tychora inspect WORKSPACE sources lists them"
    )


def _entries(batch: Batch, extraction: ExtractionRow) -> Iterator[OutlineEntry]:
    """One entry for each run of chunks under the same headings."""
    chunks = batch.chunks(range(extraction.first_row, extraction.first_row + extraction.rows))
    for heading_path, run in groupby(chunks, key=lambda chunk: chunk.heading_path):
        under = list(run)
        yield _entry(extraction.content_sha256, heading_path, under)


def _entry(content: str, heading_path: tuple[str, ...], chunks: list[ChunkRow]) -> OutlineEntry:
    first = chunks[0]
    span = first.units[0]
    unit = unit_id(content, first.first_unit, span.kind, first.text[span.start : span.end], span.locator)
    place = Locator.model_validate_json(span.locator)
    return OutlineEntry(
        heading_path=heading_path,
        first_unit_id=f"unit_{unit.hex()}",
        page=place.page,
        lines=tuple(place.lines) if place.lines else None,
        chunks=len(chunks),
    )
