"""The text channel: nearest neighbours of the question in one family of vectors, by an exact scan."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
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
        """The cosine of one row; None where the family has no vector for it."""
        cosines = self._cosines[place[0]]
        if cosines is None or cosines[place[1]] == EXCLUDED:
            return None
        return round(float(cosines[place[1]]), DECIMALS)

    def nearest(self, count: int = POOL) -> list[Found]:
        """The `count` nearest rows, nearest first; equal ones by place."""
        best: list[tuple[float, Place]] = []
        for batch, cosines in enumerate(self._cosines):
            if cosines is None:
                continue
            for row in _top(cosines, count).tolist():
                value = round(float(cosines[row]), DECIMALS)
                if value > EXCLUDED:
                    best.append((-value, (batch, row)))
        return [Found(place, -negative) for negative, place in sorted(best)[:count]]


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
            found = [batch.vectors(family) for batch in snapshot.batches]
            opened[family] = [None if matrix is None else np.asarray(matrix) for matrix in found]
        return opened[family]


def _scan(matrix: Matrix, mask: npt.NDArray[np.bool_], vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    eligible_rows = int(mask.sum())
    if eligible_rows == len(mask):
        full: npt.NDArray[np.float32] = matrix @ vector
        return full
    if eligible_rows > FEW * len(mask):
        full = matrix @ vector
        full[~mask] = EXCLUDED
        return full
    full = np.full(len(mask), EXCLUDED)
    rows = np.flatnonzero(mask)
    full[rows] = matrix[rows] @ vector
    return full


def _top(values: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.intp]:
    """The indices of the `count` highest values and of all that equal the last of them."""
    if len(values) <= count:
        return np.arange(len(values))
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= threshold)
