"""A batch: the immutable part of a bundle that one publish makes. This module writes one, and reads one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tychora_format.cache import Cache, hash_file
from tychora_format.extraction import Extraction
from tychora_format.identifiers import identifiers, symbol_forms
from tychora_format.lexical import LexicalDocument, LexicalPart
from tychora_format.lexical import build as build_lexical
from tychora_format.manifest import BatchEntry, FileEntry
from tychora_format.store import Store
from tychora_format.tables import (
    EXTRACTIONS,
    SOURCES,
    SYMBOLS,
    UNIT_PREFIX,
    UNITS,
    ChunkRow,
    ExtractionRow,
    SourceRow,
)
from tychora_format.text import ChunkReader, write_chunks
from tychora_format.vectors import Matrix, ledger, matrix, write_vectors
from tychora_schemas.errors import CorruptWorkspace
from tychora_schemas.identity import digest, identity, merkle_root

__all__ = ["Batch", "Embedding", "Parsed", "matrix_path", "write_batch"]

CHUNKS_FILE = "text/chunks.arrow"
LEXICAL_FOLDER = "lexical"


@dataclass(frozen=True, slots=True)
class Parsed:
    """An extraction with the source it was first read from."""

    extraction: Extraction
    source: SourceRow


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vectors of one family, one per chunk in batch order: `vectors` float16 of shape (rows, dimension)."""

    vectors: npt.NDArray[np.float16]
    input_hashes: list[bytes]


def write_batch(
    directory: Path,
    parsed: Sequence[Parsed],
    sources: Sequence[SourceRow],
    embeddings: Mapping[str, Embedding],
    *,
    salt: int = 0,
) -> BatchEntry:
    """Write a batch's files below `directory` (empty) and return its manifest entry.

    The same arguments give the same bytes, Lance's own manifest and file names excepted. Empty tables are not
    written. `salt` gives another tag, for the case that a manifest has a batch of the same tag already.
    """
    extractions = [each.extraction for each in parsed]
    roots = [bytes.fromhex(each.header.merkle_root) for each in extractions]
    brought = [row.source_id for row in sources]
    tag = int.from_bytes(
        digest("tag-v1", {"roots": [root.hex() for root in roots], "sources": brought, "salt": salt})[:4]
    )
    rows = sum(extraction.chunks.num_rows for extraction in extractions)
    _write_table(directory, "sources", pa.Table.from_pylist([asdict(row) for row in sources], SOURCES))
    _write_table(directory, "extractions", _extraction_table(parsed))
    if rows:
        units, symbols = _unit_tables(extractions)
        _write_table(directory, "units", units)
        _write_table(directory, "symbols", symbols)
        (directory / "text").mkdir()
        write_chunks(directory / CHUNKS_FILE, _chunks(extractions))
        build_lexical(directory / LEXICAL_FOLDER, _lexical_documents(parsed), tag)
        for family, embedding in embeddings.items():
            (directory / "vectors").mkdir(exist_ok=True)
            write_vectors(directory / "vectors" / family, embedding.vectors, embedding.input_hashes)
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    named = [(path.relative_to(directory).as_posix(), path.stat().st_size, hash_file(path)) for path in files]
    batch_id = identity("batch", [list(each) for each in named])
    return BatchEntry(
        id=batch_id,
        tag=tag,
        rows=rows,
        sources=len(sources),
        merkle_root=merkle_root(roots).hex(),
        families=dict.fromkeys(embeddings, rows) if rows else {},
        files=tuple(FileEntry(path=f"batches/{batch_id}/{name}", size=size, sha256=sha) for name, size, sha in named),
    )


def _write_table(directory: Path, name: str, table: pa.Table) -> None:
    if table.num_rows:
        (directory / "tables").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, directory / "tables" / f"{name}.parquet", compression="zstd", compression_level=9)


def _chunks(extractions: Sequence[Extraction]) -> Iterable[dict[str, Any]]:
    """The chunks of all extractions in row order, each with its extraction's ordinal and its first unit's number."""
    for ordinal, extraction in enumerate(extractions):
        first_unit = 0
        for chunk in extraction.chunks.drop_columns(["unit_ids"]).to_pylist():
            yield {**chunk, "extraction": ordinal, "first_unit": first_unit}
            first_unit += len(chunk["units"])


def _extraction_table(parsed: Sequence[Parsed]) -> pa.Table:
    rows = []
    first = 0
    for each in parsed:
        header, count = each.extraction.header, each.extraction.chunks.num_rows
        rows.append(
            {
                "extraction_id": header.extraction_id,
                "content_sha256": header.content_sha256,
                "fingerprint": header.fingerprint,
                "parser": header.parser,
                "kind": header.kind,
                "language": header.language,
                "title": header.title,
                "first_row": first,
                "rows": count,
                "units": sum(len(ids) for ids in each.extraction.chunks.column("unit_ids").to_pylist()),
                "merkle_root": header.merkle_root,
                "warnings": list(header.warnings),
            }
        )
        first += count
    return pa.Table.from_pylist(rows, EXTRACTIONS)


def _unit_tables(extractions: Sequence[Extraction]) -> tuple[pa.Table, pa.Table]:
    import json

    units: list[dict[str, Any]] = []
    symbols: list[dict[str, Any]] = []
    row = 0
    for extraction in extractions:
        for chunk in extraction.chunks.select(["units", "unit_ids"]).to_pylist():
            for span, unit in zip(chunk["units"], chunk["unit_ids"], strict=True):
                place = json.loads(span["locator"])
                first, last = place.get("lines") or (None, None)
                units.append(
                    {
                        "unit_prefix": unit[:UNIT_PREFIX],
                        "row": row,
                        "start": span["start"],
                        "end": span["end"],
                        "kind": span["kind"],
                        "page": place.get("page"),
                        "first_line": first,
                        "last_line": last,
                    }
                )
                if span["kind"] == "symbol" and span["attributes"]:
                    known = json.loads(span["attributes"])
                    if "name" in known:
                        symbols.append({"row": row, "start": span["start"], "symbol_kind": "", **known})
            row += 1
    return pa.Table.from_pylist(units, UNITS), pa.Table.from_pylist(symbols, SYMBOLS)


def _lexical_documents(parsed: Sequence[Parsed]) -> Iterable[LexicalDocument]:
    import json

    for each in parsed:
        title = each.extraction.header.title
        for chunk in each.extraction.chunks.select(["text", "heading_path", "units"]).to_pylist():
            # A section's number names all of its text: it counts in the rows after the first, too.
            forms = identifiers(chunk["text"]) + identifiers("\n".join(chunk["heading_path"]))
            headings = dict.fromkeys([title, *chunk["heading_path"]] if title else chunk["heading_path"])
            for span in chunk["units"]:
                if span["kind"] == "symbol" and span["attributes"]:
                    forms += symbol_forms(json.loads(span["attributes"]).get("name", ""))
            yield LexicalDocument(
                text=chunk["text"],
                title=each.source.path,
                heading_path=tuple(headings),
                identifiers=tuple(dict.fromkeys(forms)),
            )


def matrix_path(cache: Cache, batch_id: str, family: str) -> Path:
    """Where this machine keeps a batch's vectors for searching."""
    return cache.directory / "vectors" / f"{batch_id}.{family}"


class Batch:
    """Reads one batch of a snapshot. Every file is fetched, and its hash checked, when it is first needed."""

    def __init__(self, entry: BatchEntry, store: Store, cache: Cache) -> None:
        self.entry = entry
        self.store = store
        self.cache = cache
        self._met: dict[int, ExtractionRow] = {}

    @property
    def id(self) -> str:
        return self.entry.id

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
        return self.cache.fetch_folder(self.store, f"batches/{self.id}/{name}", files)

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
        return self.table("sources") if self.entry.sources else SOURCES.empty_table()

    @cached_property
    def extractions(self) -> pa.Table:
        """All extractions of the batch (schema EXTRACTIONS)."""
        table = self.table("extractions")
        return EXTRACTIONS.empty_table() if table is None else table

    @cached_property
    def first_rows(self) -> npt.NDArray[np.int64]:
        """Where each extraction starts, and the number of rows as last element."""
        starts = self.extractions.column("first_row").to_numpy().astype(np.int64)
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
        return matrix_path(self.cache, self.id, family)

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
