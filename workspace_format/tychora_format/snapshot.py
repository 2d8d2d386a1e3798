"""A snapshot, opened for reading: which sources are live in it, and which rows they make visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.cache import Cache
from tychora_format.lexical import View, open_view
from tychora_format.manifest import Manifest, from_ranges
from tychora_format.statements import InForce
from tychora_format.store import Store
from tychora_format.store.failures import typed_failures
from tychora_format.tables import SOURCES, SourceRow
from tychora_schemas.identity import digest, merkle_root

__all__ = ["LiveSource", "Mask", "Scope", "Snapshot", "content_leaf", "content_leaves", "content_root"]

Mask = npt.NDArray[np.bool_]

PLACED = (
    SOURCES.append(pa.field("batch", pa.uint32()))
    .append(pa.field("number", pa.uint32()))
    .append(pa.field("leaf", pa.binary(32)))
)


@dataclass(frozen=True, slots=True)
class LiveSource:
    """A live source row and where it stands: row `number` of the sources of batch `batch` (an id)."""

    row: SourceRow
    batch: str
    number: int


class Scope:
    """What a reader of a snapshot may see: some of its live sources, and per batch the chunk rows they give.

    A content that several sources share is in scope as soon as one of them is, and only those are named.
    """

    def __init__(self, snapshot: Snapshot, sources: pa.Table, admits: Sequence[Mask] | None = None) -> None:
        self.snapshot = snapshot
        self.table = sources
        """Live sources in scope: schema SOURCES plus `batch` (ordinal) and `number` (row)."""
        self.rows = snapshot.rows_of(sources, admits)
        """Per batch, a mask over its chunk rows."""

    @cached_property
    def size(self) -> int:
        """How many chunks are in scope."""
        return int(sum(int(mask.sum()) for mask in self.rows))

    def sources_of(self, extraction_id: str) -> list[SourceRow]:
        """The sources in scope whose content gave this extraction, by path."""
        hits = self.table.filter(pc.equal(self.table.column("extraction_id"), extraction_id))
        return sorted(_source_rows(hits), key=lambda source: (source.collection, source.path))

    def lexical_view(self) -> View:
        """The lexical index over exactly the rows in scope."""
        batches = self.snapshot.batches
        chosen = [number for number, batch in enumerate(batches) if batch.rows]
        parts = [batches[number].lexical() for number in chosen]
        directory = self.snapshot.cache.directory / "views"
        with typed_failures(f"make a view of the lexical index in {directory}"):
            return open_view(directory, parts, [self.rows[number] for number in chosen])


class Snapshot:
    """One state of the bundle. Everything is read when it is first needed, and checked against the manifest."""

    def __init__(
        self,
        snapshot_id: str,
        manifest: Manifest,
        store: Store,
        cache: Cache,
        opened: Mapping[str, Batch] | None = None,
        statements: InForce | None = None,
    ) -> None:
        """`opened` are batches that are open already, by id: those that this manifest lists too are shared.

        `statements` are those in force: they hide sources, and say which batches were replaced by others.
        """
        self.id = snapshot_id
        self.manifest = manifest
        self.cache = cache
        self.statements = statements or InForce()
        self.batches: list[Batch] = []
        for named in manifest.batches:
            entry = self.statements.replaced.get(named.id, named)
            batch = (opened or {}).get(named.id)
            # Two manifests may describe an id differently if one of them lies: then each gets what it says.
            self.batches.append(batch if batch and batch.entry == entry else Batch(entry, store, cache, named.id))

    @cached_property
    def recorded(self) -> pa.Table:
        """All live source rows as the manifest states them, hidden ones included: what writers go by.

        Schema SOURCES, with `batch` (ordinal), `number` (row in that batch) and `leaf`: the leaf in the content root
        of a row that was erased, null for all others.
        """
        tables = []
        for ordinal, batch in enumerate(self.batches):
            table, numbers = batch.sources, np.arange(batch.sources.num_rows, dtype=np.uint32)
            leaves = batch.erased_leaves
            if dead := from_ranges(self.manifest.dead.get(batch.id, ())):
                numbers = np.setdiff1d(numbers, np.fromiter(dead, np.uint32, len(dead)))
                table, leaves = table.take(pa.array(numbers)), leaves.take(pa.array(numbers))
            table = table.append_column("batch", pa.repeat(pa.scalar(ordinal, pa.uint32()), len(numbers)))
            tables.append(table.append_column("number", pa.array(numbers)).append_column("leaf", leaves))
        return pa.concat_tables(tables).cast(PLACED) if tables else PLACED.empty_table()

    @cached_property
    def sources(self) -> pa.Table:
        """The live source rows that readers may see: `recorded` without what statements hide."""
        table = self.recorded
        hidden = pa.array(sorted(self.statements.withdrawn | self.statements.erased), pa.string())
        for name in ("source_id", "revision_id", "content_sha256") if len(hidden) else ():
            table = table.filter(pc.invert(pc.is_in(table.column(name), hidden)))
        return table

    @cached_property
    def everything(self) -> Scope:
        """The scope of all live sources."""
        return Scope(self, self.sources)

    def rows_of(self, sources: pa.Table, admits: Sequence[Mask] | None = None) -> list[Mask]:
        """Per batch, which chunk rows belong to an extraction of `sources`.

        `admits` narrows that per batch and extraction. An extraction that two batches hold counts in the first of
        them (batches are ordered by id), so that nothing is found twice.
        """
        wanted = sources.column("extraction_id").combine_chunks()
        seen = pa.array([], pa.string())
        masks = []
        for ordinal, batch in enumerate(self.batches):
            ids = batch.extractions.column("extraction_id").combine_chunks()
            chosen = pc.and_(pc.is_in(ids, wanted), pc.invert(pc.is_in(ids, seen)))
            kept = chosen.to_numpy(zero_copy_only=False)
            seen = pa.concat_arrays([seen, ids.filter(chosen)])
            if admits is not None:
                kept = kept & admits[ordinal]
            masks.append(batch.spread(kept))
        return masks

    def live_sources(
        self, where: Callable[[SourceRow], bool] | None = None, *, hidden: bool = False
    ) -> list[LiveSource]:
        """The live sources with their places, optionally only those for which `where` holds.

        With `hidden` also those that statements hide: for writers, who must not take them for absent.
        """
        table = self.recorded.filter(pc.is_null(self.recorded.column("leaf"))) if hidden else self.sources
        rows = _source_rows(table)
        batches = table.column("batch").to_pylist()
        numbers = table.column("number").to_pylist()
        return [
            LiveSource(row, self.batches[batch].id, number)
            for row, batch, number in zip(rows, batches, numbers, strict=True)
            if where is None or where(row)
        ]


def _source_rows(table: pa.Table) -> list[SourceRow]:
    return [SourceRow(**values) for values in table.select(SOURCES.names).to_pylist()]


def content_root(sources: pa.Table) -> str:
    """The Merkle root over what is live: what two builds of the same inputs compare.

    It covers each live source's identity, path and state and, through the extraction's id, every unit's exact text and
    place; it does not cover how they are spread over batches or which bytes the index files have.
    """
    return merkle_root(content_leaves(sources)).hex()


def content_leaves(sources: pa.Table) -> list[bytes]:
    """The leaves of the content root, sorted. Of an erased source only the leaf is left, in the column `leaf`."""
    names = ("source_id", "path", "state", "revision_id", "extraction_id")
    columns = [sources.column(name).to_pylist() for name in names]
    kept = sources.column("leaf").to_pylist() if "leaf" in sources.column_names else [None] * sources.num_rows
    return sorted(
        leaf or content_leaf(**dict(zip(names, values, strict=True)))
        for leaf, values in zip(kept, zip(*columns, strict=True), strict=True)
    )


def content_leaf(source_id: str, path: str, state: str, revision_id: str | None, extraction_id: str | None) -> bytes:
    """The leaf of one live source."""
    return digest(
        "live-v1",
        {
            "source_id": source_id,
            "path": path,
            "state": state,
            "revision_id": revision_id,
            "extraction_id": extraction_id,
        },
    )
