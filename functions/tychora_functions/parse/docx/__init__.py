"""Word documents (.docx): headings with their numbers, paragraphs, lists, tables, notes, comments, tracked
changes.

A unit stands at a part and a path in it, such as `word/document.xml` and `body/p[12]`; its text follows the
rules of `paragraphs` and `tables`, which `read_at` applies again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.blocks import text_at
from tychora_functions.parse.docx.markup import local_name
from tychora_functions.parse.docx.numbering import Numbering
from tychora_functions.parse.docx.package import Package
from tychora_functions.parse.docx.properties import language, title
from tychora_functions.parse.docx.reading import Reading
from tychora_functions.parse.docx.styles import Styles
from tychora_functions.parse.units import Document
from tychora_schemas.errors import MalformedContent, NotFound, UnsupportedContent
from tychora_schemas.locator import Locator

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["parse", "read_at"]

NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
"""Kind of relation → what its part is made of."""
FURNITURE = ("header", "footer")
TOO_DEEP = "elements are nested too deeply"
SAVE_AGAIN = "open the file with Word, check it, and save it again"


def parse(data: bytes, name: str) -> Document:
    """Read a .docx file (also .docm, .dotx). Units come in the order of the body; after it footnotes,
    endnotes, comments, page headers and footers. Tracked insertions are text like any other; deletions are
    units of their own, marked with `revision`, after all that is in force in their part.

    Raises `UnsupportedContent` for encrypted and pre-2007 files, `MalformedContent` for what is no such file
    or breaks the limits of `package`. Side parts that cannot be read are left out with a warning.
    """
    try:
        return _parse(Package(data))
    except RecursionError as error:
        raise MalformedContent(f"{name}: {TOO_DEEP}", next_step=SAVE_AGAIN) from error


def read_at(data: bytes, locator: Locator) -> str:
    """The text at a locator that `parse` gave, or at a run of units of one part (`first..last`) joined with
    `\\n`.

    Raises `NotFound` if the file has no such place, and what `parse` raises.
    """
    package = Package(data)
    part = locator.part or package.main_part()
    if part not in package or locator.path is None:
        raise NotFound(f"no {part} here", next_step="check that the file is the one that was cited")
    try:
        text = text_at(package.tree(part), locator.path)
    except RecursionError as error:
        raise MalformedContent(f"{part}: {TOO_DEEP}", next_step=SAVE_AGAIN) from error
    start, end = locator.characters or (0, len(text))
    return text[start:end]


def _parse(package: Package) -> Document:
    main = package.main_part()
    body = package.tree(main)
    if local_name(body) != "document":
        raise MalformedContent(f"{main} is no Word document", next_step=SAVE_AGAIN)
    sides = _Sides(package, main)
    styles = Styles(sides.first("styles"))
    reading = Reading(styles, Numbering(sides.first("numbering"), styles))
    reading.read_body(body, main)
    for relation, kind in NOTES.items():
        for part, root in sides.all(relation):
            reading.read_notes(root, part, kind)
    for relation in FURNITURE:
        for part, root in sides.all(relation):
            reading.read_furniture(root, part)
    core = next((root for _, root in _Sides(package, "").all("core-properties")), None)
    return Document(
        kind="document",
        units=reading.units,
        title=title(core) or reading.title,
        language=language(core),
        warnings=sides.warnings,
    )


class _Sides:
    """The parts beside one part, and what went wrong with them."""

    def __init__(self, package: Package, part: str) -> None:
        self.warnings: list[str] = []
        self._package = package
        self._part = part

    def all(self, relation: str) -> Iterator[tuple[str, Element]]:
        """Each readable part in this relation, with its name."""
        for part in self._package.related(self._part, relation):
            try:
                yield part, self._package.tree(part)
            except (MalformedContent, UnsupportedContent) as error:
                self.warnings.append(f"left out: {error.message}")

    def first(self, relation: str) -> Element | None:
        """The readable part in this relation, if there is one."""
        return next((root for _, root in self.all(relation)), None)
