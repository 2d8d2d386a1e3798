"""Table rows: their cells in grid order, their text, and which of them are headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.markup import (
    ALTERNATE,
    CHOICE,
    FALLBACK,
    TRANSPARENT,
    integer,
    is_on,
    local_name,
    setting,
    word,
)
from tychora_functions.parse.docx.paragraphs import Paragraph, Revision, read_paragraph

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["CELL", "PARAGRAPH", "ROW", "SEPARATOR", "TABLE", "Row", "Table", "members", "read_row"]

PARAGRAPH, TABLE, ROW, CELL = word("p"), word("tbl"), word("tr"), word("tc")
SEPARATOR = " | "
NO_NAME = re.compile(r"[\W\d_]*")
"""What names no column: blank, or without a letter."""
SPAN_LIMIT = 63
"""The most columns a Word table has."""


@dataclass(slots=True)
class Row:
    """One row. `cells` are the columns' texts: a cell over several columns stands in the first of them, a
    cell over several rows in the first row; the places it covers besides are blank.
    """

    cells: list[str]
    paragraphs: list[tuple[str, Paragraph]]
    """The cells' own paragraphs with their paths."""
    tables: list[tuple[str, Element]]
    is_header: bool
    is_merged: bool
    """Whether any cell covers more than one place."""
    deleted: Revision | None
    inserted: Revision | None

    @property
    def text(self) -> str:
        return SEPARATOR.join(self.cells)


@dataclass(slots=True, frozen=True)
class Table:
    """What the rows of a table share."""

    caption: str
    """As the table's own properties state it; blank if they do not."""
    header: str
    """The text of its header rows, blank if it has none."""
    header_rows: int

    @classmethod
    def of(cls, table: Element, rows: list[Row]) -> Table:
        """Header rows are those so marked at the top; without any, the first row if it reads like one: at
        least two columns and two rows, no cell merged, blank or a bare number; under a blank corner numbers
        will do.
        """
        count = 0
        while count < len(rows) and rows[count].is_header:
            count += 1
        if count == 0 and len(rows) > 1 and _reads_like_header(rows[0]):
            count = 1
        if count == len(rows):
            count = 0
        caption = setting(table.find(word("tblPr")), "tblCaption") or ""
        return cls(caption, "\n".join(row.text for row in rows[:count]), count)


def _reads_like_header(row: Row) -> bool:
    if len(row.cells) < 2 or row.is_merged:
        return False
    if not row.cells[0].strip():
        return all(cell.strip() for cell in row.cells[1:])
    return not any(NO_NAME.fullmatch(cell) for cell in row.cells)


def members(container: Element, path: str, wanted: frozenset[str]) -> Iterator[tuple[str, Element]]:
    """The elements of the wanted tags in a container, with their paths; content controls and the like are
    looked through, and of alternatives only the first counts.
    """
    counts: dict[str, int] = {}
    for child in container:
        name = local_name(child)
        counts[name] = counts.get(name, 0) + 1
        # A document has one body: it needs no number.
        own = name if name == "body" else f"{name}[{counts[name]}]"
        step = f"{path}/{own}" if path else own
        if child.tag in wanted:
            yield step, child
        elif (
            child.tag in TRANSPARENT
            or child.tag == ALTERNATE
            or (child.tag == CHOICE and counts[name] == 1)
            or (child.tag == FALLBACK and "Choice" not in counts)
        ):
            yield from members(child, step, wanted)


def read_row(row: Element, path: str) -> Row:
    """Read a `w:tr`; a cell's paragraphs are joined with `\\n`, tables in it are left to the caller."""
    properties = row.find(word("trPr"))
    result = Row(
        cells=[""] * _span(setting(properties, "gridBefore"), 0),
        paragraphs=[],
        tables=[],
        is_header=is_on(properties, "tblHeader"),
        is_merged=False,
        deleted=_revision(properties, "del"),
        inserted=_revision(properties, "ins"),
    )
    for step, cell in members(row, path, frozenset({CELL})):
        texts = []
        for inner, block in members(cell, step, frozenset({PARAGRAPH, TABLE})):
            if block.tag == TABLE:
                result.tables.append((inner, block))
            else:
                paragraph = read_paragraph(block)
                result.paragraphs.append((inner, paragraph))
                if paragraph.text.strip():
                    texts.append(paragraph.text)
        width = _span(setting(cell.find(word("tcPr")), "gridSpan"), 1)
        result.cells += ["\n".join(texts), *[""] * (width - 1)]
        result.is_merged = result.is_merged or width > 1
    return result


def _span(value: str | None, least: int) -> int:
    return min(max(integer(value, least), least), SPAN_LIMIT)


def _revision(properties: Element | None, name: str) -> Revision | None:
    found = None if properties is None else properties.find(word(name))
    return None if found is None else Revision.of(found)
