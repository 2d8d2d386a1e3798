"""Matching: which of a question's words a text holds, and how much that says."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from tychora_format.analysis import QuestionTerm, terms
from tychora_format.lexical import View

from tychora_functions.query.question import Question

__all__ = ["Matcher", "holds"]


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

        whole, parts = _whole_and_parts(term)
        return known(whole) or (bool(parts) and all(map(known, parts)))

    def is_indexed(self, form: str) -> bool:
        """Whether any row of the index holds this identifier."""
        return self._view.document_frequency(form, "identifier") > 0

    def held(self, text: str) -> set[str]:
        """The content words that `text` holds."""
        forms = set(terms(text))
        return {term.surface for term in self.question.terms if holds(forms, term)}

    def relevance(self, text: str) -> float:
        """The weight of the content words that `text` holds."""
        return sum(self.weights[surface] for surface in sorted(self.held(text)))


def holds(forms: Collection[str], term: QuestionTerm) -> bool:
    """Whether index terms `forms` hold a content word: as a whole, or all parts of a divided one."""
    whole, parts = _whole_and_parts(term)
    return whole in forms or (bool(parts) and all(part in forms for part in parts))


def _whole_and_parts(term: QuestionTerm) -> tuple[str, list[str]]:
    """The form that stands for the whole word, and those that together do as well.

    `top-20` is held by a text about the top 20, but `blake4` not by one about blake2 and 4. In scripts without blanks
    the pairs of characters together stand for the word.
    """
    first, rest = term.terms[0], list(term.terms[1:])
    if not first.isascii() and len(first) == 1:
        parts = [form for form in term.terms if not form.startswith("[")]
        return term.terms[-1], parts
    return first, [] if term.surface.isalnum() else rest


def _rarest(term: QuestionTerm) -> str:
    """The form whose rarity is the word's own."""
    return _whole_and_parts(term)[0]
