"""Hydration: the exact text behind row numbers, each row read once per run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tychora_format.snapshot import Snapshot
from tychora_format.tables import ChunkRow, ExtractionRow
from tychora_functions.query.candidates import Place

__all__ = ["Hydrator"]


class Hydrator:
    """Reads chunks and extractions of one snapshot, and keeps what it has read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._chunks: dict[Place, ChunkRow] = {}
        self._extractions: dict[Place, ExtractionRow] = {}

    def fetch(self, places: Iterable[Place]) -> None:
        """Read many rows at once: rows that lie together are decompressed together."""
        missing: defaultdict[int, list[int]] = defaultdict(list)
        for batch, row in places:
            if (batch, row) not in self._chunks:
                missing[batch].append(row)
        for batch, rows in missing.items():
            for chunk in self.snapshot.batches[batch].chunks(sorted(set(rows))):
                self._chunks[batch, chunk.row] = chunk

    def fetch_around(self, places: Iterable[Place]) -> None:
        """Read rows and their neighbours, which lie in the same compressed block mostly."""
        rows = {(batch, row + step) for batch, row in places for step in (-1, 0, 1)}
        self.fetch((batch, row) for batch, row in rows if 0 <= row < self.snapshot.batches[batch].rows)

    def chunk(self, place: Place) -> ChunkRow:
        """The chunk at `place`."""
        if place not in self._chunks:
            self.fetch([place])
        return self._chunks[place]

    def extraction(self, place: Place) -> ExtractionRow:
        """The extraction that the chunk at `place` belongs to."""
        key = (place[0], self.chunk(place).extraction)
        if key not in self._extractions:
            self._extractions[key] = self.snapshot.batches[key[0]].extraction(key[1])
        return self._extractions[key]

    def neighbour(self, place: Place, step: int) -> Place | None:
        """The place `step` rows on, where that is still in the same extraction."""
        extraction = self.extraction(place)
        row = place[1] + step
        inside = extraction.first_row <= row < extraction.first_row + extraction.rows
        return (place[0], row) if inside else None
