"""Paragraphs: the lines of a region grouped by distance, indentation and face into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal

from tychora_functions.parse.pdf.lines import Line
from tychora_functions.parse.pdf.lists import is_contents_entry, marker
from tychora_functions.parse.pdf.tables import tables

__all__ = ["MOST_CHARACTERS", "Block", "blocks"]

MOST_CHARACTERS = 2_000
"""Characters of a unit; longer blocks are split at a line end."""

INDENT = 0.8
"""Least indentation, in font sizes, that means something."""

WIDE_STEP = 1.18
"""Line distance, in multiples of the region's usual one, that parts paragraphs."""

WIDEST_STEP = 2.6
"""Line distance, in font sizes, that always parts paragraphs: beyond double spacing."""

SENTENCE_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "”", "؟")


@dataclass(slots=True)
class Block:
    """Lines of one page that belong together; `header` are the header lines of a table row."""

    kind: Literal["paragraph", "list_item", "table_row"]
    lines: list[Line]
    header: list[Line] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def size(self) -> float:
        return max(line.size for line in self.lines)

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def blocks(lines: Sequence[Line]) -> list[Block]:
    """The blocks of a region in order. Furniture stands alone, one block for lines that follow each other."""
    found: list[Block] = []
    start = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and lines[index].furniture == lines[start].furniture:
            continue
        run = lines[start:index]
        found += [Block("paragraph", [line]) for line in run] if run[0].furniture else _body(run)
        start = index
    return [part for block in found for part in _split(block)]


def _body(lines: Sequence[Line]) -> list[Block]:
    found: list[Block] = []
    start = 0
    for table in tables(lines):
        found += _prose(lines[start : table.first])
        header = [line for first, last in table.rows[: table.headers] for line in lines[first:last]]
        for number, (first, last) in enumerate(table.rows):
            above = header if number >= table.headers else []
            found.append(Block("table_row", list(lines[first:last]), above))
        start = table.last
    return found + _prose(lines[start:])


def _prose(lines: Sequence[Line]) -> list[Block]:
    if not lines:
        return []
    pitch = _pitch(lines)
    left = min(line.u0 for line in lines)
    right = sorted(line.u1 for line in lines)[-1 - len(lines) // 10]  # one wide line among many sets no margin
    found = [_opened(lines[0])]
    for line in lines[1:]:
        if _parts(found[-1].lines, line, pitch, left, right):
            found.append(_opened(line))
        else:
            found[-1].lines.append(line)
    return found


def _pitch(lines: Sequence[Line]) -> float:
    """The usual distance of lines; a wide one counts only where nearly all lines keep it, as in a typescript."""
    steps = [b.baseline - a.baseline for a, b in pairwise(lines)]
    wide = [step for step, line in zip(steps, lines, strict=False) if 0 < step < WIDEST_STEP * line.size]
    if len(wide) >= 6:
        middle = median(wide)
        if sum(abs(step - middle) < 0.05 * middle for step in wide) >= 0.7 * len(steps):
            return middle
    usual = [step for step, line in zip(steps, lines, strict=False) if 0 < step < 1.9 * line.size]
    return median(usual) if usual else 1.3 * lines[0].size


def _opened(line: Line) -> Block:
    return Block("list_item" if marker(line.text) or is_contents_entry(line.text) else "paragraph", [line])


def _parts(block: Sequence[Line], line: Line, pitch: float, left: float, right: float) -> bool:
    """Does `line` begin a new block after the lines of `block`?"""
    above = block[-1]
    step = line.baseline - above.baseline
    size = max(line.size, above.size)
    if not -0.2 * size <= step <= max(WIDE_STEP * pitch, 1.05 * size) or step > WIDEST_STEP * size:
        return True
    if abs(line.size - above.size) > 0.08 * size or line.unseen != above.unseen:
        return True
    if is_contents_entry(above.text):
        return True
    full = above.u1 >= right - 0.12 * (right - left)
    ended = above.text.rstrip().endswith(SENTENCE_ENDS)
    if line.bold != above.bold and (not full or step > 1.08 * pitch):
        return True
    if marker(line.text) and (not full or ended or line.u0 - above.u0 > INDENT * size or marker(block[0].text)):
        return True
    if abs(line.u0 + line.u1 - above.u0 - above.u1) < 0.6 * size and not full:
        return False  # centred under each other
    if above.u1 < right - 0.25 * (right - left) and ended:
        return True
    indent = line.u0 - above.u0
    if indent > INDENT * size:
        hanging = len(block) == 1 and (marker(above.text) is not None or not ended)
        return not hanging
    if indent < -INDENT * size:
        return len(block) > 1 or ended or above.u1 - above.u0 < 0.5 * (right - left)
    return False


def _split(block: Block) -> list[Block]:
    if sum(len(line.text) + 1 for line in block.lines) <= MOST_CHARACTERS:
        return [block]
    found: list[Block] = []
    total = MOST_CHARACTERS
    for line in block.lines:
        total += len(line.text) + 1
        if total > MOST_CHARACTERS:
            found.append(Block(block.kind, [], block.header))
            total = len(line.text) + 1
        found[-1].lines.append(line)
    return found
