"""What a compaction carries over from a snapshot's batches, and how that is divided among new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import pyarrow as pa

from tychora_format.batch import Parsed
from tychora_format.snapshot import Snapshot
from tychora_format.tables import SOURCES, SourceRow
from tychora_format.vector_copy import Stretch, VectorCopy

__all__ = ["MOST_ROWS", "Carried", "Part"]

MOST_ROWS = 250_000
"""Chunk rows of a new batch: at 1,500 tokens each they would still fit the memory of one lexical segment."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An extraction: where it is read from, and per family the batch and first row that have its vectors."""

    extraction_id: str
    batch: int
    ordinal: int
    rows: int
    vectors: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Part:
    """What becomes one batch. `sources` are positions in the snapshot's recorded rows, in the new batch's order."""

    extractions: list[_Held] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    rows: int = 0

    @property
    def families(self) -> list[str]:
        """The families that all of its rows have vectors of."""
        return sorted({family for held in self.extractions if held.rows for family in held.vectors})


class Carried:
    """The live source rows of `snapshot` and the chunk rows that they make visible, hidden sources included.

    Everything keeps the order of batch and row, so that equal scores go on being ordered as before. Rows that have
    vectors of different families go to different parts, so that every part has the families of its rows complete.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        recorded = snapshot.recorded
        self._extraction_of = recorded.column("extraction_id").to_pylist()
        self._leaves = recorded.column("leaf").to_pylist()
        ids = [batch.id for batch in snapshot.batches]
        places = zip(recorded.column("batch").to_pylist(), recorded.column("number").to_pylist(), strict=True)
        self._places = [(ids[batch], number) for batch, number in places]
        self._readers: dict[str, int] = {}
        """Extraction → the position of the source that it is shown to have been read from first."""
        self.parts = self._divided(self._found())

    @property
    def needed(self) -> bool:
        """Whether there is anything to gain: several batches in one, or rows that nobody sees."""
        batches = [batch.entry for batch in self.snapshot.batches]
        return (
            len(batches) != len(self.parts)
            or sum(entry.rows for entry in batches) != sum(part.rows for part in self.parts)
            or sum(entry.sources for entry in batches) != len(self._places)
        )

    @cached_property
    def moved(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        """Where a source row stood (batch id, number) → its part and its number there."""
        return {
            self._places[position]: (part, number)
            for part, each in enumerate(self.parts)
            for number, position in enumerate(each.sources)
        }

    @cached_property
    def batches(self) -> frozenset[str]:
        """The ids of the batches that everything is carried over from."""
        return frozenset(batch.id for batch in self.snapshot.batches)

    @cached_property
    def extractions(self) -> frozenset[str]:
        """The ids of all extractions that are carried over."""
        return frozenset(held.extraction_id for part in self.parts for held in part.extractions)

    def sources(self, part: Part) -> list[SourceRow]:
        """The source rows of a part."""
        table = self.snapshot.recorded.select(SOURCES.names).take(pa.array(part.sources, pa.uint64()))
        return [SourceRow(**values) for values in table.to_pylist()]

    def erased(self, part: Part) -> dict[int, bytes]:
        """The leaves of those source rows of a part of which nothing else is left, by number."""
        leaves = ((number, self._leaves[position]) for number, position in enumerate(part.sources))
        return {number: leaf for number, leaf in leaves if leaf is not None}

    def parsed(self, part: Part, sources: list[SourceRow]) -> Iterator[Parsed]:
        """The extractions of a part, read from their batches one at a time; `sources` are the part's."""
        by_position = dict(zip(part.sources, sources, strict=True))
        for ordinal, group in groupby(part.extractions, key=lambda held: held.batch):
            batch = self.snapshot.batches[ordinal].reopened()
            for held in group:
                yield Parsed(batch.parsed_again(held.ordinal), by_position[self._readers[held.extraction_id]])

    def vectors(self, part: Part) -> dict[str, VectorCopy]:
        """The vectors of a part's rows, per family."""
        batches = self.snapshot.batches
        copies = {}
        for family in part.families:
            places = ((held.vectors[family], held.rows) for held in part.extractions if held.rows)
            copies[family] = VectorCopy(family, [Stretch(batches[at], first, rows) for (at, first), rows in places])
        return copies

    def _found(self) -> list[_Held]:
        """Each extraction that a live source names, once: from the first batch that holds it."""
        live: dict[str, int] = {}
        for position, extraction in enumerate(self._extraction_of):
            if extraction and self._leaves[position] is None:
                live.setdefault(extraction, position)
        whole = (position for position, leaf in enumerate(self._leaves) if leaf is None)
        position_of = {self._places[position]: position for position in whole}
        found: dict[str, _Held] = {}
        for number, batch in enumerate(self.snapshot.batches):
            first_named: dict[str, int] = {}
            for source, extraction in enumerate(batch.sources.column("extraction_id").to_pylist()):
                first_named.setdefault(extraction, source)
            columns = (batch.extractions.column(name).to_pylist() for name in ("extraction_id", "first_row", "rows"))
            for ordinal, (extraction, first_row, rows) in enumerate(zip(*columns, strict=True)):
                if extraction not in live:
                    continue
                if extraction not in found:
                    found[extraction] = _Held(extraction, number, ordinal, rows)
                    first = (batch.id, first_named.get(extraction, -1))
                    self._readers[extraction] = position_of.get(first, live[extraction])
                for family in batch.entry.families if rows == found[extraction].rows else ():
                    found[extraction].vectors.setdefault(family, (number, first_row))
        return list(found.values())

    def _divided(self, found: list[_Held]) -> list[Part]:
        parts: list[Part] = []
        filling: dict[tuple[str, ...], Part] = {}
        for held in found:
            families = tuple(sorted(held.vectors))
            if not held.rows:
                continue
            if families not in filling or filling[families].rows + held.rows > MOST_ROWS:
                filling[families] = Part()
                parts.append(filling[families])
            filling[families].extractions.append(held)
            filling[families].rows += held.rows
        if not parts and self._places:
            parts.append(Part())
        for held in found:
            if not held.rows:
                parts[0].extractions.append(held)
        self._assign_sources(parts)
        return parts

    def _assign_sources(self, parts: list[Part]) -> None:
        """Each source goes where its extraction goes, the one that this was first read from before all others."""
        home: dict[str, Part] = {}
        readers = set(self._readers.values())
        for part in parts:
            for held in part.extractions:
                home[held.extraction_id] = part
                part.sources.append(self._readers[held.extraction_id])
        for position, extraction in enumerate(self._extraction_of):
            if position not in readers:
                home.get(extraction or "", parts[0]).sources.append(position)
