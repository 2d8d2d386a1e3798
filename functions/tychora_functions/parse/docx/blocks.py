"""The walk over a part: what stands in it, in order, each block with the path that leads back to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from tychora_functions.parse.docx.markup import local_name, word
from tychora_functions.parse.docx.paragraphs import Paragraph, Revision, alternative, read_paragraph
from tychora_functions.parse.docx.tables import CELL, PARAGRAPH, ROW, TABLE, Row, Table, members, read_row
from tychora_schemas.errors import NotFound

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["RANGE", "Block", "blocks", "text_at"]

Item = TypeVar("Item")

RANGE = ".."
"""Stands between the first and the last path of a run of blocks."""
STEP = re.compile(r"(/{0,2})([A-Za-z]+)(?:\[(\d{1,9})\])?")
BLOCKS = frozenset({PARAGRAPH, TABLE})
CONTAINERS = frozenset(word(name) for name in ("body", "footnote", "endnote", "comment"))


@dataclass(slots=True)
class Block:
    """One piece of a part's text, and where it stands.

    Paths are steps `name[n]`, 1-based among siblings of that name, from below the part's root element. After
    `//` come what hangs on a paragraph: `//del[n]` its deletions, `//docPr[n]` its described drawings,
    `//txbxContent[n]` its text boxes.
    """

    path: str
    kind: Literal["paragraph", "row", "figure", "deletion"]
    text: str
    paragraph: Paragraph | None = None
    row: Row | None = None
    header: str = ""
    """The text of the header rows above this row."""
    caption: str = ""
    """The caption that a row's table states."""
    revision: Revision | None = None
    """Of a deletion."""
    boxed: bool = False
    """Whether it stands in a text box, outside of the text's flow."""

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing: such blocks make no unit."""
        return not (any(cell.strip() for cell in self.row.cells) if self.row else self.text.strip())


def blocks(root: Element) -> Iterator[Block]:
    """All blocks of a part as they stand, blank ones included, each deletion after the paragraph it was
    struck from.
    """
    return _walk(root, "")


def text_at(root: Element, path: str) -> str:
    """The text of the block at `path`, or of a run of blocks `first..last` joined with `\\n`, blank ones left
    out.

    A run goes over what is in force and then over the deletions, as the document's units do. `NotFound` if
    the path does not lead to text in this part.
    """
    first, is_range, last = path.partition(RANGE)
    if not is_range:
        return _resolve(root, path)
    # What is between a text and a deletion goes over the end of the part.
    whole = _is_struck(first) != _is_struck(last)
    walk = blocks(root) if whole else _walk(root, "", first=first, last=last)
    # A stable sort: each kind keeps its order.
    found = sorted(walk, key=lambda block: block.kind == "deletion")
    paths = {block.path: index for index, block in enumerate(found)}
    if first not in paths or last not in paths:
        raise _lost(path)
    run = found[paths[first] : paths[last] + 1]
    return "\n".join(block.text for block in run if not block.is_blank)


def _walk(
    container: Element, path: str, boxed: bool = False, first: str | None = None, last: str | None = None
) -> Iterator[Block]:
    """The blocks of a container, from the member that `first` leads to up to the one that `last` leads to."""
    for step, element in members(container, path, BLOCKS if path else BLOCKS | CONTAINERS):
        begin = first if first is not None and _leads(step, first) else None
        if first is not None and begin is None:
            continue
        first = None
        end = last if last is not None and _leads(step, last) else None
        if element.tag == TABLE:
            yield from _walk_table(element, step, boxed)
        elif element.tag == PARAGRAPH:
            # A file can hold millions of these at no cost to who wrote it.
            if len(element) == 0:
                continue
            paragraph = read_paragraph(element)
            yield Block(step, "paragraph", paragraph.text, paragraph=paragraph, boxed=boxed)
            yield from _attached(paragraph, step)
        else:
            yield from _walk(element, step, boxed, begin, end)
        if end is not None:
            return


def _leads(step: str, path: str) -> bool:
    return path == step or path.startswith(f"{step}/")


def _is_struck(path: str) -> bool:
    return "//del[" in path


def _walk_table(table: Element, path: str, boxed: bool) -> Iterator[Block]:
    rows = [(step, row) for step, row in members(table, path, frozenset({ROW})) if len(row)]
    if len(rows) == 1:
        cells = list(members(rows[0][1], rows[0][0], frozenset({CELL})))
        if len(cells) == 1:
            # A frame around ordinary text, not a table.
            yield from _walk(cells[0][1], cells[0][0], boxed)
            return
    read = [read_row(element, step) for step, element in rows]
    shared = Table.of(table, read)
    for index, ((step, _), row) in enumerate(zip(rows, read, strict=True)):
        yield Block(
            step,
            "deletion" if row.deleted else "row",
            row.text,
            row=row,
            header=shared.header if index >= shared.header_rows else "",
            caption=shared.caption,
            revision=row.deleted,
            boxed=boxed,
        )
        for inner, paragraph in row.paragraphs:
            yield from _attached(paragraph, inner)
        for inner, nested in row.tables:
            yield from _walk_table(nested, inner, boxed)


def _attached(paragraph: Paragraph, path: str) -> Iterator[Block]:
    for index, figure in enumerate(paragraph.figures, 1):
        yield Block(f"{path}//docPr[{index}]", "figure", alternative(figure))
    for index, box in enumerate(paragraph.boxes, 1):
        yield from _walk(box, f"{path}//txbxContent[{index}]", boxed=True)
    for index, deletion in enumerate(paragraph.deletions, 1):
        yield Block(f"{path}//del[{index}]", "deletion", deletion.text, revision=deletion.revision)


def _resolve(root: Element, path: str) -> str:
    element = root
    end = 0
    for match in STEP.finditer(path):
        slashes, name, index = match[1], match[2], int(match[3] or 1)
        if match.start() != end or bool(slashes) != bool(end):
            raise _lost(path)
        end = match.end()
        if slashes != "//":
            element = _nth([child for child in element if local_name(child) == name], index, path)
            continue
        paragraph = read_paragraph(element)
        if name == "del":
            text = _nth([deletion.text for deletion in paragraph.deletions], index, path)
        elif name == "docPr":
            text = alternative(_nth(paragraph.figures, index, path))
        else:
            element = _nth(paragraph.boxes if name == "txbxContent" else [], index, path)
            continue
        if end != len(path):
            raise _lost(path)
        return text
    if end != len(path) or element.tag not in (PARAGRAPH, ROW):
        raise _lost(path)
    return read_paragraph(element).text if element.tag == PARAGRAPH else read_row(element, "").text


def _nth(items: list[Item], index: int, path: str) -> Item:
    if not 1 <= index <= len(items):
        raise _lost(path)
    return items[index - 1]


def _lost(path: str) -> NotFound:
    return NotFound(f"nothing stands at {path}", next_step="check that the file is the one that was cited")
