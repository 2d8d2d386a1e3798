"""Vectors for searching are whole numbers: the same products on every processor, near the exact ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tychora_format.vectors import Matrix, matrix, prime_matrix, write_vectors

VECTORS = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 20), st.just(64)), elements=st.floats(-1, 1, width=32, allow_subnormal=False)
)


@given(VECTORS)
def test_products_are_exact_in_whole_numbers(vectors: np.ndarray) -> None:
    """Whatever kernel the processor offers, the sum of products of the codes is the one that integers give."""
    rounded = Matrix.of(vectors)
    asked = Matrix.of(vectors[:1])
    whole = rounded.codes.astype(np.int64) @ asked.codes[0].astype(np.int64)
    expected = whole.astype(np.float32) * (rounded.steps * asked.steps[0])
    assert np.array_equal(rounded.products(vectors[0]), expected)


@given(VECTORS)
def test_a_component_is_off_by_half_a_step_at_most(vectors: np.ndarray) -> None:
    rounded = Matrix.of(vectors)
    restored = rounded.codes * rounded.steps[:, None]
    assert (np.abs(restored - vectors) <= rounded.steps[:, None] * 0.5001 + 1e-7).all()


def test_a_matrix_is_the_same_read_from_lance_or_from_the_cache(tmp_path: Path) -> None:
    vectors = np.random.default_rng(5).normal(size=(50, 256)).astype(np.float16)
    write_vectors(tmp_path / "family", vectors, [bytes([number]) * 32 for number in range(50)])
    first = matrix(tmp_path / "family", tmp_path / "cached", 50)
    again = matrix(tmp_path / "nowhere", tmp_path / "cached", 50)
    assert np.array_equal(first.codes, again.codes) and np.array_equal(first.steps, again.steps)
    assert np.array_equal(first.codes, Matrix.of(vectors).codes)


def test_a_cut_cache_is_made_anew(tmp_path: Path) -> None:
    vectors = np.random.default_rng(6).normal(size=(40, 256)).astype(np.float16)
    write_vectors(tmp_path / "family", vectors, [bytes([number]) * 32 for number in range(40)])
    prime_matrix(tmp_path / "cached", vectors)
    (tmp_path / "cached").write_bytes((tmp_path / "cached").read_bytes()[:-7])
    assert len(matrix(tmp_path / "family", tmp_path / "cached", 40)) == 40
