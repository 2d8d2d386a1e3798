"""Spans: which characters of a text match the question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from tychora_format.analysis import terms
from tychora_functions.query.question import Question

__all__ = ["Marker"]

MOST_SPANS = 200

Span = tuple[int, int]

_UNSEGMENTED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_INSIDE = "\u0300-\u036f\u00ad\ufffe"
_PIECE = re.compile(rf"(?:[^\W{_UNSEGMENTED}]|[{_INSIDE}])+")
_WORD = re.compile(
    rf"\.?{_PIECE.pattern}(?:(?:::|[.:'’&@+\-\u2010\u2011]|\ufffe\s+|-\s*\n\s*){_PIECE.pattern})*(?:\+\+|#)?"
)
_IS_UNSEGMENTED = re.compile(f"[{_UNSEGMENTED}]")


class Marker:
    """Marks in texts what one question asked for. Words that were met before are not analysed again."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self._wanted = {form for term in question.terms for form in term.terms}
        self._answers: dict[str, list[Span]] = {}

    def matched(self, text: str) -> list[Span]:
        """Rising, disjoint ranges `[start, end)` of characters that are words, identifiers or phrases asked for."""
        found = [*self._words(text), *self._unsegmented(text)]
        for name in self._names:
            found += [match.span() for match in name.finditer(text)]
        return _united(found)[:MOST_SPANS]

    @cached_property
    def _names(self) -> list[re.Pattern[str]]:
        identifiers = [identifier.surface for identifier in self.question.identifiers]
        return [_spelled(name) for name in (*identifiers, *self.question.phrases)]

    def _words(self, text: str) -> Iterator[Span]:
        answers = self._answers
        for match in _WORD.finditer(text) if self._wanted else ():
            word = match[0]
            spans = answers.get(word)
            if spans is None:
                spans = answers[word] = _within(word, self._wanted)
            if spans:
                at = match.start()
                yield from ((at + start, at + end) for start, end in spans)

    def _unsegmented(self, text: str) -> Iterator[Span]:
        """In scripts without blanks: the word itself, or where it does not occur the pairs of its characters."""
        for term in self.question.terms:
            if not _IS_UNSEGMENTED.match(term.surface):
                continue
            whole = list(_occurrences(text, term.surface))
            yield from whole
            if not whole:
                for pair in (form for form in term.terms if len(form) == 2):
                    yield from _occurrences(text, pair)


def _within(word: str, wanted: set[str]) -> list[Span]:
    """The parts of a word that were asked for: the whole, else those of its pieces."""
    forms = _forms(word)
    if not wanted.intersection(forms):
        return []
    if forms[0] in wanted:
        return [(0, len(word))]
    pieces = [match.span() for match in _PIECE.finditer(word) if wanted.intersection(_forms(match[0]))]
    return pieces or [(0, len(word))]


@lru_cache(1 << 16)
def _forms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def _occurrences(text: str, part: str) -> Iterator[Span]:
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + len(part))


def _spelled(name: str) -> re.Pattern[str]:
    """A name in any case, with any hyphens and with any blanks where it has some."""
    pieces = ("[-\u2010\u2011\u2013]" if c == "-" else r"\s*" if c.isspace() else re.escape(c) for c in name)
    before = r"(?<!\w)" if name[:1].isalnum() else ""
    after = r"(?!\w)" if name[-1:].isalnum() else ""
    return re.compile(before + "".join(pieces) + after, re.IGNORECASE)


def _united(spans: list[Span]) -> list[Span]:
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        elif end > start:
            united.append((start, end))
    return united
