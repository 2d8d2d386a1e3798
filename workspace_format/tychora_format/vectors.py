"""The vectors of a batch: one Lance dataset per family. Its (family, input hash) column is the embedding ledger.

Lance is the durable form, which any Lance reader opens. Searching goes over a plain float32 matrix, made once per
machine in the cache and memory-mapped: importing Lance alone would cost more than a whole cold search may.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tychora_schemas.errors import CorruptWorkspace

__all__ = ["Matrix", "ledger", "matrix", "prime_matrix", "write_vectors"]

Matrix = npt.NDArray[np.float32]


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


def matrix(directory: Path, cached: Path) -> Matrix:
    """The vectors as a memory-mapped matrix of shape (rows, dimension), kept at `cached` from the first use on."""
    try:
        return np.load(cached, mmap_mode="r")  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError):
        prime_matrix(cached, _values(_read(directory, ["vector"])))
        return np.load(cached, mmap_mode="r")  # type: ignore[no-any-return]


def prime_matrix(cached: Path, vectors: npt.NDArray[Any]) -> None:
    """Keep `vectors` at `cached` for searching; readers at work keep the file that they have open."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    temporary = cached.with_name(f".{cached.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(vectors, dtype=np.float32))
    temporary.replace(cached)
