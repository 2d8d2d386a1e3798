"""Copies vectors, with their input hashes, from the datasets of several batches into one: nothing is embedded again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from tychora_format.batch import Batch
from tychora_schemas.errors import CorruptWorkspace

__all__ = ["Stretch", "VectorCopy"]

AT_ONCE = 8_192
"""Rows that are held in memory: 4 MB of 256 dimensions."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Adjacent rows of a batch."""

    batch: Batch
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class VectorCopy:
    """The vectors that `family` has for some stretches of rows, which are the rows of a new batch in this order."""

    family: str
    stretches: Sequence[Stretch]

    def write(self, directory: Path) -> None:
        """Write them as a Lance dataset at `directory`. Raises CorruptWorkspace where a batch lacks them."""
        import lance
        import pyarrow as pa

        pieces = self._pieces()
        first = next(pieces)
        schema = pa.schema([pa.field("row", pa.uint32()), *first.schema])
        failures: list[CorruptWorkspace] = []

        def numbered() -> Iterator[Any]:
            row = 0
            try:
                for piece in chain([first], pieces):
                    numbers = pa.array(range(row, row + piece.num_rows), pa.uint32())
                    row += piece.num_rows
                    yield from piece.add_column(0, schema.field(0), numbers).to_batches()
            except CorruptWorkspace as error:
                failures.append(error)
                raise

        try:
            reader = pa.RecordBatchReader.from_batches(schema, numbered())
            lance.write_dataset(reader, str(directory), mode="create", data_storage_version="stable")
        except OSError as error:
            # Lance tells of what its input raised by its message only.
            raise failures[0] if failures else error from error

    def _pieces(self) -> Iterator[Any]:
        """Tables of `input_sha256` and `vector`, of at most AT_ONCE rows each, in row order."""
        import lance

        for _, group in groupby(self.stretches, key=lambda stretch: id(stretch.batch)):
            stretches = list(group)
            folder = stretches[0].batch.vectors_folder(self.family)
            try:
                dataset = lance.dataset(str(folder))
                rows = [row for each in stretches for row in range(each.first, each.first + each.rows)]
                for start in range(0, len(rows), AT_ONCE):
                    yield dataset.take(rows[start : start + AT_ONCE], columns=["input_sha256", "vector"])
            except (OSError, ValueError, RuntimeError) as error:
                raise CorruptWorkspace(
                    f"{folder} is no readable vector dataset: {str(error).splitlines()[0]}",
                    next_step="run tychora verify, and restore the folder from another copy",
                ) from error
