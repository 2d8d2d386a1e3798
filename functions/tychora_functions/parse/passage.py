"""A passage of visible text, put together from pieces of markup and knowing where each came from."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["Passage"]

_FLOW = re.compile(r"([^ \t\n\r\f]+(?: [^ \t\n\r\f]+)*)|[ \t\n\r\f]+")
"""Words with single blanks between them, which stay as they are, or blanks, which collapse."""


@dataclass(slots=True)
class _Piece:
    """Text from character `at` of the passage on stands at `[start, end)` of the source, literally or decoded."""

    at: int
    start: int
    end: int
    literal: bool


class Passage:
    """Text gathered in reading order. Positions in it lead back to character ranges of the source."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pieces: list[_Piece] = []
        self._length = 0
        self._blank: tuple[int, int] | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def touched(self) -> bool:
        """Whether anything was added, if only a blank."""
        return bool(self._parts) or self._blank is not None

    @property
    def text(self) -> str:
        """Everything added so far; a collapsed blank at the end only counts once something follows it."""
        return "".join(self._parts)

    def flow(self, data: str, start: int) -> None:
        """Add source text as a browser shows it outside `pre`: runs of blanks become one, none at the edges."""
        for found in _FLOW.finditer(data):
            if found[1] is None:
                self._blank = self._blank or (start + found.start(), start + found.end())
            else:
                self.add(found[1], start + found.start(), start + found.end(), literal=True)

    def add(self, text: str, start: int, end: int, *, literal: bool) -> None:
        """Add text that stands at `[start, end)` of the source, literally or decoded from what stands there."""
        if self._blank is not None:
            blank, self._blank = self._blank, None
            if self._length and text != "\n" and not self._parts[-1].endswith("\n"):
                self._append(" ", *blank, literal=blank[1] - blank[0] == 1)
        self._append(text, start, end, literal=literal)

    def join(self, other: Passage, separator: str) -> None:
        """Add another passage after a separator that no source character stands for."""
        edge = self._pieces[-1].end if self._pieces else 0
        begin = other._pieces[0].start if other._pieces else edge
        self._blank = None
        if separator:
            self._append(separator, min(edge, begin), max(edge, begin), literal=False)
        shift = self._length
        self._parts.append(other.text)
        self._pieces += [_Piece(piece.at + shift, piece.start, piece.end, piece.literal) for piece in other._pieces]
        self._length += len(other)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """The source range of `text[start:end]`; of a decoded piece that it touches, all."""
        first, last = self._piece(start), self._piece(max(start, end - 1))
        begin = first.start + (start - first.at if first.literal else 0)
        if start >= end:
            return begin, begin
        return begin, last.start + end - last.at if last.literal else last.end

    def _piece(self, position: int) -> _Piece:
        return self._pieces[max(0, bisect_right(self._pieces, position, key=lambda piece: piece.at) - 1)]

    def _append(self, text: str, start: int, end: int, *, literal: bool) -> None:
        last = self._pieces[-1] if self._pieces else None
        if last is not None and literal and last.literal and last.end == start:
            last.end = end
        else:
            self._pieces.append(_Piece(self._length, start, end, literal))
        self._parts.append(text)
        self._length += len(text)
