"""Matching: which of a question's words a text holds, and how much that says."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property

from tychora_format.analysis import QuestionTerm, terms
from tychora_format.lexical import View
from tychora_functions.query.question import Question

__all__ = ["Matcher", "holds"]

PAIRS_SHARE = 0.5
"""Of the pairs of characters of a word in a script without blanks, so many must be there: a question's "word" is often
several, of which the text has some in another place."""


class Matcher:
    """Weighs texts by the question's words: a rare word says more than a common one."""

    def __init__(self, question: Question, view: View) -> None:
        self.question = question
        self._view = view

    @cached_property
    def weights(self) -> dict[str, float]:
        """Content word → inverse document frequency; 1 for all where the index is empty."""
        return {term.surface: max(self._view.idf(_rarest(term)), 1e-6) for term in self.question.terms}

    @cached_property
    def unknown(self) -> list[str]:
        """The content words that no row of the index holds, neither in its text nor in its title or headings."""
        return [term.surface for term in self.question.terms if not self._is_known(term)]

    def _is_known(self, term: QuestionTerm) -> bool:
        def known(form: str) -> bool:
            return any(self._view.document_frequency(form, field) for field in ("body", "title"))

        return _met(term, known)

    def is_indexed(self, form: str) -> bool:
        """Whether any row of the index holds this identifier."""
        return self._view.document_frequency(form, "identifier") > 0

    def held(self, text: str) -> set[str]:
        """The content words that `text` holds."""
        forms = set(terms(text))
        return {term.surface for term in self.question.terms if holds(forms, term)}

    def share(self, surfaces: Collection[str]) -> float:
        """The share of the question's content, by weight, that some of its words make up; 0 where it has none."""
        total = sum(self.weights.values())
        return sum(weight for surface, weight in self.weights.items() if surface in surfaces) / total if total else 0.0

    def relevance(self, text: str) -> float:
        """The weight of the content words that `text` holds."""
        return sum(self.weights[surface] for surface in sorted(self.held(text)))


def holds(forms: Collection[str], term: QuestionTerm) -> bool:
    """Whether index terms `forms` hold a content word: as a whole, or all parts of a divided one."""
    return _met(term, forms.__contains__)


def _met(term: QuestionTerm, known: Callable[[str], bool]) -> bool:
    """Whether enough forms of a word are known to say that the word is.

    `top-20` is met where top and 20 are, but `blake4` not where blake2 and 4 are. A word of a script without blanks is
    met where most pairs of its characters are: questions run their words together.
    """
    if _is_unsegmented(term):
        pairs = [form for form in term.terms if len(form) == 2] or list(term.terms[:1])
        return sum(map(known, pairs)) >= len(pairs) * PAIRS_SHARE
    parts = () if term.surface.isalnum() else term.terms[1:]
    return known(term.terms[0]) or (bool(parts) and all(map(known, parts)))


def _is_unsegmented(term: QuestionTerm) -> bool:
    return len(term.terms[0]) == 1 and not term.terms[0].isascii()


def _rarest(term: QuestionTerm) -> str:
    """The form whose rarity is the word's own."""
    return term.terms[-1] if _is_unsegmented(term) else term.terms[0]
