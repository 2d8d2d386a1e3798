"""The budget is kept, and what stays of a long text is the part that was asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.query.budget import fit
from tychora_functions.query.pieces import Piece
from tychora_functions.tokens import count_tokens


def piece(text: str) -> Piece:
    place = {"bytes": [0, len(text.encode())], "lines": [1, 1 + text.count("\n")]}
    return Piece(text, place, "", True, "paragraph", 0, (text, "{}"))


def mentions(text: str) -> float:
    return float(text.count("pademelon"))


def test_of_one_endless_sentence_the_part_that_was_asked_for_is_kept() -> None:
    """Without a line or sentence end: JSON of a thousand levels, a minified file."""
    text = "[" * 4_000 + " pademelon " + "]" * 4_000
    (kept,) = fit([piece(text)], 60, mentions)
    assert "pademelon" in kept.text
    assert text[kept.locator["bytes"][0] : kept.locator["bytes"][1]] == kept.text


@given(st.text(alphabet="ab .\n[", max_size=400), st.integers(1, 60))
def test_what_is_kept_fits_and_stands_at_its_bytes(text: str, limit: int) -> None:
    for kept in fit([piece(text)], limit, mentions):
        assert count_tokens([kept.text])[0] <= limit
        assert text.encode()[kept.locator["bytes"][0] : kept.locator["bytes"][1]].decode() == kept.text
