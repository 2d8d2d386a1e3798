"""The columns of a batch: which tables it holds, and one typed row of each.

`text/chunks.arrow` is row-addressed (the row number is the chunk's); `tables/*.parquet` are narrow and plain, for
DuckDB and for the few lookups that go by id. SPEC.md section 4 is the normative description.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

__all__ = [
    "CHUNKS",
    "ERASED",
    "EXTRACTIONS",
    "SOURCES",
    "SYMBOLS",
    "UNITS",
    "ChunkRow",
    "ExtractionRow",
    "SourceRow",
    "UnitSpan",
]

UNIT_PREFIX = 8
"""Bytes of a unit's id that a batch stores: whole ids, which do not compress, would be a sixth of a small bundle."""

SourceState = Literal["indexed", "held", "quarantined"]

UNIT_SPAN = pa.struct(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("start", pa.uint32(), nullable=False),
        pa.field("end", pa.uint32(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("attributes", pa.string()),
    ]
)

CHUNKS = pa.schema(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)
"""One row per chunk. `detail` is the JSON of all that is read together with the text: every column of its own would
be a buffer to find and decompress. It has `extraction`, `first_unit` (the number of the chunk's first unit in its
extraction: with it a unit's id can be computed), `heading_path`, `tokens`, and `units`, which tile the text: `kind`,
`start`, `end`, `locator` and `attributes`, the last two canonical JSON as it was hashed."""

EXTRACTIONS = pa.schema(
    [
        pa.field("extraction_id", pa.string(), nullable=False),
        pa.field("content_sha256", pa.string(), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
        pa.field("parser", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("language", pa.string()),
        pa.field("title", pa.string()),
        pa.field("first_row", pa.uint32(), nullable=False),
        pa.field("rows", pa.uint32(), nullable=False),
        pa.field("units", pa.uint32(), nullable=False),
        pa.field("merkle_root", pa.string(), nullable=False),
        pa.field("warnings", pa.list_(pa.string()), nullable=False),
    ]
)
"""One row per extraction of the batch; its chunks are the rows `[first_row, first_row + rows)`."""

SOURCES = pa.schema(
    [
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("collection", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("paths", pa.list_(pa.string()), nullable=False),
        pa.field("root", pa.string(), nullable=False),
        pa.field("revision_id", pa.string()),
        pa.field("content_sha256", pa.string()),
        pa.field("size", pa.uint64(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
        pa.field("next_step", pa.string()),
        pa.field("fingerprint", pa.string(), nullable=False),
        pa.field("extraction_id", pa.string()),
    ]
)
"""One row per state of a source: a new revision, a move, a quarantine. A snapshot's dead rows say which are past."""

ERASED = pa.schema(
    [
        pa.field("number", pa.uint32(), nullable=False),
        pa.field("leaf", pa.binary(32), nullable=False),
    ]
)
"""One row per source row of which only its ids and its leaf in the content root are left."""

UNITS = pa.schema(
    [
        pa.field("unit_prefix", pa.binary(UNIT_PREFIX), nullable=False),
        pa.field("row", pa.uint32(), nullable=False),
        pa.field("start", pa.uint32(), nullable=False),
        pa.field("end", pa.uint32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("page", pa.uint32()),
        pa.field("first_line", pa.uint32()),
        pa.field("last_line", pa.uint32()),
    ]
)
"""One row per unit, in chunk order. `unit_prefix` finds a unit by its id; the whole id follows from text and place."""

SYMBOLS = pa.schema(
    [
        pa.field("row", pa.uint32(), nullable=False),
        pa.field("start", pa.uint32(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("symbol_kind", pa.string(), nullable=False),
        pa.field("signature", pa.string()),
        pa.field("docstring", pa.string()),
    ]
)
"""One row per definition found in code: the unit that starts at character `start` of chunk `row`."""


@dataclass(slots=True, frozen=True)
class UnitSpan:
    """A unit inside its chunk: `chunk.text[start:end]`, with its locator as canonical JSON."""

    kind: str
    start: int
    end: int
    locator: str
    attributes: str | None = None


@dataclass(slots=True, frozen=True)
class ChunkRow:
    """One hydrated chunk. `row` is its number in the batch; `extraction` the ordinal of its extraction there."""

    row: int
    extraction: int
    text: str
    heading_path: tuple[str, ...]
    tokens: int
    first_unit: int
    units: tuple[UnitSpan, ...]


@dataclass(slots=True, frozen=True)
class ExtractionRow:
    """What one parser with one configuration made of one revision."""

    extraction_id: str
    content_sha256: str
    fingerprint: str
    parser: str
    kind: str
    language: str | None
    title: str | None
    first_row: int
    rows: int
    units: int
    merkle_root: str
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class SourceRow:
    """The state of a source in a snapshot. `path` is the newest of `paths`; `root` names the registered root."""

    source_id: str
    collection: str
    path: str
    paths: list[str]
    root: str
    revision_id: str | None
    content_sha256: str | None
    size: int
    state: SourceState
    reason: str | None
    next_step: str | None
    fingerprint: str
    extraction_id: str | None
