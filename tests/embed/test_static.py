"""Static vectors: unit length, independent of the batch, equal to the package's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tychora_functions.embed.static import StaticEncoder, read_table, shared
from tychora_functions.tokens import tokenize
from tychora_schemas.errors import ProviderUnavailable

TEXTS = st.lists(st.text(max_size=80), min_size=1, max_size=6)


@settings(max_examples=25)
@given(TEXTS)
def test_every_vector_is_of_length_one_or_zero_and_finite(texts: list[str]) -> None:
    vectors = shared().documents(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


@settings(max_examples=25)
@given(TEXTS)
def test_a_vector_does_not_depend_on_the_texts_beside_it(texts: list[str]) -> None:
    together = shared().documents(texts * (1 + 40 // len(texts)))[: len(texts)]
    alone = np.concatenate([shared().documents([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_an_empty_text_gives_the_zero_vector() -> None:
    assert not shared().documents([""]).any()


def test_a_vector_is_the_scaled_mean_of_its_tokens_rows() -> None:
    table = (np.arange(32_000 * 4).reshape(-1, 4) % 7).astype(np.float16)
    text = "the harbour board met"
    mean = table[tokenize([text])[0]].astype(np.float64).mean(axis=0)
    assert np.allclose(StaticEncoder(table).documents([text])[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_close_meanings_are_closer_than_distant_ones() -> None:
    ship, boat, tax = shared().documents(
        ["the ship sails at dawn", "a boat leaves in the morning", "tax return penalties"]
    )
    assert ship @ boat > ship @ tax


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"{}",
        (9).to_bytes(8, "little") + b"[1, 2, 3]",
        (60).to_bytes(8, "little")
        + json.dumps({"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode(),
    ],
    ids=["empty", "a length beyond the file", "no tensor", "no object", "another type"],
)
def test_a_file_that_is_no_table_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    with pytest.raises(ProviderUnavailable, match=r"weights\.safetensors"):
        read_table(path)
