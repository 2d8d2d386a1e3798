"""Tables: runs of lines whose cells stand under each other, and the rows that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tychora_functions.parse.pdf.lines import Cell, Line
from tychora_functions.parse.pdf.lists import is_contents_entry, marker, section_number

__all__ = ["Table", "aligned", "tables"]

EDGE = 0.4
"""How far, in font sizes, aligned edges may differ."""

ROW_PITCH, HEADER_PITCH = 3.2, 5.5
"""Most distance, in font sizes, between the lines of one table, and below a bold first line."""

CONTINUATION = 2.4
"""Most distance, in font sizes, at which a line goes on with the cells of the row above it."""

MOST_HEADER_ROWS = 4
MOST_LINES = 30
"""Lines of a row; past that the rest becomes a row of its own."""


@dataclass(frozen=True, slots=True)
class Table:
    """Lines `first..last` (not included) of a region; `rows` are `(first, last)`; the first `headers` rows head it."""

    first: int
    last: int
    rows: tuple[tuple[int, int], ...]
    headers: int


def tables(lines: Sequence[Line]) -> list[Table]:
    """The tables of a region, in order."""
    found: list[Table] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        begins = len(_columns(line)) >= 2 and not is_contents_entry(line.text)
        table = _from(lines, index) if begins else None
        if table is not None:
            found.append(table)
        index = table.last if table is not None else index + 1
    return found


def aligned(above: Line, below: Line) -> bool:
    """Do at least two cells of one line stand under cells of the other?"""
    tolerance = EDGE * max(above.size, below.size)
    columns = _columns(above)
    hits = sum(any(_under(cell, column, tolerance) for column in columns) for cell in _columns(below))
    return hits >= 2 and 2 * hits >= min(len(columns), len(_columns(below)))


def _columns(line: Line) -> Sequence[Cell]:
    """The cells without the marker of a list item or heading: a numbered list is no table."""
    cells = line.cells
    mark = marker(line.text) or section_number(line.text)
    return cells[1:] if mark and len(cells) > 1 and cells[0].characters <= len(mark) else cells


def _under(cell: Cell, column: Cell, tolerance: float) -> bool:
    middles = (cell.u0 + cell.u1 - column.u0 - column.u1) / 2
    return min(abs(cell.u0 - column.u0), abs(cell.u1 - column.u1), abs(middles)) <= tolerance


def _from(lines: Sequence[Line], first: int) -> Table | None:
    starts, recent = [first], [lines[first]]
    index = first + 1
    while index < len(lines):
        line, above = lines[index], lines[index - 1]
        step = line.baseline - above.baseline
        pitch = HEADER_PITCH if index == first + 1 and above.bold and not line.bold else ROW_PITCH
        apart = not 0 < step <= pitch * line.size or line.unseen != above.unseen
        if apart or is_contents_entry(line.text):
            break
        if _continues(line, recent[-1], step) and index - starts[-1] < MOST_LINES:
            pass
        elif len(_columns(line)) >= 2 and any(aligned(row, line) for row in recent[-3:]):
            starts.append(index)
            recent.append(line)
        else:
            break
        index += 1
    widest = max(len(_columns(line)) for line in recent)
    if len(starts) < (2 if widest >= 3 else 3):
        return None
    rows = tuple(zip(starts, [*starts[1:], index], strict=True))
    return Table(first, index, rows, _headers([lines[start] for start in starts]))


def _continues(line: Line, row: Line, step: float) -> bool:
    """Does the line only go on with cells of the row above: fewer of them, the first column empty, close below?"""
    columns, cells = _columns(row), _columns(line)
    if step > CONTINUATION * line.size or len(cells) >= max(2, len(columns) - 1):
        return False
    tolerance = EDGE * line.size
    if cells[0].u0 <= columns[0].u1 - tolerance or line.bold != row.bold:
        return False
    return all(any(_under(cell, column, tolerance) for column in columns[1:]) for cell in cells)


def _headers(rows: Sequence[Line]) -> int:
    """How many of the first rows are the header: bold above plain, or words above figures; 0 if it cannot be told."""
    bold = next((number for number, row in enumerate(rows) if not row.bold), len(rows))
    if 0 < bold <= MOST_HEADER_ROWS and bold < len(rows) and not any(row.bold for row in rows[bold:][:2]):
        return bold
    wordy = next((number for number, row in enumerate(rows) if _figures(row) > 0.25), len(rows))
    body = rows[wordy:]
    if 0 < wordy <= MOST_HEADER_ROWS and len(body) >= 2:
        numeric = sum(_figures(row) >= 0.5 for row in body)
        return wordy if numeric >= 0.7 * len(body) else 0
    return 0


def _figures(row: Line) -> float:
    """Share of numeric cells after the first."""
    rest = row.cells[1:]
    return sum(cell.numeric for cell in rest) / len(rest) if rest else 0.0
