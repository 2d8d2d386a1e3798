"""Writes a batch: tables, text, one lexical segment and vectors, from extractions that pass by one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tychora_format.cache import hash_file
from tychora_format.extraction import Extraction
from tychora_format.identifiers import identifiers, symbol_forms
from tychora_format.lexical import LexicalDocument
from tychora_format.lexical import build as build_lexical
from tychora_format.manifest import BatchEntry, FileEntry
from tychora_format.tables import ERASED, EXTRACTIONS, SOURCES, SYMBOLS, UNIT_PREFIX, UNITS, SourceRow
from tychora_format.text import ChunkWriter
from tychora_format.vectors import write_vectors
from tychora_schemas.identity import digest, identity, merkle_root

__all__ = ["CHUNKS_FILE", "LEXICAL_FOLDER", "Embedding", "Parsed", "RowVectors", "first_readers", "write_batch"]

CHUNKS_FILE = "text/chunks.arrow"
LEXICAL_FOLDER = "lexical"

ROW_GROUP = 32_768
"""Rows of a table that are gathered before they are written: some 20 MB of them."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """An extraction with the source it was first read from."""

    extraction: Extraction
    source: SourceRow


class RowVectors(Protocol):
    """The vectors of one family for all rows of a batch, in row order."""

    def write(self, directory: Path) -> None:
        """Write them as a Lance dataset at `directory`."""
        ...


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vectors of one family, one per chunk in batch order: `vectors` float16 of shape (rows, dimension)."""

    vectors: npt.NDArray[np.float16]
    input_hashes: list[bytes]

    def write(self, directory: Path) -> None:
        """Write them as a Lance dataset at `directory`."""
        write_vectors(directory, self.vectors, self.input_hashes)


def first_readers(sources: Iterable[SourceRow]) -> dict[str, SourceRow]:
    """Per extraction the first source row of its batch that names it: its path is what the index has as title.

    A path from another batch would outlive that row's own erasure, which does not look into this one.
    """
    readers: dict[str, SourceRow] = {}
    for row in sources:
        if row.extraction_id:
            readers.setdefault(row.extraction_id, row)
    return readers


def write_batch(
    directory: Path,
    parsed: Iterable[Parsed],
    sources: Sequence[SourceRow],
    embeddings: Mapping[str, RowVectors],
    *,
    erased: Mapping[int, bytes] | None = None,
    salt: int = 0,
    tag: int | None = None,
) -> BatchEntry:
    """Write a batch's files below `directory` (empty) and return its manifest entry.

    `parsed` is gone through once, and only one extraction of it is held at a time. Each must be named by one of
    `sources`, and its own source must be the first that names it. `erased` gives, for the numbers of source rows of
    which only the ids are left, their leaves in the content root.

    The same arguments give the same bytes, Lance's own manifest and file names excepted. Empty tables are not
    written. `salt` gives another tag, for the case that a manifest has a batch of the same tag already; `tag` the one
    that it had, where a batch is made again.
    """
    brought = [[row.source_id, row.extraction_id] for row in sources]
    if tag is None:
        tag = int.from_bytes(digest("tag-v2", {"sources": brought, "salt": salt})[:4])
    with ExitStack() as stack:
        tables = {name: stack.enter_context(closing(_Table(directory, name))) for name in _SCHEMAS}
        chunks = stack.enter_context(closing(ChunkWriter(directory / CHUNKS_FILE)))
        for row in sources:
            tables["sources"].add(asdict(row))
        for number, leaf in sorted((erased or {}).items()):
            tables["erased"].add({"number": number, "leaf": leaf})
        contents = _Contents(tables, chunks)
        documents = contents.documents(parsed)
        first = next(documents, None)
        if first is not None:
            build_lexical(directory / LEXICAL_FOLDER, chain([first], documents), tag)
    for family, vectors in embeddings.items() if contents.rows else ():
        (directory / "vectors").mkdir(exist_ok=True)
        vectors.write(directory / "vectors" / family)
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    named = [(path.relative_to(directory).as_posix(), path.stat().st_size, hash_file(path)) for path in files]
    batch_id = identity("batch", [list(each) for each in named])
    return BatchEntry(
        id=batch_id,
        tag=tag,
        rows=contents.rows,
        sources=len(sources),
        merkle_root=merkle_root(contents.roots).hex(),
        families=dict.fromkeys(embeddings, contents.rows) if contents.rows else {},
        files=tuple(FileEntry(path=f"batches/{batch_id}/{name}", size=size, sha256=sha) for name, size, sha in named),
    )


_SCHEMAS = {"sources": SOURCES, "erased": ERASED, "extractions": EXTRACTIONS, "units": UNITS, "symbols": SYMBOLS}


class _Table:
    """One Parquet table, written a row group at a time; without rows there is no file."""

    def __init__(self, directory: Path, name: str) -> None:
        self.path = directory / "tables" / f"{name}.parquet"
        self.schema = _SCHEMAS[name]
        self._rows: list[dict[str, Any]] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self.path, self.schema, compression="zstd", compression_level=9)
        self._writer.write_table(pa.Table.from_pylist(self._rows, self.schema))
        self._rows.clear()

    def close(self) -> None:
        if self._rows:
            self._flush()
        if self._writer is not None:
            self._writer.close()


class _Contents:
    """Takes a batch's extractions apart: rows for the tables and the text on the way, documents to the index."""

    def __init__(self, tables: Mapping[str, _Table], chunks: ChunkWriter) -> None:
        self._tables = tables
        self._chunks = chunks
        self.rows = 0
        self.roots: list[bytes] = []

    def documents(self, parsed: Iterable[Parsed]) -> Iterator[LexicalDocument]:
        """What each row is found by, in order. When a document is asked for, all before it are written."""
        for each in parsed:
            ordinal, first_row, units = len(self.roots), self.rows, 0
            for chunk in each.extraction.chunks.to_pylist():
                unit_ids = chunk.pop("unit_ids")
                yield _document(chunk, each)
                self._add_units(chunk["units"], unit_ids)
                self._chunks.add(chunk.pop("text"), {**chunk, "extraction": ordinal, "first_unit": units})
                self.rows += 1
                units += len(unit_ids)
            self._tables["extractions"].add(_extraction_row(each.extraction, first_row, units))
            self.roots.append(bytes.fromhex(each.extraction.header.merkle_root))

    def _add_units(self, spans: Sequence[dict[str, Any]], unit_ids: Sequence[bytes]) -> None:
        for span, unit in zip(spans, unit_ids, strict=True):
            place = json.loads(span["locator"])
            first, last = place.get("lines") or (None, None)
            self._tables["units"].add(
                {
                    "unit_prefix": unit[:UNIT_PREFIX],
                    "row": self.rows,
                    "start": span["start"],
                    "end": span["end"],
                    "kind": span["kind"],
                    "page": place.get("page"),
                    "first_line": first,
                    "last_line": last,
                }
            )
            known = _symbol(span)
            if "name" in known:
                self._tables["symbols"].add({"row": self.rows, "start": span["start"], "symbol_kind": "", **known})


def _symbol(span: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the definition that a unit is; nothing of any other unit."""
    known: dict[str, Any] = {}
    if span["kind"] == "symbol" and span["attributes"]:
        known = json.loads(span["attributes"])
    return known


def _extraction_row(extraction: Extraction, first_row: int, units: int) -> dict[str, Any]:
    header = extraction.header
    return {
        "extraction_id": header.extraction_id,
        "content_sha256": header.content_sha256,
        "fingerprint": header.fingerprint,
        "parser": header.parser,
        "kind": header.kind,
        "language": header.language,
        "title": header.title,
        "first_row": first_row,
        "rows": extraction.chunks.num_rows,
        "units": units,
        "merkle_root": header.merkle_root,
        "warnings": list(header.warnings),
    }


def _document(chunk: Mapping[str, Any], each: Parsed) -> LexicalDocument:
    # A name is no part of an extraction: other sources may share it, and outlive the one that it was read from.
    title = each.extraction.header.title or PurePosixPath(each.source.path).stem
    # A section's number names all of its text: it counts in the rows after the first, too.
    forms = identifiers(chunk["text"]) + identifiers("\n".join(chunk["heading_path"]))
    headings = dict.fromkeys([title, *chunk["heading_path"]] if title else chunk["heading_path"])
    for span in chunk["units"]:
        forms += symbol_forms(_symbol(span).get("name", ""))
    return LexicalDocument(
        text=chunk["text"],
        title=each.source.path,
        heading_path=tuple(headings),
        identifiers=tuple(dict.fromkeys(forms)),
    )
