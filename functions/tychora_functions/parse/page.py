"""A page followed tag by tag: the runs of text that a browser shows, each with its place in the structure."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from tychora_functions.parse.elements import BLOCKS, CLOSED_BY, HEADINGS, UNSEEN, kind_of, marks
from tychora_functions.parse.passage import Passage
from tychora_functions.parse.spans import Cell, Columns
from tychora_functions.parse.units import UnitKind

__all__ = ["Found", "Page"]

_DEEPEST = 400
"""Elements nested deeper get no place of their own in a path; browsers stop near 512 too."""

_LONGEST_ROW = 2000
_TITLE = "title"


@dataclass(slots=True)
class Found:
    """A unit to be: the passage that holds its text from `offset` on."""

    kind: UnitKind
    text: str
    path: str
    passage: Passage
    offset: int
    level: int
    attributes: dict[str, str]


@dataclass(slots=True)
class _Frame:
    """An open block element."""

    tag: str
    path: str
    kind: UnitKind = "paragraph"
    attributes: dict[str, str] = field(default_factory=dict)
    preformatted: bool = False
    children: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    """How many units were made of text directly in this element."""

    def child_path(self, tag: str) -> str:
        self.children[tag] = self.children.get(tag, 0) + 1
        return f"{self.path}/{tag}[{self.children[tag]}]"

    def run_path(self) -> str:
        self.runs += 1
        return self.path if self.runs == 1 else f"{self.path}/text()[{self.runs}]"


class Page(HTMLParser):
    """Follows the tags and leaves in `found` the units of the page in reading order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[Found] = []
        self.title = ""
        self.language: str | None = None
        self._text = text
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._last_tag_end = text.rfind(">")
        self._frames = [_Frame("body", "body")]
        self._deeper: dict[str, int] = {}
        self._unseen: tuple[str, int] | None = None
        self._in_title = False
        self._passage = Passage()
        self._figures: list[Found] = []
        self._sinks: list[list[Found]] = [self.found]
        self._rows: list[list[Cell[Found]]] = []
        self._columns: list[Columns] = []
        self._term = ""

    def read(self) -> None:
        """Read the whole page."""
        self.feed(self._text + "\n")
        self.close()
        self._close_to(1)
        self._flush()

    # Tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen is not None and self._unseen[0] != _TITLE:
            if tag == self._unseen[0]:
                self._unseen = (tag, self._unseen[1] + 1)
            return
        self._unseen = None  # a title holds no elements: this one was never closed
        attributes = {name: value or "" for name, value in attrs}
        if tag in UNSEEN or tag == _TITLE:
            self._unseen = (tag, 1)
            self._in_title = tag == _TITLE and not self.title
        elif tag == "html":
            self.language = attributes.get("lang", "").split("-")[0].lower() or None
        elif tag == "br":
            self._passage.add("\n", self._offset, self._offset + len(self._tag_source()), literal=False)
        elif tag == "img":
            self._figure(attributes.get("alt", ""))
        elif tag in BLOCKS:
            self._open(tag, attributes)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in UNSEEN:  # of use in XHTML only, where such an element has no content
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen is not None:
            name, depth = self._unseen
            if tag == name:
                self._unseen = (name, depth - 1) if depth > 1 else None
            return
        if tag not in BLOCKS:
            return
        self._flush()
        if self._deeper.get(tag):
            self._deeper[tag] -= 1
            return
        barrier = {"table"} if tag in ("td", "th", "tr", "thead", "tbody", "tfoot", "caption") else {"td", "th"}
        if tag == "table":
            barrier = set()
        for index in range(len(self._frames) - 1, 0, -1):
            if self._frames[index].tag == tag:
                self._close_to(index)
                return
            if self._frames[index].tag in barrier:
                return

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        self._flush()
        if self._frames[-1].tag == "p":
            self._close_to(len(self._frames) - 1)
        self._close_implied(tag)
        if tag == "hr":
            return
        if tag in ("td", "th") and self._frames[-1].tag in ("table", "thead", "tbody", "tfoot"):
            self._open("tr", {})
        if len(self._frames) >= _DEEPEST:
            self._deeper[tag] = self._deeper.get(tag, 0) + 1
            return
        above = self._frames[-1]
        kind = kind_of(tag, above.kind)
        frame = _Frame(tag, above.child_path(tag), kind, {**above.attributes, **marks(tag, attributes)})
        frame.preformatted = above.preformatted or tag == "pre"
        self._frames.append(frame)
        if tag == "table":
            self._columns.append(Columns())
        elif tag == "tr" and self._columns:
            frame.runs = 1  # the element's own path is the row's
            self._rows.append([])
        elif tag in ("td", "th") and above.tag == "tr" and self._columns:
            cell: Cell[Found] = Cell(tag == "th", attributes.get("colspan", ""), attributes.get("rowspan", ""))
            self._rows[-1].append(cell)
            self._sinks.append(cell.content)

    def _close_implied(self, tag: str) -> None:
        closed, barrier = CLOSED_BY.get(tag, (frozenset(), frozenset()))
        outermost = None
        for index in range(len(self._frames) - 1, 0, -1) if closed else ():
            if self._frames[index].tag in closed:
                outermost = index
            elif self._frames[index].tag in barrier:
                break
        if outermost is not None:
            self._close_to(outermost)

    def _close_to(self, index: int) -> None:
        while len(self._frames) > index:
            self._flush()
            frame = self._frames.pop()
            if frame.tag == "table":
                self._columns.pop()
            elif frame.tag in ("td", "th") and self._frames[-1].tag == "tr" and self._columns:
                self._sinks.pop()
            elif frame.tag == "tr" and self._columns:
                self._end_row(frame, self._rows.pop(), in_head=self._frames[-1].tag == "thead")

    # Text

    def handle_data(self, data: str) -> None:
        if self._unseen is not None:
            self.title += data if self._in_title else ""
        elif self._frames[-1].preformatted:
            self._passage.add(data, self._offset, self._offset + len(data), literal=True)
        else:
            self._passage.flow(data, self._offset)

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name}")

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name}")

    def _reference(self, source: str) -> None:
        if self._text.startswith(";", self._offset + len(source)):
            source += ";"
        decoded = html.unescape(source)
        if self._unseen is not None:
            self.title += decoded if self._in_title else ""
        else:
            start = self._offset
            self._passage.add(decoded, start, start + len(source), literal=decoded == source)

    def _figure(self, alternative: str) -> None:
        text = " ".join(alternative.split())
        path = self._frames[-1].child_path("img")
        if text:
            start, source = self._offset, self._tag_source()
            at = source.find(text)
            passage = Passage()
            if at >= 0:
                passage.add(text, start + at, start + at + len(text), literal=True)
            else:
                passage.add(text, start, start + len(source), literal=False)
            attributes = dict(self._frames[-1].attributes)
            self._figures.append(Found("figure", text, path, passage, 0, 0, attributes))

    def _flush(self) -> None:
        """End the run of text, and put down the unit that it makes."""
        frame, passage, whole = self._frames[-1], self._passage, self._passage.text
        text = whole.strip("\r\n").rstrip() if frame.preformatted else whole.strip()
        if text.strip():
            found = Found(
                frame.kind,
                text,
                frame.run_path(),
                passage,
                whole.index(text),
                HEADINGS.get(frame.tag, 0) if frame.kind == "heading" else 0,
                dict(frame.attributes),
            )
            if frame.tag == "dt":
                self._term = text
            elif frame.tag == "dd" and self._term:
                found.attributes["term"] = self._term
            elif frame.tag == "caption" and self._columns:
                self._columns[-1].caption = text
            self._sinks[-1].append(found)
        if passage.touched:
            self._passage = Passage()
        self._sinks[-1].extend(self._figures)
        self._figures = []

    def _end_row(self, frame: _Frame, cells: list[Cell[Found]], *, in_head: bool) -> None:
        """Put down one unit for the row, or what stands in its cells where the table only serves the layout."""
        columns = self._columns[-1]
        content = [found for cell in cells for found in cell.content]
        shown = [" ".join(part.text for part in cell.content if part.kind != "figure") for cell in cells]
        attributes = {**frame.attributes, **columns.add_row(cells, shown, in_head=in_head)}
        if _is_layout(cells, content):
            self._sinks[-1].extend(content)
            return
        passage = Passage()
        for index, cell in enumerate(cells):
            parts = [found for found in cell.content if found.kind != "figure"]
            if index and (parts or columns.named) and (passage.touched or columns.named):
                passage.join(Passage(), " | ")
            for number, found in enumerate(parts):
                passage.join(found.passage, " " if number else "")
        text = passage.text.strip()
        if any(part.strip() for part in shown):
            offset = passage.text.index(text)
            self._sinks[-1].append(Found("table_row", text, frame.path, passage, offset, 0, attributes))
        self._sinks[-1].extend(found for found in content if found.kind == "figure")

    # Where the parser stands

    @property
    def _offset(self) -> int:
        line, column = self.getpos()
        return self._line_starts[line - 1] + column

    def _tag_source(self) -> str:
        return self.get_starttag_text() or ""

    # What ends only with the file. The base class looks for the end again at every `<`.

    def parse_starttag(self, i: int) -> int:
        if self._offset > self._last_tag_end:
            self.handle_data(self.rawdata[i:-1])
            return len(self.rawdata)
        return super().parse_starttag(i)

    def parse_endtag(self, i: int) -> int:
        return self._past(">", i) if self._offset > self._last_tag_end else super().parse_endtag(i)

    def parse_comment(self, i: int, report: bool = True) -> int:
        return self._past("-->", i + 2)

    def parse_pi(self, i: int) -> int:
        return self._past(">", i)

    def parse_html_declaration(self, i: int) -> int:
        return self._past(">", i)

    def parse_bogus_comment(self, i: int, report: bool = True) -> int:
        return self._past(">", i)

    def _past(self, end: str, start: int) -> int:
        found = self.rawdata.find(end, start)
        return len(self.rawdata) if found < 0 else found + len(end)


def _is_layout(cells: list[Cell[Found]], content: list[Found]) -> bool:
    """Whether a row holds document structure instead of values."""
    structured = any(found.kind in ("heading", "table_row", "code") for found in content)
    alone = len(cells) == 1 and len(content) > 1
    return structured or alone or sum(len(found.text) for found in content) > _LONGEST_ROW
