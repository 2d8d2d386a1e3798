"""Text made readable: words whole, ligatures spelled out, nothing invisible left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.parse.normal import normalised


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Immobi\ufffe\nlienfonds", "Immobilienfonds"),
        ("Immobi\u0002\nlienfonds", "Immobilienfonds"),
        ("för\u00ad\n  dert", "fördert"),
        ("Wert\u00adpapiere", "Wertpapiere"),
        ("well-\nknown", "well-known"),
        ("well\ufffe\nknown", "well-known"),
        ("state-of-the\ufffe\nart", "state-of-the-art"),
        ("2019\ufffe\n35", "2019-35"),
        ("Franco\ufffe\nPrussian", "Franco-Prussian"),
        ("e\ufb03cient \ufb01les", "efficient files"),
        ("½ ² stay", "½ ² stay"),
        ("a \t\n b", "a b"),
    ],
)
def test_examples(text: str, wanted: str) -> None:
    assert normalised(text) == wanted


@given(st.text(alphabet="ab-\u00ad\ufffe\u0002\u0000\ufb01 \n9A", max_size=60))
def test_nothing_invisible_is_left_and_doing_it_twice_changes_nothing(text: str) -> None:
    once = normalised(text)
    assert not set("\ufffe\u00ad\u0000\u0002\n") & set(once)
    assert normalised(once) == once
