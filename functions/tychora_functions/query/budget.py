"""The budget: how many tokens the segments' texts may hold. It is kept exactly, and what was cut for it is counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tychora_functions.query.citations import quotes
from tychora_functions.query.pieces import Piece, cut
from tychora_functions.tokens import count_tokens

__all__ = ["Budget", "fit"]

LEAST_TOKENS = 48
"""A segment is not shortened to less than this, except the first: a fragment says less than the room it takes."""

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(slots=True)
class Budget:
    """What is allowed in all and per segment, and what was used and cut so far. Counts are of tokens and segments."""

    tokens: int
    segment_tokens: int
    used: int = 0
    cut: int = 0
    shortened: int = 0

    def admit(self, pieces: Sequence[Piece], relevance: Callable[[str], float]) -> list[Piece] | None:
        """As many of `pieces` as there is room for, around the most relevant one; None where there is too little."""
        allowed = min(self.segment_tokens, self.tokens - self.used)
        size = _size(pieces)
        kept: Sequence[Piece] = pieces
        if size > allowed:
            if self.used and allowed < LEAST_TOKENS:
                self.cut += 1
                return None
            kept = fit(pieces, allowed, relevance)
            size = _size(kept)
            if not kept or size > allowed:
                self.cut += 1
                return None
            self.shortened += 1
        self.used += size
        return list(kept)


def fit(pieces: Sequence[Piece], limit: int, relevance: Callable[[str], float]) -> list[Piece]:
    """An adjacent run of whole pieces of at most `limit` tokens, grown from the most relevant piece.

    Where that piece alone is larger, its most relevant sentences; nothing where not even a word fits.
    """
    if not pieces:
        return []
    worth = [relevance(piece.text) for piece in pieces]
    best = max(range(len(pieces)), key=lambda number: (worth[number], -number))
    if _size(pieces[best : best + 1]) > limit:
        return _fit_within(pieces[best], limit, relevance)
    first, last = best, best + 1
    growing = [1, -1]
    while growing:
        step = growing.pop(0)
        wider = (first, last + 1) if step > 0 else (first - 1, last)
        if wider[0] >= 0 and wider[1] <= len(pieces) and _size(pieces[wider[0] : wider[1]]) <= limit:
            first, last = wider
            growing.append(step)
    return list(pieces[first:last])


def _fit_within(piece: Piece, limit: int, relevance: Callable[[str], float]) -> list[Piece]:
    """A part of one piece: its most relevant sentence and what fits behind it."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(piece.text) if match.end() < len(piece.text))]
    ends = [*starts[1:], len(piece.text)]
    worth = [relevance(piece.text[start:end]) for start, end in zip(starts, ends, strict=True)]
    best = max(range(len(starts)), key=lambda number: (worth[number], -number))
    start = starts[best]
    if _tokens(piece.text[start : ends[best]]) > limit:
        # One endless sentence: begin where the words stand that were asked for.
        windows = range(start, ends[best], max(limit // 4, 8))
        start = max(windows, key=lambda at: (relevance(piece.text[at : at + limit]), -at))
    low, high = start, len(piece.text)
    while low < high:
        middle = (low + high + 1) // 2
        if _tokens(piece.text[start:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    end = low if low == len(piece.text) else max(_whole(piece.text, start, low), start)
    part = cut(piece, start, end) if end > start else None
    return [part] if part and part.text.strip() and _tokens(part.text) <= limit else []


def _whole(text: str, start: int, end: int) -> int:
    """The last sentence's or word's end in `text[start:end]`, or `end` where there is none."""
    for boundary in (_SENTENCE_END, re.compile(r"\s+")):
        found = [match.start() for match in boundary.finditer(text, start, end) if match.start() > start]
        if found:
            return found[-1]
    return end


def _size(pieces: Sequence[Piece]) -> int:
    return _tokens(quotes(pieces)[0])


def _tokens(text: str) -> int:
    return count_tokens([text])[0]
