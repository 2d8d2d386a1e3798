"""The pieces of a file that become its units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tychora_functions.parse.code.definitions import Definition
from tychora_functions.parse.code.division import divide
from tychora_functions.parse.code.tiling import UNIT_LIMIT, Mark

__all__ = ["Piece", "pieces"]

CLOSING = re.compile(r"[\s\])}>;,]+")
"""What only closes the code before it and would say nothing alone."""


@dataclass(slots=True, frozen=True)
class Piece:
    """`text[start:end]`, without blanks at its edges."""

    start: int
    end: int
    scope: tuple[str, ...]
    definition: Definition | None = None
    """What the piece defines; of a definition in several pieces only the first has it."""
    docstring: str = ""


def pieces(
    text: str, found: Sequence[Mark], character: Callable[[int], int], borders: Callable[[], list[int]]
) -> Iterator[Piece]:
    """The pieces that marks (at least the one at 0) make of a text, in order, the long ones divided.

    `character` turns a byte offset of a mark into one of the text, `borders` gives the characters where parts
    of long nodes begin; it is called at most once, and only if something is too long.
    """
    cuts: list[int] | None = None
    for piece in _joined(text, _marked(text, found, character)):
        if piece.end - piece.start <= UNIT_LIMIT:
            yield piece
            continue
        cuts = borders() if cuts is None else cuts
        first = True
        for start, end in divide(text, piece.start, piece.end, cuts, UNIT_LIMIT):
            if first or piece.definition is None:
                yield replace(piece, start=start, end=end)
            else:
                yield Piece(start, end, (*piece.scope, piece.definition.name))
            first = False


def _marked(text: str, found: Sequence[Mark], character: Callable[[int], int]) -> Iterator[Piece]:
    starts = [character(mark.start) for mark in found]
    for mark, start, end in zip(found, starts, [*starts[1:], len(text)], strict=True):
        inner = text[start:end]
        if inner.strip():
            start += len(inner) - len(inner.lstrip())
            yield Piece(start, start + len(inner.strip()), mark.scope, mark.definition, mark.docstring)


def _joined(text: str, marked: Iterator[Piece]) -> Iterator[Piece]:
    last: Piece | None = None
    for piece in marked:
        if last is not None:
            closing = CLOSING.match(text, piece.start, piece.end) if piece.definition is None else None
            if closing is not None:
                last = replace(last, end=piece.start + len(closing[0].rstrip()))
                if closing.end() == piece.end:
                    continue
                piece = replace(piece, start=closing.end())
            yield last
        last = piece
    if last is not None:
        yield last
