"""An extraction on its way into a batch: what parse hands to embed and publish, as one self-contained table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tychora_format.tables import UNIT_SPAN
from tychora_schemas.identity import canonical_json, content_sha256, digest, identity, merkle_root

__all__ = ["STAGED", "Extraction", "ExtractionHeader", "unit_id"]

STAGED = pa.schema(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("heading_path", pa.list_(pa.string()), nullable=False),
        pa.field("tokens", pa.uint32(), nullable=False),
        pa.field("units", pa.list_(UNIT_SPAN), nullable=False),
        pa.field("unit_ids", pa.list_(pa.binary(32)), nullable=False),
    ]
)


def unit_id(content_sha256: str, ordinal: int, kind: str, text: str, locator: str) -> bytes:
    """The 32 bytes that identify a unit and are its Merkle leaf.

    They cover the content it was read from, its number there, its kind, its exact text and its locator (canonical
    JSON): whoever holds those can compute the id without us.
    """
    payload = {"content": content_sha256, "ordinal": ordinal, "kind": kind, "text": text, "locator": locator}
    return digest("unit-v1", payload)


@dataclass(frozen=True, slots=True)
class ExtractionHeader:
    """What is known of an extraction beside its chunks."""

    content_sha256: str
    fingerprint: str
    parser: str
    kind: str
    language: str | None
    title: str | None
    merkle_root: str
    warnings: list[str] = field(default_factory=list)

    @property
    def extraction_id(self) -> str:
        """Over content, configuration and output: models on other hardware may read the same bytes differently."""
        return identity(
            "extraction",
            {"content": self.content_sha256, "fingerprint": self.fingerprint, "output": self.merkle_root},
        )


@dataclass(frozen=True, slots=True)
class Extraction:
    """One parsed content: a header and its chunks (schema STAGED), in reading order."""

    header: ExtractionHeader
    chunks: pa.Table

    @classmethod
    def build(cls, chunks: Sequence[dict[str, Any]], **header: Any) -> Extraction:
        """From chunk rows (`text`, `heading_path`, `tokens`, `units` as dicts of UNIT_SPAN) and header fields.

        Computes every unit's id, and the Merkle root over them.
        """
        ordinal = 0
        leaves: list[bytes] = []
        rows = []
        for chunk in chunks:
            ids = []
            for span in chunk["units"]:
                text = chunk["text"][span["start"] : span["end"]]
                ids.append(unit_id(header["content_sha256"], ordinal, span["kind"], text, span["locator"]))
                ordinal += 1
            leaves += ids
            rows.append({**chunk, "unit_ids": ids})
        table = pa.Table.from_pylist(rows, schema=STAGED)
        return cls(ExtractionHeader(merkle_root=merkle_root(leaves).hex(), **header), table)

    def encode(self) -> bytes:
        """As one Arrow IPC stream, the header in the schema's metadata; the same extraction gives the same bytes."""
        header = {name: getattr(self.header, name) for name in ExtractionHeader.__slots__}
        table = self.chunks.replace_schema_metadata({b"tychora": canonical_json(header)})
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    @classmethod
    def decode(cls, data: bytes) -> Extraction:
        """The reverse of `encode`. Raises pyarrow.ArrowInvalid or ValueError on anything else."""
        table = pa.ipc.open_stream(data).read_all()
        metadata = (table.schema.metadata or {}).get(b"tychora")
        if metadata is None or not table.schema.remove_metadata().equals(STAGED):
            raise ValueError("not a staged extraction")
        return cls(ExtractionHeader(**json.loads(metadata)), table)

    def embedding_inputs(self, name: str = "") -> list[str]:
        """The text that stands for each chunk in a vector space: its context capsule, then its words.

        `name` stands for the title where the content has none.
        """
        capsules = self.chunks.column("heading_path").to_pylist()
        texts = self.chunks.column("text").to_pylist()
        title = self.header.title or name
        return [capsule(title, headings) + text for headings, text in zip(capsules, texts, strict=True)]


def capsule(title: str, heading_path: Iterable[str]) -> str:
    """What helps an index to understand a chunk out of its context; it never enters a citation."""
    line = " › ".join(part for part in (title, *heading_path) if part)
    return line + "\n" if line else ""


def input_sha256(text: str) -> bytes:
    """The key of an embedding in the ledger: the SHA-256 of the input's UTF-8 bytes."""
    return bytes.fromhex(content_sha256(text.encode("utf-8", "surrogatepass")))
