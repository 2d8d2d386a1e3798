"""Pages put together: furniture, blocks and headings told apart over the whole document, and units made of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tychora_functions.parse.pdf.furniture import mark_furniture
from tychora_functions.parse.pdf.headings import heading_levels
from tychora_functions.parse.pdf.lines import Line
from tychora_functions.parse.pdf.notes import Note
from tychora_functions.parse.pdf.pages import PageText
from tychora_functions.parse.pdf.paragraphs import Block, blocks
from tychora_functions.parse.units import Unit, UnitKind
from tychora_schemas.locator import Box, Locator

__all__ = ["LinePlace", "NotePlace", "largest_heading", "units"]


class LinePlace:
    """Where any part of the text of some lines of one page stands: one box for each line that it touches."""

    __slots__ = ("_label", "_lines", "_starts")

    def __init__(self, lines: Sequence[Line], label: str | None) -> None:
        self._lines, self._label = tuple(lines), label
        self._starts = [0]
        for line in lines[:-1]:
            self._starts.append(self._starts[-1] + len(line.text) + 1)

    def __call__(self, start: int, end: int) -> Locator:
        boxes: list[Box] = []
        first = max(0, bisect_right(self._starts, start) - 1)
        for line, offset in zip(self._lines[first:], self._starts[first:], strict=True):
            if offset >= end and offset > start:
                break
            box = line.box(max(0, start - offset), max(0, end - offset))
            if box is not None:
                boxes.append(box)
        derived = True if self._lines[0].recognised else None
        return Locator(page=self._lines[0].page, page_label=self._label, boxes=tuple(boxes) or None, derived=derived)


@dataclass(frozen=True, slots=True)
class NotePlace:
    """Where a note's text stands: its annotation's box and path, and the characters if it is only a part."""

    note: Note
    label: str | None

    def __call__(self, start: int, end: int) -> Locator:
        return Locator(
            page=self.note.box.page,
            page_label=self.label,
            boxes=(self.note.box,),
            path=self.note.path,
            characters=None if (start, end) == (0, len(self.note.text)) else (start, end),
        )


def units(
    pages: Sequence[PageText], labels: Sequence[str | None], outline: dict[int, list[tuple[int, str]]]
) -> Iterator[Unit]:
    """The units of the document in reading order; `labels` by page, `outline` by page number."""
    mark_furniture([page.lines for page in pages], [label or str(n) for n, label in enumerate(labels, 1)])
    grouped = [[block for region in page.regions for block in blocks(region)] for page in pages]
    levels = heading_levels(grouped, outline)
    above: list[tuple[int, str]] = []
    for page, page_blocks, page_levels, label in zip(pages, grouped, levels, labels, strict=True):
        for index, block in enumerate(page_blocks):
            if not block.text.strip():
                continue
            level = page_levels.get(index, 0)
            if level:
                while above and above[-1][0] >= level:
                    above.pop()
            path = tuple(title for _, title in above)
            yield _unit(block, level, path, label)
            if level:
                above.append((level, " ".join(block.text.split())))
        for note in page.notes:
            attributes = {"name": note.name} if note.name else {}
            yield Unit("note", note.text, NotePlace(note, label), tuple(t for _, t in above), attributes=attributes)


def _unit(block: Block, level: int, path: tuple[str, ...], label: str | None) -> Unit:
    attributes: dict[str, str] = {}
    if block.header:
        attributes["header"] = "\n".join(line.text for line in block.header)
    if block.lines[0].furniture:
        attributes["furniture"] = "true"
    if block.lines[0].unseen:
        attributes["hidden"] = "true"
    kind: UnitKind = "heading" if level else block.kind
    return Unit(kind, block.text, LinePlace(block.lines, label), path, level, attributes=attributes)


def largest_heading(found: Sequence[Unit]) -> str | None:
    """The outermost heading of the first page, for want of a title."""
    first = [unit for unit in found if unit.kind == "heading" and unit.place(0, 1).page == 1]
    best = min(first, key=lambda unit: unit.level, default=None)
    return " ".join(best.text.split()) if best else None
