"""Cutting what is too long for one unit: at statements, or else at blanks, or else anywhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["borders", "divide"]


def borders(root: Node, limit: int) -> list[int]:
    """The bytes at which the parts of all nodes of more than `limit` bytes begin, in order."""
    found: list[int] = []
    pending = [root]
    while pending:
        for child in pending.pop().children:
            found.append(child.start_byte)
            if child.end_byte - child.start_byte > limit:
                pending.append(child)
    return sorted(set(found))


def divide(text: str, start: int, end: int, borders: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """`text[start:end]` in ranges of at most `limit` characters, each beginning at one of the `borders`
    (ascending character offsets), best at one that begins a line; blanks between ranges are left out.
    """
    while end - start > limit:
        cut = _cut(text, start, borders, limit)
        yield from _stripped(text, start, cut)
        start = cut
    yield from _stripped(text, start, end)


def _cut(text: str, start: int, borders: Sequence[int], limit: int) -> int:
    # A quarter of the limit at least, lest a border close to the start make many tiny units.
    least = start + limit // 4
    near = borders[bisect_right(borders, least) : bisect_right(borders, start + limit)]
    for border in reversed(near):
        if _begins_line(text, border):
            return border
    if near:
        return near[-1]
    for blank in ("\n", " "):
        found = text.rfind(blank, least, start + limit)
        if found >= 0:
            return found + 1
    return start + limit


def _begins_line(text: str, place: int) -> bool:
    while place > 0 and text[place - 1] in " \t":
        place -= 1
    return place == 0 or text[place - 1] in "\r\n"


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if piece.strip():
        start += len(piece) - len(piece.lstrip())
        yield start, start + len(piece.strip())
