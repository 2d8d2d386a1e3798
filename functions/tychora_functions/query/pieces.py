"""Pieces: a draft's text as parts that each know their place. What a citation quotes is a run of pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tychora_format.tables import ChunkRow

__all__ = ["Piece", "cut", "pieces_of"]

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Piece:
    """A unit's text, or a part of it. `gap` is what stands between the piece before and this one.

    `locator` are the fields of a `Locator`; `ordinal` and `stored` (the unit's text and locator as they were hashed)
    give the unit's id. `real` says that the gap stands in the source as it is here.
    """

    text: str
    locator: dict[str, Any]
    gap: str
    real: bool
    kind: str
    ordinal: int
    stored: tuple[str, str]

    @property
    def literal(self) -> bool:
        """Whether the text is literally the bytes at its place."""
        return "bytes" in self.locator

    @property
    def encoding(self) -> str:
        return str(self.locator.get("encoding") or "utf-8")


def pieces_of(chunks: Sequence[ChunkRow]) -> list[Piece]:
    """The pieces of adjacent chunks, in order."""
    pieces: list[Piece] = []
    for chunk in chunks:
        end = 0
        for number, unit in enumerate(chunk.units):
            text = chunk.text[unit.start : unit.end]
            piece = Piece(
                text=text,
                locator=json.loads(unit.locator),
                gap=chunk.text[end : unit.start],
                real=True,
                kind=unit.kind,
                ordinal=chunk.first_unit + number,
                stored=(text, unit.locator),
            )
            if number == 0 and pieces:
                # What stands between two chunks is not stored: nothing, where their bytes touch.
                touching = pieces[-1].literal and piece.literal and _touch(pieces[-1], piece)
                piece = replace(piece, gap="" if touching else "\n", real=touching)
            pieces.append(piece)
            end = unit.end
    return pieces


def _touch(before: Piece, after: Piece) -> bool:
    return bool(before.locator["bytes"][1] == after.locator["bytes"][0])


def cut(piece: Piece, start: int, end: int) -> Piece:
    """The part `[start, end)` of a piece, with its own place as exactly as the source allows.

    Bytes and lines follow where the text is literal; elsewhere the place stays the unit's, and `characters` says which
    part of it is meant.
    """
    if (start, end) == (0, len(piece.text)):
        return piece
    locator = dict(piece.locator)
    before, text = piece.text[:start], piece.text[start:end]
    if piece.literal:
        first = locator["bytes"][0] + len(before.encode(piece.encoding))
        locator["bytes"] = [first, first + len(text.encode(piece.encoding))]
        if "lines" in locator:
            line = locator["lines"][0] + len(_LINE_END.findall(before))
            locator["lines"] = [line, line + len(_LINE_END.findall(text.rstrip("\r\n")))]
    elif "characters" in locator:
        first = locator["characters"][0]
        locator["characters"] = [first + start, first + end]
    elif "path" in locator:
        locator["characters"] = [start, end]
    return replace(piece, text=text, locator=locator)
