"""HTML: the text that a browser shows, each unit with its structural path and, where it is literal, its bytes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser

from tychora_schemas.errors import NotFound
from tychora_schemas.locator import Locator

from . import textmap
from .decode import decode
from .outline import Outline
from .passage import Passage
from .spans import Cell, Columns
from .textmap import TextMap
from .units import Document, Unit, UnitKind

__all__ = ["parse", "read_at"]

_DEEPEST = 400
"""Elements nested deeper get no place of their own in a path; browsers stop near 512 too."""

_LONGEST_ROW = 2000
_TITLE = "title"
_UNSEEN = frozenset("script style template noscript iframe object datalist".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_KINDS: dict[str, UnitKind] = {
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys(("li", "dt", "dd"), "list_item"),
    "pre": "code",
    "figcaption": "figure",
}
_OWN_KIND = frozenset("p blockquote td th caption section article main nav aside footer table".split())
"""Blocks whose text is a paragraph even inside a list item; others take the kind of what they stand in."""

_BLOCKS = frozenset(
    "address article aside blockquote caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol option p pre search section summary "
    "table tbody td tfoot th thead tr ul".split()
)
_CLOSED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir", "table", "td", "th"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl", "table", "td", "th"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl", "table", "td", "th"})),
    "option": (frozenset({"option"}), frozenset({"table", "td", "th"})),
    "td": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "th": (frozenset({"td", "th", "caption"}), frozenset({"tr", "table"})),
    "tr": (frozenset({"tr", "caption"}), frozenset({"table"})),
    **dict.fromkeys(
        ("thead", "tbody", "tfoot"),
        (frozenset({"thead", "tbody", "tfoot", "tr", "caption"}), frozenset({"table"})),
    ),
}
"""Which open elements a start tag ends, and the elements that it cannot reach through."""

_FURNITURE = frozenset({"nav", "footer", "aside"})
_FURNITURE_ROLES = frozenset({"navigation", "contentinfo", "complementary", "search"})
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def parse(data: bytes, name: str) -> Document:
    """What a browser shows of a page: headings, paragraphs, list items, table rows, code, alternative texts.

    Scripts and styles are left out, entities decoded, blanks collapsed outside `pre`. What is navigation is marked
    `furniture`, what the page hides `hidden`. A table row knows its `header` cell by cell (` | ` between them, spans
    respected) and in `spanned` what reaches into it from above. Raises what `decode` raises; no HTML is invalid.
    """
    decoded = decode(data)
    text_map = TextMap(decoded)
    reader = _Reader(text_map.text)
    reader.read()
    outline = Outline()
    units = []
    title = " ".join(reader.title.split()) or None
    for found in reader.found:
        above = outline.path
        if found.kind == "heading" and "furniture" not in found.attributes:
            above = outline.enter(found.level, found.text)
            title = title or (found.text if found.level == 1 else None)
        place = _place(text_map, found)
        units.append(Unit(found.kind, found.text, place, above, found.level, "\n", found.attributes))
    return Document("document", units, title, reader.language, list(decoded.warnings))


def read_at(data: bytes, locator: Locator) -> str:
    """The visible text at a locator, read again from the page. Raises NotFound where its path does not lead."""
    if locator.bytes is not None:
        return textmap.read_at(data, locator)
    text = _texts(data).get(locator.path or "")
    if text is None:
        raise NotFound(
            f"The page has no text at {locator.path}.",
            next_step="Check that the locator belongs to this revision of the file.",
        )
    start, end = locator.characters or (0, len(text))
    return text[start:end]


@lru_cache(maxsize=2)
def _texts(data: bytes) -> dict[str, str]:
    """Text by path: the citations of a page are read one after another, parsing it once is enough."""
    reader = _Reader(decode(data).text)
    reader.read()
    return {found.path: found.text for found in reader.found}


@dataclass(slots=True)
class _Found:
    """A unit to be: the passage that holds its text from `offset` on."""

    kind: UnitKind
    text: str
    path: str
    passage: Passage
    offset: int
    level: int
    attributes: dict[str, str]


def _place(text_map: TextMap, found: _Found) -> Callable[[int, int], Locator]:
    def locate(start: int, end: int) -> Locator:
        first, last = found.passage.source(found.offset + start, found.offset + end)
        source = text_map.locator(first, last)
        literal = source.bytes is not None and text_map.text[first:last] == found.text[start:end]
        return Locator(
            lines=source.lines,
            bytes=source.bytes if literal else None,
            encoding=source.encoding if literal else None,
            path=found.path,
            characters=None if (start, end) == (0, len(found.text)) else (start, end),
            transform=None if literal else "html",
        )

    return locate


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


class _Reader(HTMLParser):
    """Follows the tags and leaves in `found` the units of the page in reading order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[_Found] = []
        self.title = ""
        self.language: str | None = None
        self._text = text
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._last_tag_end = text.rfind(">")
        self._frames = [_Frame("body", "body")]
        self._deeper: dict[str, int] = {}
        self._unseen: tuple[str, int] | None = None
        self._passage = Passage()
        self._figures: list[_Found] = []
        self._sinks: list[list[_Found]] = [self.found]
        self._rows: list[list[Cell[_Found]]] = []
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
        if tag in _UNSEEN or tag == _TITLE:
            self._unseen = (tag, 1)
        elif tag == "html":
            self.language = attributes.get("lang", "").split("-")[0].lower() or None
        elif tag == "br":
            self._passage.add("\n", self._offset, self._offset + len(self._tag_source()), literal=False)
        elif tag == "img":
            self._figure(attributes.get("alt", ""))
        elif tag in _BLOCKS:
            self._open(tag, attributes)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _UNSEEN:  # of use in XHTML only, where such an element has no content
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen is not None:
            name, depth = self._unseen
            if tag == name:
                self._unseen = (name, depth - 1) if depth > 1 else None
            return
        if tag not in _BLOCKS:
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
        kind = _KINDS.get(tag) or ("paragraph" if tag in _OWN_KIND and above.kind != "list_item" else above.kind)
        frame = _Frame(tag, above.child_path(tag), kind, {**above.attributes, **_marks(tag, attributes)})
        frame.preformatted = above.preformatted or tag == "pre"
        self._frames.append(frame)
        if tag == "table":
            self._columns.append(Columns())
        elif tag == "tr" and self._columns:
            frame.runs = 1  # the element's own path is the row's
            self._rows.append([])
        elif tag in ("td", "th") and above.tag == "tr" and self._columns:
            cell: Cell[_Found] = Cell(tag == "th", attributes.get("colspan", ""), attributes.get("rowspan", ""))
            self._rows[-1].append(cell)
            self._sinks.append(cell.content)

    def _close_implied(self, tag: str) -> None:
        closed, barrier = _CLOSED_BY.get(tag, (frozenset(), frozenset()))
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
            if self._unseen[0] == _TITLE and not self.title:
                self.title = data
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
            self.title += decoded if self._unseen[0] == _TITLE else ""
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
            self._figures.append(_Found("figure", text, path, passage, 0, 0, attributes))

    def _flush(self) -> None:
        """End the run of text, and put down the unit that it makes."""
        frame, passage, whole = self._frames[-1], self._passage, self._passage.text
        text = whole.strip("\r\n").rstrip() if frame.preformatted else whole.strip()
        if text.strip():
            found = _Found(
                frame.kind,
                text,
                frame.run_path(),
                passage,
                whole.index(text),
                _HEADINGS.get(frame.tag, 0) if frame.kind == "heading" else 0,
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

    def _end_row(self, frame: _Frame, cells: list[Cell[_Found]], *, in_head: bool) -> None:
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
            self._sinks[-1].append(_Found("table_row", text, frame.path, passage, offset, 0, attributes))
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


def _marks(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    marks = {}
    if tag in _FURNITURE or attributes.get("role") in _FURNITURE_ROLES:
        marks["furniture"] = "true"
    if "hidden" in attributes or _INVISIBLE.search(attributes.get("style", "")):
        marks["hidden"] = "true"
    return marks


def _is_layout(cells: list[Cell[_Found]], content: list[_Found]) -> bool:
    """Whether a row holds document structure instead of values."""
    structured = any(found.kind in ("heading", "table_row", "code") for found in content)
    alone = len(cells) == 1 and len(content) > 1
    return structured or alone or sum(len(found.text) for found in content) > _LONGEST_ROW
