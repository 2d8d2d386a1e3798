"""Static vectors: a text's vector is the mean of its tokens' vectors, scaled to length 1.

One row of a packaged table per token, no model to run and nothing to download. Texts are pooled one by one without
padding, so a text's vector does not depend on the texts beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tychora_functions.tokens import packaged, tokenize
from tychora_schemas.errors import ProviderUnavailable

__all__ = ["StaticEncoder", "read_table", "shared"]

_FEW = 32
"""Texts up to which widening only the rows in use is cheaper than widening the whole table once."""


class StaticEncoder:
    """Encodes with a table of float16 token vectors, shape (tokens, dimension). Documents and queries alike."""

    def __init__(self, table: npt.NDArray[np.float16]) -> None:
        self.table = table

    @cached_property
    def _wide(self) -> npt.NDArray[np.float32]:
        return self.table.astype(np.float32)

    def documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One unit vector per text; a text without tokens gives the zero vector."""
        vectors = np.zeros((len(texts), self.table.shape[1]), np.float32)
        table = self.table if len(texts) <= _FEW else self._wide
        for vector, ids in zip(vectors, tokenize(texts), strict=True):
            if len(ids):
                pooled = table[ids].astype(np.float32, copy=False).mean(axis=0)
                length = float(np.linalg.norm(pooled))
                if length:
                    vector[:] = pooled / length
        return vectors

    queries = documents


@cache
def shared() -> StaticEncoder:
    """The encoder over wordllama's table of 32,000 × 256, memory-mapped."""
    return StaticEncoder(read_table(packaged("weights/l2_supercat_256.safetensors")))


def read_table(path: Path) -> npt.NDArray[np.float16]:
    """Map the one float16 tensor of a safetensors file: 8 bytes of header length, a JSON header, then the numbers.

    Raises ProviderUnavailable when the file holds anything else.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        (tensor,) = (value for name, value in header.items() if name != "__metadata__")
        rows, dimension = tensor["shape"]
        start, end = tensor["data_offsets"]
        if tensor["dtype"] != "F16" or end - start != rows * dimension * 2:
            raise ValueError("not one table of float16")
        offset = 8 + length + start
        return np.memmap(path, np.float16, mode="r", offset=offset, shape=(rows, dimension))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError, OverflowError) as error:
        raise ProviderUnavailable(
            f"{path} is no table of token vectors: {error}", next_step="reinstall the package it belongs to"
        ) from error
