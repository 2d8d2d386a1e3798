"""Embedding: nothing is computed twice, and an encoder's answer is not trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from tychora_format.extraction import input_sha256
from tychora_functions.embed import families
from tychora_functions.embed.embed import embed, embed_question
from tychora_functions.embed.families import Calibration, Family, family, known_families, register
from tychora_schemas.errors import InvalidRequest, ProviderUnavailable

Answer = Callable[[Sequence[str]], npt.NDArray[np.float32]]


class Provider:
    """An encoder that remembers what it was asked and answers as it is told to."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += texts
        return self.answer(texts)

    queries = documents


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], Provider]]:
    """Registers a family `test-3` that a given answer stands behind."""
    monkeypatch.setattr(families, "_registered", dict(families._registered))

    def made(answer: Answer) -> Provider:
        encoder = Provider(answer)
        register(Family("test-3", "test", 3, "float16", "cosine", Calibration(0.4, 0.3), lambda: encoder))
        return encoder

    yield made


def good(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.array([[len(text), 1, 0] for text in texts], np.float32)


def test_what_the_ledger_holds_is_not_computed_again(provider: Callable[[Answer], Provider]) -> None:
    encoder = provider(good)
    known = {input_sha256("old"): np.array([7, 7, 7], np.float16)}
    embedding = embed(["old", "new", "old"], "test-3", known)
    assert encoder.asked == ["new"]
    assert embedding.vectors.tolist() == [[7, 7, 7], [3, 1, 0], [7, 7, 7]]
    assert embedding.vectors.dtype == np.float16
    assert embedding.input_hashes == [input_sha256(text) for text in ("old", "new", "old")]


def test_equal_inputs_are_encoded_once(provider: Callable[[Answer], Provider]) -> None:
    encoder = provider(good)
    embed(["a", "b", "a"], "test-3", {})
    assert encoder.asked == ["a", "b"]


def test_nothing_is_asked_for_no_inputs(provider: Callable[[Answer], Provider]) -> None:
    encoder = provider(good)
    assert embed([], "test-3", {}).vectors.shape == (0, 3)
    assert encoder.asked == []


def failing(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    raise TimeoutError("no answer after 30 s")


BAD: dict[str, Answer] = {
    "too few": lambda texts: good(texts)[:-1],
    "wrong dimension": lambda texts: np.ones((len(texts), 4), np.float32),
    "not a number": lambda texts: np.full((len(texts), 3), np.nan, np.float32),
    "infinite": lambda texts: np.full((len(texts), 3), np.inf, np.float32),
    "no numbers": lambda texts: np.array([["a", "b", "c"]] * len(texts)),  # type: ignore[arg-type]
    "an error": failing,
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD.keys())
def test_a_bad_answer_is_a_typed_error_and_nothing_is_returned(
    provider: Callable[[Answer], Provider], answer: Answer
) -> None:
    provider(answer)
    with pytest.raises(ProviderUnavailable, match="test-3") as caught:
        embed(["a", "b"], "test-3", {})
    assert caught.value.next_step
    with pytest.raises(ProviderUnavailable, match="test-3"):
        embed_question("a", "test-3")


def test_a_ledger_of_another_model_is_refused(provider: Callable[[Answer], Provider]) -> None:
    provider(good)
    with pytest.raises(ProviderUnavailable, match="shape"):
        embed(["a"], "test-3", {input_sha256("a"): np.zeros(5, np.float16)})


def test_an_unknown_family_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidRequest, match="wordllama-256"):
        family("unheard-of")
    assert "wordllama-256" in known_families()


def test_the_default_family_embeds_documents_and_questions_into_one_space() -> None:
    documents = embed(["The ferry leaves at seven.", "Tax returns are due in May."], "wordllama-256", {}).vectors
    question = embed_question("When does the ferry leave?", "wordllama-256")
    near, far = documents.astype(np.float32) @ question
    assert near > far
