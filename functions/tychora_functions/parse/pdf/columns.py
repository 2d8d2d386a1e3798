"""Reading order: a page's rows cut into columns of prose, and nothing else torn.

A gutter is a vertical strip that no fragment crosses over several rows. It parts columns only where both sides read as
prose (long lines that fill their column, mostly letters); the cells of a table are short, ragged or numeric, so their
rows stay whole. Where the file itself draws one side after the other, less prose is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tychora_functions.parse.pdf.fragments import Fragment, Row
from tychora_functions.parse.pdf.lines import Cell, cells

__all__ = ["reading_order"]

GUTTER = 0.7
"""Least width of a gutter, in font sizes."""

CANDIDATES = 12
"""Column edges tried on one region, the most frequent first."""

DEEPEST = 40
"""Cuts nested in each other; no page of print comes near."""

MASTHEAD = 8
"""Rows at the start of a band that may be the head of the page."""

TOLERANCE = 1.0
"""Points by which edges that ought to align may differ."""


@dataclass(slots=True)
class Cut:
    """Rows `first..last` (not included) part at `edge`."""

    first: int
    last: int
    edge: float
    score: int


@dataclass(frozen=True, slots=True)
class Prose:
    """What a side of a gutter must hold to count as a column: lines, characters a line, share of lines that fill it."""

    lines: int
    characters: float
    full: float


DRAWN_APART, DRAWN_ACROSS = Prose(2, 12, 0.35), Prose(4, 18, 0.5)


def reading_order(rows: list[Row], depth: int = 0) -> list[list[Row]]:
    """The regions of a page in reading order, each a run of rows; a row never holds fragments of two columns."""
    cut = _best_cut(rows) if len(rows) >= 2 and depth < DEEPEST else None
    if cut is None:
        return [rows] if rows else []
    band = rows[cut.first : cut.last]
    sides = ([_left(row, cut.edge) for row in band], [_right(row, cut.edge) for row in band])
    found = reading_order(rows[: cut.first], depth + 1)
    for side in sides:
        column = [Row(row.baseline, part) for row, part in zip(band, side, strict=True) if part]
        found += reading_order(column, depth + 1)
    return found + reading_order(rows[cut.last :], depth + 1)


def _left(row: Row, edge: float) -> list[Fragment]:
    return [part for part in row.fragments if part.u0 < edge - TOLERANCE]


def _right(row: Row, edge: float) -> list[Fragment]:
    return [part for part in row.fragments if part.u0 >= edge - TOLERANCE]


def _best_cut(rows: Sequence[Row]) -> Cut | None:
    size = median(row.size for row in rows)
    margin = min(row.u0 for row in rows)
    edges: Counter[int] = Counter()
    for row in rows:
        end = None
        for part in row.fragments:
            if part.u0 > margin + 4 * size and (end is None or part.u0 - end >= GUTTER * size):
                edges[round(part.u0)] += 1
            end = part.u1 if end is None else max(end, part.u1)
    best: Cut | None = None
    for edge, count in edges.most_common(CANDIDATES):
        if count + edges[edge - 1] + edges[edge + 1] < 2:
            break
        for cut in _cuts(rows, float(edge), size):
            if best is None or cut.score > best.score:
                best = cut
    return best


def _cuts(rows: Sequence[Row], edge: float, size: float) -> list[Cut]:
    """Every band of rows that the strip left of `edge` parts into two columns of prose."""
    low, high = edge - GUTTER * size + TOLERANCE, edge - TOLERANCE
    crossing = [any(part.u0 < high and part.u1 > low for part in row.fragments) for row in rows]
    found: list[Cut] = []
    first = 0
    for index in range(len(rows) + 1):
        if index < len(rows) and not crossing[index]:
            continue
        for start, end in _without_tables(rows, first, index, edge):
            cut = _judged(rows, start, end, edge, followed=index < len(rows))
            if cut is not None:
                found.append(cut)
        first = index + 1
    return found


def _without_tables(rows: Sequence[Row], first: int, last: int, edge: float) -> list[tuple[int, int]]:
    """The parts of a band between runs of table rows that reach over the gutter."""
    tabular = [_spanning(rows[index], edge) for index in range(first, last)]
    bounds: list[tuple[int, int]] = []
    start, index = first, first
    while index < last:
        if not tabular[index - first]:
            index += 1
            continue
        end = index
        while end < last and (tabular[end - first] or (end + 1 < last and tabular[end + 1 - first])):
            end += 1
        if sum(tabular[index - first : end - first]) >= 2:
            bounds.append((start, index))
            start = end
        index = end
    bounds.append((start, last))
    return [(start, end) for start, end in bounds if end - start >= 2]


def _spanning(row: Row, edge: float) -> bool:
    left, right = _left(row, edge), _right(row, edge)
    if not left or not right:
        return False
    inner = len(_own_cells(left)) - 1, len(_own_cells(right)) - 1
    return min(inner) >= 1 or (max(inner) >= 2 and _numeric(left if inner[0] < inner[1] else right))


def _own_cells(parts: Sequence[Fragment]) -> tuple[Cell, ...]:
    """The cells of one side, without the number of a list item."""
    return cells(parts[1:] if len(parts) > 1 and parts[0].numbering else parts)


def _numeric(parts: Sequence[Fragment]) -> bool:
    return sum(part.digits for part in parts) > sum(part.letters for part in parts)


def _judged(rows: Sequence[Row], first: int, last: int, edge: float, followed: bool) -> Cut | None:
    """The cut of a band, trimmed, if both its sides are prose."""
    first, last = _trimmed(rows, first, last, edge, followed)
    lefts = [left for row in rows[first:last] if (left := _left(row, edge))]
    rights = [right for row in rows[first:last] if (right := _right(row, edge))]
    if not lefts or not rights:
        return None
    demand = DRAWN_ACROSS if _changes_side(rows[first:last], edge) else DRAWN_APART
    if not (_is_prose(lefts, demand) and _is_prose(rights, demand)):
        return None
    return Cut(first, last, edge, min(len(lefts), len(rights)))


def _trimmed(rows: Sequence[Row], first: int, last: int, edge: float, followed: bool) -> tuple[int, int]:
    """Without one-sided rows that a wide gap sets off: those at the end introduce what follows, over both columns, or
    stand in the foot of the page; those at the start are its head."""
    for index in range(first + 1, min(first + MASTHEAD, last)):
        if _left(rows[index - 1], edge) and _right(rows[index - 1], edge):
            break
        if rows[index].baseline - rows[index - 1].baseline > 2.5 * rows[index].size:
            first = index
            break
    wide = 1.7 if followed else 4.0
    for index in range(last - 1, first, -1):
        if _left(rows[index], edge) and _right(rows[index], edge):
            break
        if rows[index].baseline - rows[index - 1].baseline > wide * rows[index].size:
            return first, index
    return first, last


def _changes_side(rows: Sequence[Row], edge: float) -> bool:
    """Does the file draw the band row by row, rather than one side after the other?"""
    order = sorted((part.first, part.u0 >= edge - TOLERANCE) for row in rows for part in row.fragments)
    changes = sum(a[1] != b[1] for a, b in pairwise(order))
    return changes > max(1, 0.25 * len(rows))


def _is_prose(lines: Sequence[list[Fragment]], demand: Prose) -> bool:
    """Judged by whole lines where the file draws the sides apart; else by the pieces that wide gaps leave, so that two
    columns beside a third one are prose, too, and the rows of a table are not."""
    if demand is DRAWN_APART:
        extents = [(line[0].u0, line[-1].u1, sum(part.characters for part in line)) for line in lines]
    else:
        extents = [(piece.u0, piece.u1, piece.characters) for line in lines for piece in _own_cells(line)]
    characters = [count for _, _, count in extents]
    letters = sum(part.letters for line in lines for part in line)
    digits = sum(part.digits for line in lines for part in line)
    if len(lines) < demand.lines or median(characters) < demand.characters or letters < digits:
        return False
    widths = sorted(end - start for start, end, _ in extents)
    column = widths[-1 - len(widths) // 10]
    return sum(width >= 0.75 * column for width in widths) >= demand.full * len(extents)
