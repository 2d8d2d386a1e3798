"""The text channel gives exactly the nearest eligible rows, in one order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tychora_format.vectors import Matrix
from tychora_functions.query.channels.text import Neighbours, _scan


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=80), st.integers(1, 30))
def test_nearest_is_the_sorted_beginning_whatever_the_ties(values: list[int], count: int) -> None:
    cosines = np.array(values, np.float32) / 4
    expected = sorted((-value / 4, (0, row)) for row, value in enumerate(values))[:count]
    assert [(-found.score, found.place) for found in Neighbours([cosines]).nearest(count)] == expected


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_ineligible_rows_are_never_near_and_the_others_are_scored_alike(seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(60, 8)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    mask = random.random(60) < share
    vector = matrix[0]
    neighbours = Neighbours([_scan(Matrix.of(matrix), mask, vector), None])
    assert {found.place[1] for found in neighbours.nearest(60)} == set(np.flatnonzero(mask).tolist())
    for row in range(60):
        cosine = neighbours.cosine((0, row))
        assert (cosine is None) == (not mask[row])
        assert cosine is None or abs(cosine - float(matrix[row] @ vector)) < 0.01
    assert neighbours.cosine((1, 0)) is None
