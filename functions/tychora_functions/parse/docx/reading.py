"""From the blocks of each part to the units of the document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.blocks import Block, blocks
from tychora_functions.parse.docx.markup import integer, setting, word
from tychora_functions.parse.docx.numbering import Label, Numbering, format_number
from tychora_functions.parse.docx.paragraphs import Paragraph, Revision
from tychora_functions.parse.docx.styles import BODY_TEXT, Styles
from tychora_functions.parse.outline import Outline
from tychora_functions.parse.units import Unit, UnitKind
from tychora_schemas.locator import Locator

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["TRANSFORM", "Place", "Reading"]

TRANSFORM = "docx"
HEADING_LIMIT = 300
"""Characters. A longer text is a paragraph even in a heading's style, as in numbered clauses of contracts."""
NOTE_FORMATS = {"footnote": "decimal", "endnote": "lowerRoman"}
"""How Word numbers notes unless told otherwise."""


@dataclass(slots=True, frozen=True)
class Place:
    """`Unit.place` for the text of one block."""

    part: str
    path: str
    length: int

    def __call__(self, start: int, end: int) -> Locator:
        characters = None if (start, end) == (0, self.length) else (start, end)
        return Locator(part=self.part, path=self.path, characters=characters, transform=TRANSFORM)


class Reading:
    """Turns the parts of one document into `units`, in the order in which they are read: the main part first,
    which tells under which headings the notes and comments of the others are referred to. Blank blocks make
    no unit. Deletions come after everything that is in force in their part.
    """

    def __init__(self, styles: Styles, numbering: Numbering) -> None:
        self.units: list[Unit] = []
        self.title: str | None = None
        """The first paragraph in the style Title, if any."""
        self._struck: list[Unit] = []
        self._styles = styles
        self._numbering = numbering
        self._anchors: dict[tuple[str, str], tuple[str, ...]] = {}
        self._counts = dict.fromkeys(NOTE_FORMATS, 0)
        self._note_numbers: dict[tuple[str, str], str] = {}
        self._caption = ""
        """The last paragraph, if it was a caption: a table that follows is what it names."""

    def read_body(self, root: Element, part: str) -> None:
        """The main part: headings, paragraphs, list items, table rows, figures, and last the deletions."""
        outline = Outline()
        for block in blocks(root):
            if block.kind == "deletion":
                self._strike(block, part, outline.path)
            elif block.kind == "row":
                self._read_row(block, part, outline)
            elif block.kind == "figure":
                self._add("figure", block, part, outline.path)
            else:
                self._read_paragraph(block, part, outline)
        self._end_part()

    def read_notes(self, root: Element, part: str, kind: str) -> None:
        """A part of notes: `kind` is `footnote`, `endnote` or `comment`. Separators between notes are left out."""
        holders = [child for child in root if child.tag == word(kind)]
        for block in blocks(root):
            holder = holders[_first_index(block.path)] if block.path.startswith(f"{kind}[") else None
            if holder is None or holder.get(word("type"), "normal") != "normal":
                continue
            key = (kind, holder.get(word("id"), ""))
            above = self._anchors.get(key, ())
            if block.kind == "deletion":
                self._strike(block, part, above)
                continue
            number = self._note_numbers.get(key, "")
            author, date = holder.get(word("author"), ""), holder.get(word("date"), "")
            self._add("note", block, part, above, _present(number=number, author=author, date=date))
        self._end_part()

    def read_furniture(self, root: Element, part: str) -> None:
        """A page header or footer."""
        for block in blocks(root):
            if block.kind == "deletion":
                self._strike(block, part, ())
            else:
                kind: UnitKind = "table_row" if block.kind == "row" else "paragraph"
                self._add(kind, block, part, (), {"furniture": "true"})
        self._end_part()

    def _read_paragraph(self, block: Block, part: str, outline: Outline) -> None:
        paragraph = block.paragraph
        assert paragraph is not None
        self._refer(paragraph.references, outline)
        label = self._label(paragraph)
        if block.is_blank:
            return
        attributes = _revised(paragraph.inserted)
        if label is not None:
            attributes["bullet" if label.is_bullet else "number"] = label.text
        style = setting(paragraph.properties, "pStyle")
        level = self._level(paragraph.properties, style)
        if block.boxed or level == BODY_TEXT or len(block.text) > HEADING_LIMIT:
            kind: UnitKind = "paragraph" if label is None else "list_item"
            self._add(kind, block, part, outline.path, attributes)
        else:
            text = block.text.strip()
            if self._styles.is_named(style, "title"):
                self.title = self.title or " ".join(text.split())
            shown = f"{label.text} {text}" if label is not None and not label.is_bullet else text
            self._add("heading", block, part, outline.enter(level, shown), attributes, level)
        self._caption = block.text.strip() if self._styles.is_named(style, "caption") else ""

    def _read_row(self, block: Block, part: str, outline: Outline) -> None:
        row = block.row
        assert row is not None
        number = ""
        for index, (_, paragraph) in enumerate(row.paragraphs):
            self._refer(paragraph.references, outline)
            label = self._label(paragraph)
            if index == 0 and label is not None and not label.is_bullet:
                number = label.text
        attributes = _present(header=block.header, caption=block.caption or self._caption, number=number)
        self._add("table_row", block, part, outline.path, attributes | _revised(row.inserted))

    def _label(self, paragraph: Paragraph) -> Label | None:
        """The label, counted; an empty paragraph of a list has one too, a struck one has not."""
        if paragraph.deletions and not paragraph.text.strip():
            return None
        properties = paragraph.properties
        style = setting(properties, "pStyle")
        direct = None if properties is None else properties.find(word("numPr"))
        inherited_number, inherited_depth = self._styles.numbering(style)
        stated = setting(direct, "numId")
        number = stated if stated is not None else inherited_number
        if number in (None, "0"):
            return None
        depth = setting(direct, "ilvl")
        if depth is None and stated is None:
            reserved = self._numbering.depth(number, style)
            depth = str(reserved) if reserved is not None else inherited_depth
        return self._numbering.label(number, integer(depth, 0))

    def _level(self, properties: Element | None, style: str | None) -> int:
        stated = setting(properties, "outlineLvl")
        if stated is not None:
            return min(max(integer(stated, BODY_TEXT - 1), 0), BODY_TEXT - 1) + 1
        return self._styles.level(style)

    def _refer(self, references: list[tuple[str, str]], outline: Outline) -> None:
        for key in references:
            if key in self._anchors:
                continue
            self._anchors[key] = outline.path
            if key[0] in NOTE_FORMATS:
                self._counts[key[0]] += 1
                self._note_numbers[key] = format_number(self._counts[key[0]], NOTE_FORMATS[key[0]])

    def _add(
        self,
        kind: UnitKind,
        block: Block,
        part: str,
        above: tuple[str, ...],
        attributes: dict[str, str] | None = None,
        level: int = 0,
    ) -> None:
        if not block.is_blank:
            self.units.append(_unit(kind, block, part, above, attributes or {}, level))

    def _strike(self, block: Block, part: str, above: tuple[str, ...]) -> None:
        if not block.is_blank:
            attributes = {"revision": "deleted"} | _signed(block.revision)
            self._struck.append(_unit("note", block, part, above, attributes))

    def _end_part(self) -> None:
        self.units += self._struck
        self._struck = []


def _unit(
    kind: UnitKind,
    block: Block,
    part: str,
    above: tuple[str, ...],
    attributes: dict[str, str],
    level: int = 0,
) -> Unit:
    place = Place(part, block.path, len(block.text))
    return Unit(kind, block.text, place, heading_path=above, level=level, attributes=attributes)


def _revised(revision: Revision | None) -> dict[str, str]:
    return {} if revision is None else {"revision": "inserted"} | _signed(revision)


def _signed(revision: Revision | None) -> dict[str, str]:
    return {} if revision is None else _present(author=revision.author, date=revision.date)


def _present(**attributes: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if value}


def _first_index(path: str) -> int:
    return integer(path.partition("[")[2].partition("]")[0], 1) - 1
