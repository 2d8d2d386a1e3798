"""Fusion: deterministic, on one scale, and an exact match of something rare leads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.query.candidates import Found, pool
from tychora_functions.query.channels.text import Neighbours
from tychora_functions.query.fusion import Space, convex, reciprocal

SCORES = st.lists(st.floats(0, 40, width=32), min_size=20, max_size=20)


def space(cosines: list[float]) -> Space:
    return Space(0.4, Neighbours([np.array(cosines, np.float32)]))


def found(scores: dict[int, float]) -> list[Found]:
    return sorted((Found((0, row), score) for row, score in scores.items()), key=lambda row: (-row.score, row.place))


@given(SCORES, st.lists(st.floats(-1, 1, width=32), min_size=20, max_size=20))
def test_scores_lie_between_0_and_1_and_equal_ones_are_ordered_by_place(
    lexical: list[float], cosines: list[float]
) -> None:
    rows = {"lexical": found(dict(enumerate(lexical[:12]))), "text": found(dict(enumerate(cosines)))}
    ranked = convex(pool(rows), [space(cosines)], {})
    assert all(0 <= each.score <= 1 for each in ranked)
    assert [(-each.score, each.place) for each in ranked] == sorted((-each.score, each.place) for each in ranked)


def test_a_rare_exact_match_leads_over_the_best_of_the_other_channels() -> None:
    rows = {
        "exact": [Found((0, 3), 1.0, ("cve-2024-3094",))],
        "lexical": found({0: 30.0, 1: 20.0, 3: 1.0}),
        "text": found({0: 0.9, 3: 0.1}),
    }
    ranked = convex(pool(rows), [space([0.9, 0.2, 0.2, 0.1])], {})
    assert ranked[0].place == (0, 3)
    assert ranked[0].ranks == {"exact": 1, "lexical": 3, "text": 2}


def test_a_named_document_wins_between_equals() -> None:
    rows = {"lexical": [Found((0, 0), 5.0), Found((0, 1), 5.0)]}
    assert convex(pool(rows), [], {(0, 1): 0.5})[0].place == (0, 1)


def test_reciprocal_ranks_have_the_reference_weights() -> None:
    rows = {
        "exact": [Found((0, 0), 1.0)],
        "lexical": [Found((0, 1), 1.0), Found((0, 0), 0.5)],
        "text": [Found((0, 1), 1.0)],
    }
    first, second = reciprocal(pool(rows))
    assert (first.place, first.score) == ((0, 0), round(2 / 61 + 1 / 62, 6))
    assert (second.place, second.score) == ((0, 1), round(1 / 61 + 1 / 61, 6))
