"""The columns of an HTML table: which header stands over a cell when cells span rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Cell", "Columns"]

Content = TypeVar("Content")

_MOST_COLUMNS = 300
"""Cells further right get no header: no table for readers is wider, and a span may claim any number."""


@dataclass(slots=True)
class Cell(Generic[Content]):
    """A cell with its attributes as written and what stands in it."""

    is_header: bool
    colspan: str = ""
    rowspan: str = ""
    content: list[Content] = field(default_factory=list)

    @property
    def columns(self) -> int:
        """How many columns the cell covers, at least 1."""
        return _span(self.colspan) or 1

    @property
    def rows(self) -> int:
        """How many rows the cell covers; 0 means all that follow, as HTML has it."""
        return _span(self.rowspan)


class Columns:
    """The columns of one table, row by row: their names, and the cells that reach down into the rows below."""

    def __init__(self) -> None:
        self.caption = ""
        self._names: dict[int, list[str]] = {}
        self._reaching: dict[int, tuple[int, str]] = {}
        self._in_body = False

    @property
    def named(self) -> bool:
        """Whether any header row has named the columns: then an empty cell keeps its place in the row's text."""
        return bool(self._names)

    def add_row(self, cells: list[Cell[Content]], texts: list[str], *, in_head: bool) -> dict[str, str]:
        """Place a row's cells, whose texts are given; returns its attributes.

        `header` has one name per cell with ` | ` between them; `spanned` the cells above that reach into the row;
        `caption` the table's; `role` is `header` for a row that names columns.
        """
        columns, spanned = self._place(cells, texts)
        names_columns = in_head or (bool(cells) and all(cell.is_header for cell in cells))
        attributes = {"caption": self.caption} if self.caption else {}
        if names_columns and (in_head or not self._in_body):
            for column, text in [*zip(columns, texts, strict=True), *(([at], text) for at, text in spanned)]:
                for index in column:
                    names = self._names.setdefault(index, [])
                    if text and text not in names:
                        names.append(text)
            return {**attributes, "role": "header"}
        self._in_body = True
        if self._names:
            attributes["header"] = " | ".join(self._name(column) for column in columns)
        if held := [f"{self._name([at])}: {text}".removeprefix(": ") for at, text in spanned if text]:
            attributes["spanned"] = "; ".join(held)
        return attributes

    def _place(self, cells: list[Cell[Content]], texts: list[str]) -> tuple[list[list[int]], list[tuple[int, str]]]:
        """The columns of each cell, and the first column and text of each cell that reaches in from above."""
        taken, reaching = self._reaching, {}
        spanned: list[tuple[int, str]] = []
        columns = []
        at = 0
        for cell, text in zip(cells, texts, strict=True):
            while at in taken:
                at += 1
            covered = list(range(at, min(at + cell.columns, _MOST_COLUMNS)))
            columns.append(covered)
            if cell.rows != 1:
                for index in covered:
                    reaching[index] = (cell.rows - 1 if cell.rows else 1 << 30, text)
            at += cell.columns
        for index, (rows, text) in sorted(taken.items()):
            if not spanned or spanned[-1][1] != text:
                spanned.append((index, text))
            if rows > 1:
                reaching.setdefault(index, (rows - 1, text))
        self._reaching = reaching
        return columns, spanned

    def _name(self, columns: list[int]) -> str:
        names = [" / ".join(self._names.get(index, [])) for index in columns]
        return ", ".join(dict.fromkeys(name for name in names if name))


def _span(written: str) -> int:
    """The number that a span attribute declares; 1 where it is none."""
    digits = written.strip()
    return min(int(digits), 1 << 16) if digits.isascii() and digits.isdigit() and len(digits) < 9 else 1
