"""Spans: which characters of a text match the question."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tychora_format.analysis import QuestionTerm, terms

from tychora_functions.query.question import Question

__all__ = ["matched"]

MOST_SPANS = 200

_UNSEGMENTED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_INSIDE = "\u0300-\u036f\u00ad\ufffe"
_PIECE = re.compile(rf"(?:[^\W{_UNSEGMENTED}]|[{_INSIDE}])+")
_WORD = re.compile(
    rf"\.?{_PIECE.pattern}(?:(?:::|[.:'’&@+\-\u2010\u2011]|\ufffe\s+|-\s*\n\s*){_PIECE.pattern})*(?:\+\+|#)?"
)
_IS_UNSEGMENTED = re.compile(f"[{_UNSEGMENTED}]")


def matched(text: str, question: Question) -> list[tuple[int, int]]:
    """Rising, disjoint character ranges `[start, end)` of `text` that hold words, identifiers or phrases asked for."""
    found = [*_words(text, question.terms), *_unsegmented(text, question.terms)]
    for named in [*(identifier.surface for identifier in question.identifiers), *question.phrases]:
        found += [match.span() for match in _spelled(named).finditer(text)]
    return _united(found)[:MOST_SPANS]


def _words(text: str, asked: list[QuestionTerm]) -> Iterator[tuple[int, int]]:
    wanted = {form for term in asked for form in term.terms}
    if not wanted:
        return
    answers: dict[str, list[tuple[int, int]]] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if word not in answers:
            answers[word] = _within(word, wanted)
        yield from ((match.start() + start, match.start() + end) for start, end in answers[word])


def _within(word: str, wanted: set[str]) -> list[tuple[int, int]]:
    """The parts of a word that were asked for: the whole, else those of its pieces."""
    forms = terms(word)
    if not wanted.intersection(forms):
        return []
    if forms[0] in wanted:
        return [(0, len(word))]
    pieces = [match.span() for match in _PIECE.finditer(word) if wanted.intersection(terms(match[0]))]
    return pieces or [(0, len(word))]


def _unsegmented(text: str, asked: list[QuestionTerm]) -> Iterator[tuple[int, int]]:
    """In scripts without blanks: the word itself, or where it does not occur the pairs of its characters."""
    for term in asked:
        if not _IS_UNSEGMENTED.match(term.surface):
            continue
        whole = list(_occurrences(text, term.surface))
        yield from whole
        if not whole:
            for pair in (form for form in term.terms if len(form) == 2):
                yield from _occurrences(text, pair)


def _occurrences(text: str, part: str) -> Iterator[tuple[int, int]]:
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + len(part))


def _spelled(name: str) -> re.Pattern[str]:
    """A name in any case, with any hyphens and with any blanks where it has some."""
    pieces = ("[-\u2010\u2011\u2013]" if c == "-" else r"\s*" if c.isspace() else re.escape(c) for c in name)
    return re.compile(
        r"(?<!\w)" * name[:1].isalnum() + "".join(pieces) + r"(?!\w)" * name[-1:].isalnum(), re.IGNORECASE
    )


def _united(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        elif end > start:
            united.append((start, end))
    return united
