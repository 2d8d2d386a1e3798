"""One page: its glyphs put into regions of lines, in reading order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tychora_functions.parse.pdf.columns import reading_order
from tychora_functions.parse.pdf.fragments import Fragment, Row, fragments, rows
from tychora_functions.parse.pdf.furniture import margin_numbers
from tychora_functions.parse.pdf.glyphs import Glyphs, read_glyphs
from tychora_functions.parse.pdf.lines import Line, lines_of
from tychora_functions.parse.pdf.notes import Note, notes
from tychora_functions.parse.pdf.opening import OpenPage
from tychora_functions.parse.pdf.visibility import is_scan, unseen

__all__ = ["PageText", "read_page", "visible_fragments"]


@dataclass(slots=True)
class PageText:
    """What a page says. `regions` hold its lines in reading order; `unknown` counts glyphs of no known meaning."""

    regions: list[list[Line]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    unknown: int = 0

    @property
    def lines(self) -> list[Line]:
        return [line for region in self.regions for line in region]


def visible_fragments(page: OpenPage) -> tuple[Glyphs, list[Fragment]]:
    """The glyphs of a page and their fragments, hidden ones marked."""
    glyphs = read_glyphs(page.text, page.frame)
    return glyphs, fragments(glyphs, unseen(page.handle, glyphs))


def read_page(page: OpenPage, number: int) -> PageText:
    """The text of page `number` (from 1). Text of each direction is read on its own, the one with most of it first, and
    what is hidden after what is seen."""
    glyphs, parts = visible_fragments(page)
    groups: dict[tuple[bool, int], list[Fragment]] = {}
    for part in parts:
        groups.setdefault((part.unseen, part.quarter), []).append(part)
    regions: list[list[Row]] = []
    counting: list[int] = []
    for key in sorted(groups, key=lambda key: (key[0], -sum(part.characters for part in groups[key]))):
        page_rows = rows(groups[key])
        numbers = margin_numbers(page_rows)
        if numbers:
            apart = {id(part) for part in numbers}
            page_rows = rows([part for part in groups[key] if id(part) not in apart])
        regions += [with_spanning_labels(region) for region in reading_order(page_rows)]
        if numbers:
            counting.append(len(regions))
            regions.append([Row(part.baseline, [part]) for part in numbers])
    lines = lines_of(number, glyphs, regions)
    for index in counting:
        for line in lines[index]:
            line.furniture = True
    recognised = any(part.unseen for part in parts) and is_scan(page.handle, page.frame)
    for line in (line for region in lines for line in region if line.unseen and recognised):
        line.recognised, line.unseen = True, False
    return PageText(lines, list(notes(page, number)), int(np.count_nonzero(glyphs.codes == 0xFFFD)))


def with_spanning_labels(region: list[Row]) -> list[Row]:
    """A table's label that spans two rows stands between their baselines: it is given to the upper row, whose place it
    leaves free."""
    kept: list[Row] = []
    for index, row in enumerate(region):
        below = region[index + 1] if index + 1 < len(region) else None
        if kept and below is not None and _spans(row, kept[-1], below):
            kept[-1].fragments.extend(row.fragments)
            kept[-1].fragments.sort(key=lambda part: (part.u0, part.first))
        else:
            kept.append(row)
    return kept


def _spans(row: Row, above: Row, below: Row) -> bool:
    if min(len(above.fragments), len(below.fragments)) < 2:
        return False
    near = 0.9 * row.size
    if row.baseline - above.baseline > near or below.baseline - row.baseline > near:
        return False
    return all(
        other.u0 > part.u1 or other.u1 < part.u0
        for part in row.fragments
        for beside in (above, below)
        for other in beside.fragments
    )
