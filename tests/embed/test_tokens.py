"""Tokens are counted word by word, and the counts are those of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tychora_functions.tokens import count_tokens, packaged, tokenize
from tychora_schemas.errors import ProviderUnavailable


@pytest.fixture(scope="module")
def whole() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(packaged("tokenizers/l2_supercat_tokenizer_config.json")))
    tokenizer.encode_special_tokens = True
    return tokenizer


@settings(max_examples=50)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
@example("  two  blanks \n\n and\tlines \r\n")
@example("<s>no special token</s>\u2581here\u2581")
@example("自动化测试 覆盖率\u0000größe_prüfen(x) {}")
def test_ids_equal_those_of_the_whole_text_encoded_at_once(whole: Tokenizer, text: str) -> None:
    assert tokenize([text])[0].tolist() == whole.encode(text, add_special_tokens=False).ids


@settings(max_examples=30)
@given(st.lists(st.text(max_size=60), max_size=8))
def test_counts_are_the_numbers_of_ids_for_any_text_at_all(texts: list[str]) -> None:
    assert count_tokens(texts) == [len(ids) for ids in tokenize(texts)]


def test_an_empty_text_has_no_tokens() -> None:
    assert count_tokens([""]) == [0]


def test_a_missing_file_of_the_package_is_named() -> None:
    with pytest.raises(ProviderUnavailable, match=r"weights/none\.bin"):
        packaged("weights/none.bin")
