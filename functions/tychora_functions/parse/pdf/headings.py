"""Headings: blocks that the contents name, or that stand out by size or weight; and how deep each stands."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tychora_functions.parse.pdf.lists import is_contents_entry
from tychora_functions.parse.pdf.paragraphs import Block

__all__ = ["Face", "body_size", "heading_levels"]

LARGER = 1.12
"""Size, in multiples of the body's, from which a short block is a heading."""

MOST_CHARACTERS, MOST_LINES, DEEPEST = 160, 3, 6

Face = tuple[float, bool]
"""Size rounded to half points, and whether it is bold."""


@dataclass(slots=True)
class _Candidate:
    index: int
    face: Face
    depth: int | None


def body_size(pages: Sequence[Sequence[Block]]) -> float:
    """The size that most characters of the document are set in, tables left aside where there is anything else."""
    weights: Counter[float] = Counter()
    found = [block for page in pages for block in page]
    for block in [block for block in found if block.kind != "table_row"] or found:
        for line in block.lines:
            if not (line.furniture or line.unseen):
                weights[round(line.size * 2) / 2] += len(line.text)
    return weights.most_common(1)[0][0] if weights else 10.0


def heading_levels(pages: Sequence[Sequence[Block]], outline: dict[int, list[tuple[int, str]]]) -> list[dict[int, int]]:
    """For each page, the level of those of its blocks (by index) that are headings.

    The depth in the outline is the level of a heading that it names. Others get the level of the named headings of
    their face, or else the rank of their face among all faces of headings, the largest first.
    """
    body = body_size(pages)
    most_is_bold = _mostly_bold(pages)
    found = [_candidates(page, outline, body, most_is_bold) for page in pages]
    named: defaultdict[Face, Counter[int]] = defaultdict(Counter)
    for candidate in (candidate for page in found for candidate in page):
        if candidate.depth is not None:
            named[candidate.face][candidate.depth] += 1
    depths = {face: depth.most_common(1)[0][0] for face, depth in named.items()}
    faces = sorted({c.face for page in found for c in page}, reverse=True)
    levels: dict[Face, int] = {}
    deepest = 0
    for face in faces:
        levels[face] = depths[face] if face in depths else min(DEEPEST, deepest + 1)
        deepest = max(deepest, levels[face]) if face in depths or not depths else deepest
    return [{c.index: min(DEEPEST, c.depth if c.depth is not None else levels[c.face]) for c in page} for page in found]


def _candidates(
    page: Sequence[Block], outline: dict[int, list[tuple[int, str]]], body: float, most_is_bold: bool
) -> list[_Candidate]:
    found = []
    titles: dict[str, int] = {}
    if page:
        for depth, title in outline.get(page[0].lines[0].page, []):
            titles.setdefault(_key(title), depth)
    for index, block in enumerate(page):
        first = block.lines[0]
        if first.furniture or first.unseen or len(block.text) > MOST_CHARACTERS or len(block.lines) > MOST_LINES:
            continue
        face = (round(block.size * 2) / 2, block.bold)
        key = _key(block.text)
        if key in titles or _stands_out(block, body, most_is_bold):
            found.append(_Candidate(index, face, titles.pop(key, None)))
    return found


def _key(text: str) -> str:
    """A title's letters and figures only: blanks, dots and hyphens differ between outline and page."""
    return re.sub(r"[\W_]+", "", text).casefold()


def _stands_out(block: Block, body: float, most_is_bold: bool) -> bool:
    text = " ".join(block.text.split())
    letters = sum(map(str.isalpha, text))
    mostly_letters = letters >= 2 and 2 * letters >= len(text.replace(" ", ""))
    if block.kind == "table_row" or block.lines[0].quarter != 0 or not mostly_letters:
        return False
    unfinished = text.endswith((",", ";", "-", "，", "；")) or "。" in text
    sentence = text.endswith(".") and len(text.split()) > 6
    if is_contents_entry(text) or unfinished or sentence:
        return False
    if block.kind == "list_item" and not (block.bold or block.size >= LARGER * body):
        return False
    first = next((character for character in text if character.isalnum()), "")
    if first.islower():
        return False
    if block.size >= LARGER * body:
        return True
    return block.bold and not most_is_bold and block.size >= 0.95 * body and len(block.lines) <= 2 and len(text) <= 120


def _mostly_bold(pages: Sequence[Sequence[Block]]) -> bool:
    lines = [line for page in pages for block in page for line in block.lines]
    return sum(len(line.text) for line in lines if line.bold) > 0.4 * sum(len(line.text) for line in lines)
