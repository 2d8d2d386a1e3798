"""Plain text: paragraphs between blank lines, and headings only where there is no doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tychora_functions.parse.decode import decode
from tychora_functions.parse.outline import Outline
from tychora_functions.parse.textmap import TextMap, Tiler, read_at, split
from tychora_functions.parse.units import Document, Unit

__all__ = ["parse", "read_at"]

_PAGE_FOOT = re.compile(r"\S.*\[Page \d+\]")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:._])\1{2,}")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.? {1,4}(?=[^\W\d_])(\S.{0,90})")

Lines = list[tuple[int, int]]
"""Character ranges of adjacent lines, line ends included."""


def parse(data: bytes, name: str) -> Document:
    """The paragraphs of a text file, a long one divided into units of at most 2,000 characters at its line ends.

    A form feed is a page break and counts as blank. A heading is a line underlined over its whole length, as in
    reStructuredText, or a numbered line at the margin over indented text, as in an RFC. Running feet and heads of
    pages are kept, marked `furniture`. Raises what `decode` raises.
    """
    decoded = decode(data)
    document = Document("document", [], warnings=list(decoded.warnings))
    text_map = TextMap(decoded)
    tiler, outline, styles = Tiler(text_map), Outline(), _Styles()
    text = text_map.text
    blocks = list(_blocks(text_map))
    running_heads = _running_heads(text, blocks)
    for index, block in enumerate(blocks):
        start, end = block[0][0], block[-1][1]
        following = text[blocks[index + 1][0][0]] if index + 1 < len(blocks) else ""
        if index in running_heads:
            tiler.add("paragraph", start, end, heading_path=outline.path, attributes={"furniture": "true"})
        elif (heading := _underlined(text, block, styles)) is not None:
            level, title, size = heading
            above = outline.enter(level, title)
            tiler.add("heading", start, block[size - 1][1], heading_path=above, level=level)
            _add_paragraph(tiler, text, block[size:], outline)
        elif (numbered := _numbered(text, block, following)) is not None:
            level, title = numbered
            tiler.add("heading", start, end, heading_path=outline.enter(level, title), level=level)
        else:
            _add_paragraph(tiler, text, block, outline)
    document.units = tiler.units
    document.title = _title(document.units)
    return document


def _title(units: list[Unit]) -> str | None:
    """The underlined heading that opens the file, if no other stands as high."""
    if not units or sum(unit.level == 1 for unit in units) != 1 or units[0].level != 1:
        return None
    return next(line.strip() for line in units[0].text.splitlines() if not _UNDERLINE.fullmatch(line.rstrip()))


def _add_paragraph(tiler: Tiler, text: str, lines: Lines, outline: Outline) -> None:
    if lines:
        for start, end in split(text, lines[0][0], lines[-1][1]):
            tiler.add("paragraph", start, end, heading_path=outline.path, keep_indent=len(lines) > 1)


def _blocks(text_map: TextMap) -> Iterator[Lines]:
    """Runs of lines that are not blank; a line that begins with a form feed begins a run."""
    block: Lines = []
    for start, end in text_map.lines():
        line = text_map.text[start:end]
        if block and (line.isspace() or line[0] == "\f"):
            yield block
            block = []
        if not line.isspace():
            block.append((start, end))
    if block:
        yield block


class _Styles:
    """Levels of underlined headings: by the order in which a file first uses each style."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def level(self, style: str) -> int:
        if style not in self._seen:
            self._seen.append(style)
        return self._seen.index(style) + 1


def _underlined(text: str, block: Lines, styles: _Styles) -> tuple[int, str, int] | None:
    """Level, title and number of lines of an underlined (perhaps also overlined) heading that opens the block."""
    lines = [text[start:end].rstrip() for start, end in block[:3]]
    if len(lines) == 3 and lines[0] == lines[2] and _UNDERLINE.fullmatch(lines[0]) and lines[1]:
        title = lines[1].strip()
        return (styles.level("over" + lines[0][0]), title, 3) if _covers(lines[0], title) else None
    if len(lines) >= 2 and _UNDERLINE.fullmatch(lines[1]) and not _UNDERLINE.fullmatch(lines[0]):
        title = lines[0].strip()
        if lines[0][0] not in " \t" and _covers(lines[1], title):
            return styles.level(lines[1][0]), title, 2
    return None


def _covers(underline: str, title: str) -> bool:
    return len(underline) >= len(title) and any(character.isalnum() for character in title)


def _numbered(text: str, block: Lines, following: str) -> tuple[int, str] | None:
    """Level and title of a section line such as `3.2.1 Title` that stands alone at the margin over indented text."""
    line = text[block[0][0] : block[0][1]].strip("\f").rstrip()
    found = _NUMBERED.fullmatch(line)
    if len(block) > 1 or not found or line[-1] in ".,;:" or following not in (" ", "\t"):
        return None
    return found[1].count(".") + 1, line


def _running_heads(text: str, blocks: list[Lines]) -> set[int]:
    """The blocks that only repeat page after page: `… [Page n]`, and the line over the next page, as RFCs have them."""
    heads = set()
    for index, block in enumerate(blocks):
        if len(block) == 1 and _PAGE_FOOT.fullmatch(text[block[0][0] : block[0][1]].strip()):
            heads.add(index)
            if index + 1 < len(blocks) and len(blocks[index + 1]) == 1:
                heads.add(index + 1)
    return heads
