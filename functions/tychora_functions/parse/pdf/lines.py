"""Lines: the text of one row of one column, able to say where each of its characters stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tychora_functions.parse.pdf.fragments import SPACE, Fragment, Row, joined
from tychora_functions.parse.pdf.frame import Floats, PageFrame
from tychora_functions.parse.pdf.glyphs import ASCENT, DESCENT, Glyphs
from tychora_schemas.locator import Box

__all__ = ["CELL_GAP", "Cell", "Line", "cells", "compose", "lines_of", "spelled"]

CELL_GAP = 0.9
"""Gap, in font sizes, that divides two cells of a table row."""


ROUNDS = 10
"""How often lines that hold each other's glyphs are put together again."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line that stands apart from its neighbours; `u0..u1` upright."""

    u0: float
    u1: float
    characters: int
    numeric: bool


@dataclass(slots=True)
class Line:
    """`u0s`, `u1s` hold the upright extent of every character of `text`; `top..bottom` is the line's band."""

    page: int
    text: str
    frame: PageFrame
    quarter: int
    u0s: Floats
    u1s: Floats
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    unseen: bool
    cells: tuple[Cell, ...]
    recognised: bool = False
    furniture: bool = False

    @property
    def u0(self) -> float:
        return self.cells[0].u0

    @property
    def u1(self) -> float:
        return max(cell.u1 for cell in self.cells)

    def box(self, start: int, end: int) -> Box | None:
        """The displayed box of `text[start:end]`, or None where that is blank."""
        u0s, u1s = self.u0s[start:end], self.u1s[start:end]
        wide = np.isfinite(u0s)
        if not wide.any():
            return None
        x0, y0, x1, y1 = self.frame.rectangle(
            float(u0s[wide].min()), self.top, float(u1s[wide].max()), self.bottom, self.quarter
        )
        return Box(page=self.page, x0=round(x0, 1), y0=round(y0, 1), x1=round(x1, 1), y1=round(y1, 1))


def spelled(glyphs: Glyphs, indices: npt.NDArray[np.int64]) -> str:
    """The text of glyph indices as `joined` gives them, blanks of any kind as spaces."""
    codes = np.where(indices < 0, np.uint32(SPACE), glyphs.codes[indices])
    codes = np.where(np.isin(codes, (0x09, 0x0A, 0x0D)), np.uint32(SPACE), codes)
    return codes.astype("<u4").tobytes().decode("utf-32-le", "replace")


def compose(page: int, glyphs: Glyphs, parts: Sequence[Fragment]) -> Line:
    """One line of fragments that share a row."""
    indices = joined(glyphs, parts)
    text = spelled(glyphs, indices)
    solid = (indices >= 0) & ~glyphs.blank[indices]
    u0s = np.where(solid, glyphs.u0[indices], np.float32(np.nan))
    u1s = np.where(solid, glyphs.u1[indices], np.float32(np.nan))
    own = indices[solid]
    sizes, baselines = glyphs.size[own], glyphs.baseline[own]
    lead = max(parts, key=lambda part: (part.size * min(part.characters, 3), part.characters))
    letters = sum(part.letters for part in parts)
    return Line(
        page=page,
        text=text,
        frame=glyphs.frame,
        quarter=parts[0].quarter,
        u0s=u0s.astype(np.float32),
        u1s=u1s.astype(np.float32),
        top=float((baselines - ASCENT * sizes).min()),
        bottom=float((baselines + DESCENT * sizes).max()),
        baseline=lead.baseline,
        size=lead.size,
        bold=letters > 0 and 2 * sum(part.letters for part in parts if part.bold) > letters,
        unseen=parts[0].unseen,
        cells=cells(parts),
    )


def cells(parts: Sequence[Fragment]) -> tuple[Cell, ...]:
    """The cells of a row of fragments, left to right."""
    found: list[list[Fragment]] = []
    for part in sorted(parts, key=lambda part: part.u0):
        close = bool(found) and part.u0 - max(one.u1 for one in found[-1]) <= CELL_GAP * part.size
        if found and (close or part.leader or found[-1][-1].leader):
            found[-1].append(part)
        else:
            found.append([part])
    return tuple(
        Cell(
            u0=min(one.u0 for one in group),
            u1=max(one.u1 for one in group),
            characters=sum(one.characters for one in group),
            numeric=sum(one.digits for one in group) > sum(one.letters for one in group),
        )
        for group in found
    )


def lines_of(page: int, glyphs: Glyphs, regions: Sequence[Sequence[Row]]) -> list[list[Line]]:
    """The lines of each region. What stands in the box of a line is that line's text and nothing else: where lines are
    stacked closer than their letters are high, bands are narrowed, and what still lies within another line joins it."""
    rows = [row for region in regions for row in region]
    anchors = glyphs.anchors()
    for _ in range(ROUNDS):
        lines = [compose(page, glyphs, row.fragments) for row in rows]
        if not _move_intruders(rows, lines, glyphs, anchors):
            break
        rows = [row for row in rows if row.fragments]
    else:
        lines = [compose(page, glyphs, row.fragments) for row in rows]
    of_row = {id(row): line for row, line in zip(rows, lines, strict=True)}
    return [[of_row[id(row)] for row in region if id(row) in of_row] for region in regions]


def _move_intruders(rows: Sequence[Row], lines: Sequence[Line], glyphs: Glyphs, anchors: tuple[Floats, Floats]) -> bool:
    """Narrows the bands that hold anchors of other lines; fragments that they still hold change their row."""
    owners = np.full(len(glyphs), -1, np.int32)
    for number, row in enumerate(rows):
        for part in row.fragments:
            owners[part.first : part.last + 1] = number
    owners[glyphs.blank] = -1
    moved = False
    for number, line in enumerate(lines):
        own = owners == number
        if not own.any() or not len(_inside(line, anchors, owners, number)):
            continue
        along = anchors[1][own] if line.quarter % 2 == 0 else anchors[0][own]
        bounds = [line.frame.upright(edge, edge, line.quarter)[1] for edge in (along.min() - 0.3, along.max() + 0.3)]
        line.top, line.bottom = float(min(bounds)), float(max(bounds))
        for other in {int(owners[glyph]) for glyph in _inside(line, anchors, owners, number)}:
            if lines[other].quarter != line.quarter or lines[other].unseen != line.unseen:
                continue
            held = set(_inside(line, anchors, owners, number).tolist())
            for part in list(rows[other].fragments):
                if not held.isdisjoint(range(part.first, part.last + 1)):
                    rows[other].fragments.remove(part)
                    rows[number].fragments.append(part)
                    owners[part.first : part.last + 1] = number
                    moved = True
    return moved


def _inside(
    line: Line, anchors: tuple[Floats, Floats], owners: npt.NDArray[np.int32], number: int
) -> npt.NDArray[np.int64]:
    """Glyphs of other lines whose anchor the box of `line` holds."""
    box = line.box(0, len(line.text))
    if box is None:
        return np.zeros(0, np.int64)
    x, y = anchors
    held = (x >= box.x0) & (x <= box.x1) & (y >= box.y0) & (y <= box.y1)
    return np.flatnonzero(held & (owners != number) & (owners >= 0))
