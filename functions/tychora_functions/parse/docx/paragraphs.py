"""What one paragraph says: its current text, what was struck from it, and what hangs on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.equations import linearise
from tychora_functions.parse.docx.markup import ALTERNATE, CHOICE, FALLBACK, MATH, local_name, word
from tychora_functions.parse.docx.symbols import symbol

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["Deletion", "Paragraph", "Revision", "alternative", "read_paragraph"]

CHARACTERS = {
    word("tab"): "\t",
    word("ptab"): "\t",
    word("br"): "\n",
    word("cr"): "\n",
    word("noBreakHyphen"): "\u2011",
    word("softHyphen"): "\u00ad",
}
TEXTS = frozenset({word("t"), word("delText")})
REMOVED = frozenset({word("del"), word("moveFrom")})
ADDED = frozenset({word("ins"), word("moveTo")})
REFERENCES = {word(f"{kind}Reference"): kind for kind in ("footnote", "endnote", "comment")}
SILENT = frozenset(
    word(name) for name in ("pPr", "rPr", "sdtPr", "sdtEndPr", "instrText", "delInstrText", "rt", "rubyPr", "fldData")
)
EQUATIONS = frozenset({f"{{{MATH}}}oMath", f"{{{MATH}}}oMathPara"})
BOX = word("txbxContent")


@dataclass(slots=True, frozen=True)
class Revision:
    """Who changed it and when (ISO 8601, as stored); blank where the file does not say."""

    author: str
    date: str

    @classmethod
    def of(cls, element: Element) -> Revision:
        """The revision that a tracked-change element states."""
        return cls(element.get(word("author"), ""), element.get(word("date"), ""))


@dataclass(slots=True)
class Deletion:
    """A run of text that one author struck (or moved away), uninterrupted by current text."""

    text: str
    revision: Revision


@dataclass(slots=True)
class Paragraph:
    """A paragraph as it now reads, with tracked insertions accepted and deletions taken out."""

    text: str
    deletions: list[Deletion]
    properties: Element | None = None
    """Its `pPr`."""
    figures: list[Element] = field(default_factory=list)
    """Drawings' property elements (`docPr`) that carry an alternative text."""
    boxes: list[Element] = field(default_factory=list)
    """Contents of text boxes anchored here."""
    references: list[tuple[str, str]] = field(default_factory=list)
    """Notes and comments referred to, in order: (`footnote` | `endnote` | `comment`, its id)."""
    inserted: Revision | None = None
    """Set where the whole text is a tracked insertion."""


def read_paragraph(paragraph: Element) -> Paragraph:
    """Read a `w:p` by these rules, which define the text that locators count in:

    tabs are `\\t`, breaks `\\n`, special hyphens and symbols their characters; of fields the result counts,
    not the instruction; of alternatives the first; equations are linearised; text boxes are not part of the
    paragraph.
    """
    return _Reader().read(paragraph)


def alternative(figure: Element) -> str:
    """The alternative text of a drawing, or blank."""
    return figure.get("descr") or figure.get("title") or ""


class _Reader:
    def __init__(self) -> None:
        self._current: list[str] = []
        self._fields: list[int] = []
        """For each open field the length of `_current` where its instruction began."""
        self._struck: list[tuple[Revision, list[str]]] = []
        self._open_deletion = False
        self._insertion: Revision | None = None
        self._plain = False
        self._result = Paragraph("", [])

    def read(self, paragraph: Element) -> Paragraph:
        for child in paragraph:
            self._visit(child, None, None)
        result = self._result
        result.properties = paragraph.find(word("pPr"))
        result.text = "".join(self._current)
        deletions = [Deletion("".join(pieces), revision) for revision, pieces in self._struck]
        result.deletions = [deletion for deletion in deletions if deletion.text.strip()]
        if result.text.strip() and not self._plain:
            result.inserted = self._insertion
        return result

    def _visit(self, element: Element, removed: Revision | None, added: Revision | None) -> None:
        tag = element.tag
        if tag in TEXTS:
            self._say(element.text or "", removed, added)
        elif tag in CHARACTERS:
            self._say(CHARACTERS[tag], removed, added)
        elif tag in SILENT:
            return
        elif tag in REMOVED:
            revision = Revision.of(element)
            for child in element:
                self._visit(child, revision, None)
        elif tag in ADDED:
            revision = Revision.of(element)
            for child in element:
                self._visit(child, removed, revision)
        elif tag in REFERENCES:
            if removed is None:
                self._result.references.append((REFERENCES[tag], element.get(word("id"), "")))
        elif tag in EQUATIONS:
            self._say(linearise(element), removed, added)
        elif tag == BOX:
            if removed is None:
                self._result.boxes.append(element)
        elif tag == ALTERNATE:
            self._visit_alternatives(element, removed, added)
        else:
            self._visit_other(element, removed, added)

    def _visit_other(self, element: Element, removed: Revision | None, added: Revision | None) -> None:
        kind = local_name(element)
        if kind == "fldChar" and removed is None:
            self._turn_field(element.get(word("fldCharType"), ""))
        elif kind == "sym":
            code = element.get(word("char"), "")
            if 0 < len(code) <= 5 and all(digit in "0123456789abcdefABCDEF" for digit in code):
                self._say(symbol(chr(int(code, 16)), element.get(word("font"), "")), removed, added)
        elif kind == "docPr" and removed is None and alternative(element).strip():
            self._result.figures.append(element)
        for child in element:
            self._visit(child, removed, added)

    def _visit_alternatives(self, element: Element, removed: Revision | None, added: Revision | None) -> None:
        chosen = element.find(CHOICE)
        if chosen is None:
            chosen = element.find(FALLBACK)
        for child in () if chosen is None else chosen:
            self._visit(child, removed, added)

    def _say(self, text: str, removed: Revision | None, added: Revision | None) -> None:
        if not text:
            return
        if removed is None:
            self._current.append(text)
            self._open_deletion = False
            if added is None and text.strip():
                self._plain = True
            self._insertion = self._insertion or added
            return
        if self._open_deletion and self._struck[-1][0].author == removed.author:
            self._struck[-1][1].append(text)
        else:
            self._struck.append((removed, [text]))
            self._open_deletion = True

    def _turn_field(self, kind: str) -> None:
        """At the end of a field's instruction, drop what was read in it: results of fields nested there."""
        if kind == "begin":
            self._fields.append(len(self._current))
        elif self._fields and kind == "separate":
            del self._current[self._fields[-1] :]
            self._fields[-1] = -1
        elif self._fields and kind == "end":
            start = self._fields.pop()
            if start >= 0:
                del self._current[start:]
