"""A batch: the immutable part of a bundle that one publish makes. This module reads one, `batch_writer` writes it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tychora_format.batch_writer import CHUNKS_FILE, LEXICAL_FOLDER, Embedding, Parsed, write_batch
from tychora_format.cache import Cache
from tychora_format.extraction import STAGED, Extraction, ExtractionHeader
from tychora_format.lexical import LexicalPart
from tychora_format.manifest import BatchEntry, FileEntry
from tychora_format.store import Store
from tychora_format.tables import ERASED, EXTRACTIONS, SOURCES, ChunkRow, ExtractionRow, SourceRow
from tychora_format.text import ChunkReader
from tychora_format.vectors import Matrix, ledger, matrix
from tychora_schemas.errors import CorruptWorkspace

__all__ = ["Batch", "Embedding", "Parsed", "matrix_path", "write_batch"]


def matrix_path(cache: Cache, batch_id: str, family: str) -> Path:
    """Where this machine keeps a batch's vectors for searching."""
    return cache.directory / "vectors" / f"{batch_id}.{family}"


class Batch:
    """Reads one batch of a snapshot. Every file is fetched, and its hash checked, when it is first needed."""

    def __init__(self, entry: BatchEntry, store: Store, cache: Cache, known_as: str = "") -> None:
        """`known_as` is the id in the manifest where `entry` stands for a batch from which something was erased."""
        self.entry = entry
        self.store = store
        self.cache = cache
        self.id = known_as or entry.id
        self._met: dict[int, ExtractionRow] = {}

    @property
    def rows(self) -> int:
        return self.entry.rows

    def _fetch(self, file: FileEntry) -> Path:
        return self.cache.fetch(self.store, file.path, file.size, file.sha256)

    def _folder(self, name: str) -> Path:
        """The local folder that holds all files below `name`."""
        files = self.entry.folder(name)
        if not files:
            raise CorruptWorkspace(
                f"{self.id} has no {name} files, though its manifest entry says so",
                next_step="run tychora verify, and restore the batch from another copy",
            )
        return self.cache.fetch_folder(self.store, f"batches/{self.entry.id}/{name}", files)

    def table(self, name: str) -> pa.Table | None:
        """The Parquet table `name` as Arrow, or None when the batch has no such rows."""
        file = self.entry.file(f"tables/{name}.parquet")
        if file is None:
            return None
        path = self._fetch(file)
        try:
            # Not pq.read_table: that imports pyarrow.dataset, which a cold search would pay for.
            with pq.ParquetFile(path) as table:
                return table.read()
        except (pa.ArrowException, OSError) as error:
            raise CorruptWorkspace(
                f"{file.path} is no readable table: {error}", next_step="restore the file from another copy"
            ) from error

    @cached_property
    def sources(self) -> pa.Table:
        """All source rows of the batch, live or past (schema SOURCES)."""
        table = self.table("sources") if self.entry.sources else None
        count = table.num_rows if table is not None else 0
        if count != self.entry.sources:
            raise CorruptWorkspace(
                f"{self.id} holds {count} source rows, a manifest says {self.entry.sources}",
                next_step="run tychora verify, and restore the manifest or the batch from another copy",
            )
        return SOURCES.empty_table() if table is None else table

    @property
    def erased_leaves(self) -> pa.Array:
        """Per source row: its leaf in the content root where the row was erased, null everywhere else."""
        table = self.table("erased")
        if table is None:
            return pa.nulls(self.sources.num_rows, pa.binary(32))
        leaves: list[bytes | None] = [None] * self.sources.num_rows
        for number, leaf in zip(*(table.column(name).to_pylist() for name in ERASED.names), strict=True):
            leaves[number] = leaf
        return pa.array(leaves, pa.binary(32))

    @cached_property
    def extractions(self) -> pa.Table:
        """All extractions of the batch (schema EXTRACTIONS)."""
        table = self.table("extractions")
        return EXTRACTIONS.empty_table() if table is None else table

    @cached_property
    def first_rows(self) -> npt.NDArray[np.int64]:
        """Where each extraction starts, and the number of rows as last element."""
        starts, counts = (self.extractions.column(name).to_numpy().astype(np.int64) for name in ("first_row", "rows"))
        ends = np.cumsum(counts)
        if self.rows != (int(ends[-1]) if len(ends) else 0) or not np.array_equal(starts, ends - counts):
            raise CorruptWorkspace(
                f"the rows of the extractions of {self.id} are not the {self.rows} that a manifest says",
                next_step="run tychora verify, and restore the manifest or the batch from another copy",
            )
        return np.append(starts, self.rows)

    def extraction(self, ordinal: int) -> ExtractionRow:
        """Extraction number `ordinal` of the batch."""
        if ordinal not in self._met:
            self._met[ordinal] = ExtractionRow(**self.extractions.slice(ordinal, 1).to_pylist()[0])
        return self._met[ordinal]

    def source(self, number: int) -> SourceRow:
        """Source row number `number` of the batch."""
        return SourceRow(**self.sources.slice(number, 1).to_pylist()[0])

    def spread(self, per_extraction: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value per extraction, repeated for each of its rows."""
        return np.repeat(per_extraction, np.diff(self.first_rows))

    @cached_property
    def _chunks(self) -> ChunkReader:
        file = self.entry.file(CHUNKS_FILE)
        if file is None:
            raise CorruptWorkspace(f"{self.id} has no text", next_step="restore the batch from another copy")
        return ChunkReader(self._fetch(file), self.rows)

    def chunks(self, rows: Sequence[int]) -> list[ChunkRow]:
        """The chunks of `rows`, in that order."""
        return self._chunks.take(rows)

    def parsed_again(self, ordinal: int) -> Extraction:
        """Extraction number `ordinal` as it was before it came into the batch: what another batch is written from.

        Raises CorruptWorkspace when its Merkle root does not follow from what is stored.
        """
        row = ExtractionRow(**self.extractions.slice(ordinal, 1).to_pylist()[0])
        if not row.rows:  # what was erased left its root, from which nothing follows
            header = ExtractionHeader(
                content_sha256=row.content_sha256,
                fingerprint=row.fingerprint,
                parser=row.parser,
                kind=row.kind,
                language=row.language,
                title=row.title,
                merkle_root=row.merkle_root,
                warnings=row.warnings,
            )
            return Extraction(header, STAGED.empty_table())
        chunks = [
            {
                "text": chunk.text,
                "heading_path": chunk.heading_path,
                "tokens": chunk.tokens,
                "units": [asdict(span) for span in chunk.units],
            }
            for chunk in self.chunks(range(row.first_row, row.first_row + row.rows))
        ]
        extraction = Extraction.build(
            chunks,
            content_sha256=row.content_sha256,
            fingerprint=row.fingerprint,
            parser=row.parser,
            kind=row.kind,
            language=row.language,
            title=row.title,
            warnings=row.warnings,
        )
        if extraction.header.merkle_root != row.merkle_root:
            raise CorruptWorkspace(
                f"{self.id}: the units of {row.extraction_id} are not those of its Merkle root",
                next_step="run tychora verify, and restore the batch from another copy",
            )
        return extraction

    def reopened(self) -> Batch:
        """The same batch with nothing of it read: for who reads all of it once, and lets go of it then."""
        return Batch(self.entry, self.store, self.cache, self.id)

    def lexical(self) -> LexicalPart:
        """The batch's part of the lexical index."""
        return LexicalPart(directory=self._folder(LEXICAL_FOLDER), tag=self.entry.tag, rows=self.rows)

    def vectors(self, family: str) -> Matrix | None:
        """The vectors of `family` in row order, for searching; None where the batch has none."""
        if family not in self.entry.families:
            return None
        found = matrix(self.vectors_folder(family), self.matrix_path(family), self.rows)
        if len(found) != self.rows:
            raise CorruptWorkspace(
                f"{self.id} holds {len(found)} vectors of {family} for {self.rows} rows",
                next_step="run tychora verify, and restore the batch from another copy",
            )
        return found

    def vectors_folder(self, family: str) -> Path:
        """The Lance dataset of `family`, as a local folder."""
        return self._folder(f"vectors/{family}")

    def matrix_path(self, family: str) -> Path:
        """Where this machine keeps the batch's vectors for searching."""
        return matrix_path(self.cache, self.entry.id, family)

    def ledger(self, family: str, wanted: Collection[bytes]) -> dict[bytes, npt.NDArray[np.float16]]:
        """Which of the `wanted` input hashes the batch has embedded in `family`, each with its stored vector."""
        return ledger(self.vectors_folder(family), wanted) if family in self.entry.families else {}

    def check_rows(self, problem: Callable[[str], None]) -> None:
        """Report where the batch's tables contradict its manifest entry or each other."""
        if self.sources.num_rows != self.entry.sources:
            problem(f"{self.id}: {self.sources.num_rows} source rows, the manifest says {self.entry.sources}")
        starts = self.first_rows
        counts = self.extractions.column("rows").to_numpy()
        if any(b - a != n for (a, b), n in zip(pairwise(starts.tolist()), counts.tolist(), strict=True)):
            problem(f"{self.id}: the row ranges of its extractions have gaps or overlaps")
