"""The vectors of a batch: one Lance dataset per family. Its (family, input hash) column is the embedding ledger.

Lance is the durable form, float16, which any Lance reader opens. Searching goes over a matrix of whole numbers, made
once per machine in the cache and memory-mapped: importing Lance alone would cost more than a whole cold search may,
and products of whole numbers are the same on every processor, so that a copy of the bundle ranks alike everywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tychora_format.store.failures import typed_failures
from tychora_schemas.errors import CorruptWorkspace

__all__ = ["Matrix", "ledger", "matrix", "prime_matrix", "write_vectors"]

STEPS = 127
"""Each component is rounded to one of so many steps of its vector's largest, so it is off by half a step at most."""

SLICE = 8_192
"""Rows that are rounded at once: as float32 all of them would take twice the memory of the vectors."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Vectors for searching: `codes` int8 of shape (rows, dimension), and per row what one step is worth."""

    codes: npt.NDArray[np.int8]
    steps: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, vectors: npt.NDArray[Any]) -> Matrix:
        """Round vectors of shape (rows, dimension). A zero vector stays one."""
        exact = np.asarray(vectors, np.float32)
        steps = (np.abs(exact).max(axis=1, initial=0.0) / STEPS).astype(np.float32)
        codes = np.rint(exact / np.where(steps > 0, steps, 1)[:, None]).astype(np.int8)
        return cls(codes, steps)

    def products(self, question: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The inner product of every row with `question`, shape (dimension,), which is rounded alike."""
        import simsimd

        if not len(self):
            return np.zeros(0, np.float32)
        asked = Matrix.of(question[None, :])
        whole = np.asarray(simsimd.cdist(asked.codes, self.codes, "dot"), np.float32).reshape(-1)
        products: npt.NDArray[np.float32] = whole * (self.steps * asked.steps[0])
        return products

    def rows(self, chosen: npt.NDArray[np.intp]) -> Matrix:
        """Only the chosen rows, in that order."""
        return Matrix(np.ascontiguousarray(self.codes[chosen]), self.steps[chosen])


def write_vectors(directory: Path, vectors: npt.NDArray[np.float16], input_hashes: Iterable[bytes]) -> None:
    """Write one vector per row: `vectors` of shape (rows, dimension), `input_hashes` of 32 bytes each."""
    import lance
    import pyarrow as pa

    rows, dimension = vectors.shape
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimension)
    table = pa.table(
        {
            "row": pa.array(np.arange(rows, dtype=np.uint32)),
            "input_sha256": pa.array(list(input_hashes), pa.binary(32)),
            "vector": values,
        }
    )
    lance.write_dataset(table, str(directory), mode="create", data_storage_version="stable")


def _read(directory: Path, columns: list[str]) -> Any:
    import lance

    try:
        return lance.dataset(str(directory)).to_table(columns=columns)
    except (OSError, ValueError, RuntimeError) as error:
        raise CorruptWorkspace(
            f"{directory} is no readable vector dataset: {str(error).splitlines()[0]}",
            next_step="run tychora verify, and restore the folder from another copy",
        ) from error


def ledger(directory: Path, wanted: Collection[bytes]) -> dict[bytes, npt.NDArray[np.float16]]:
    """Which of the `wanted` input hashes are embedded here already, each with its stored vector."""
    hashes = _read(directory, ["input_sha256"]).column("input_sha256").to_pylist()
    rows = {each: row for row, each in enumerate(hashes) if each in wanted}
    if not rows:
        return {}
    vectors = _values(_read(directory, ["vector"]))
    return {each: vectors[row] for each, row in rows.items()}


def _values(table: Any) -> npt.NDArray[np.float16]:
    column = table.column("vector").combine_chunks()
    values: npt.NDArray[np.float16] = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def matrix(directory: Path, cached: Path, rows: int) -> Matrix:
    """The vectors of the dataset at `directory` for searching, kept at `cached` from the first use on."""
    found = _load(cached, rows)
    if found is None:
        vectors = _values(_read(directory, ["vector"]))
        prime_matrix(cached, vectors)
        found = _load(cached, len(vectors)) or Matrix.of(vectors)
    return found


def _load(cached: Path, rows: int) -> Matrix | None:
    """What `prime_matrix` wrote, memory-mapped; None where there is nothing of that number of rows."""
    try:
        size = cached.stat().st_size
        dimension, rest = divmod(size - 4 * rows, rows)
        if rest or dimension < 1:
            return None
        whole = np.memmap(cached, np.int8, "r")
    except (OSError, ValueError, ZeroDivisionError):
        return None
    codes, steps = whole[: rows * dimension], whole[rows * dimension :]
    # As plain arrays: a memmap object would be made anew for every slice of it.
    return Matrix(np.asarray(codes).reshape(rows, dimension), np.frombuffer(steps, "<f4"))


def prime_matrix(cached: Path, vectors: npt.NDArray[Any]) -> None:
    """Keep `vectors` at `cached` for searching: all codes, then all steps. Readers at work keep the file they have."""
    temporary = cached.with_name(f".{cached.name}.{secrets.token_hex(8)}")
    with typed_failures(f"keep vectors in the cache {cached.parent}"):
        cached.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                steps = []
                for first in range(0, len(vectors), SLICE):
                    made = Matrix.of(vectors[first : first + SLICE])
                    file.write(made.codes.tobytes())
                    steps.append(made.steps.astype("<f4").tobytes())
                file.write(b"".join(steps))
            temporary.replace(cached)
        finally:
            temporary.unlink(missing_ok=True)
