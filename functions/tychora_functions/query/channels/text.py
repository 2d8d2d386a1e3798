"""The text channel: nearest neighbours of the question in one family of vectors, by an exact scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tychora_format.snapshot import Snapshot
from tychora_format.vectors import Matrix
from tychora_functions.query.candidates import POOL, Found, Place
from tychora_functions.query.eligibility import Eligible

__all__ = ["Neighbours", "families", "search"]

FEW = 0.1
"""Share of eligible rows below which picking them out is cheaper than scanning all."""

DECIMALS = 5
"""Cosines are rounded to this: processors differ behind it, and a replay must rank alike on all of them."""

EXCLUDED = np.float32(-2.0)

_opened: WeakKeyDictionary[Snapshot, dict[str, list[Matrix | None]]] = WeakKeyDictionary()
_lock = Lock()


class Neighbours:
    """The cosine of every eligible row with the question."""

    def __init__(self, cosines: list[npt.NDArray[np.float32] | None]) -> None:
        self._cosines = cosines

    def cosine(self, place: Place) -> float | None:
        """The cosine of one row; None where the family has no vector for it, or it is not eligible."""
        return self.cosines([place])[0]

    def cosines(self, places: Sequence[Place]) -> list[float | None]:
        """The cosines of rows, in their order."""
        values = [EXCLUDED if (known := self._cosines[batch]) is None else known[row] for batch, row in places]
        rounded = np.array(values, np.float64).round(DECIMALS).tolist()
        return [None if value == EXCLUDED else value for value in rounded]

    def nearest(self, count: int = POOL) -> list[Found]:
        """The `count` nearest rows, nearest first; equal ones by place."""
        known = [
            (batch, cosines, _top(cosines, count)) for batch, cosines in enumerate(self._cosines) if cosines is not None
        ]
        if not known:
            return []
        values = np.concatenate([cosines[rows] for _, cosines, rows in known]).astype(np.float64).round(DECIMALS)
        batches = np.concatenate([np.full(len(rows), batch) for batch, _, rows in known])
        rows = np.concatenate([rows for _, _, rows in known])
        kept = _top(values, count)
        places = zip(batches[kept].tolist(), rows[kept].tolist(), strict=True)
        found = sorted(zip((-values[kept]).tolist(), places, strict=True))
        return [Found(place, -negative) for negative, place in found[:count] if -negative != EXCLUDED]


def search(eligible: Eligible, vector: npt.NDArray[np.float32], family: str) -> Neighbours:
    """Compare the question's `vector`, shape (dimension,), with all eligible rows that the family knows."""
    cosines: list[npt.NDArray[np.float32] | None] = []
    for matrix, mask in zip(_matrices(eligible.snapshot, family), eligible.scope.rows, strict=True):
        cosines.append(None if matrix is None else _scan(matrix, mask, vector))
    return Neighbours(cosines)


def families(snapshot: Snapshot) -> list[str]:
    """The families that the snapshot holds vectors of, in alphabetical order."""
    return sorted({name for batch in snapshot.batches for name in batch.entry.families})


def _matrices(snapshot: Snapshot, family: str) -> Iterable[Matrix | None]:
    # Mapping a matrix again for every question would fault in each of its pages again.
    with _lock:
        opened = _opened.setdefault(snapshot, {})
        if family not in opened:
            opened[family] = [batch.vectors(family) for batch in snapshot.batches]
        return opened[family]


def _scan(matrix: Matrix, mask: npt.NDArray[np.bool_], vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    eligible_rows = int(mask.sum())
    if eligible_rows > FEW * len(mask):
        cosines = matrix.products(vector)
        if eligible_rows < len(mask):
            cosines[~mask] = EXCLUDED
        return cosines
    cosines = np.full(len(mask), EXCLUDED)
    rows = np.flatnonzero(mask)
    cosines[rows] = matrix.rows(rows).products(vector)
    return cosines


def _top(values: npt.NDArray[np.floating[Any]], count: int) -> npt.NDArray[np.intp]:
    """The indices of the `count` highest values and of all that equal the last of them."""
    if len(values) <= count:
        return np.arange(len(values))
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= threshold)
