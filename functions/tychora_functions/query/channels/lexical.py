"""The lexical channel: BM25 over text, title and headings."""

from __future__ import annotations

from tychora_functions.query.candidates import POOL, Found
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.question import Question

__all__ = ["search"]

PART_WEIGHT = 0.5
"""A part of a compound word (`http` of `parseHTTPResponse`) beside the whole."""

CHARACTER_WEIGHT = 0.25
"""A single character of a script without blanks beside its pairs."""


def search(eligible: Eligible, question: Question) -> list[Found]:
    """The best rows for the question's content words, best first."""
    weighted = [
        (term, _weight(term, position)) for asked in question.terms for position, term in enumerate(asked.terms)
    ]
    return [Found(eligible.place(hit), hit.score) for hit in eligible.view.search(weighted, POOL)]


def _weight(term: str, position: int) -> float:
    if len(term) == 1 and not term.isascii():
        return CHARACTER_WEIGHT
    return 1.0 if position == 0 or not term.isascii() else PART_WEIGHT
