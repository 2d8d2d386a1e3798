"""Markdown: CommonMark blocks and pipe tables as units, each the raw source text of its lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tychora_functions.parse.decode import decode
from tychora_functions.parse.outline import Outline
from tychora_functions.parse.textmap import TextMap, Tiler, read_at, split
from tychora_functions.parse.units import Document, UnitKind

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["parse", "read_at"]

_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*(?:\r\n|\r|\n)(?=[\w\"'-]+[ \t]*[:=]|#).*?(?:\r\n|\r|\n)(?:\1|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.S
)
"""YAML between `---` lines or TOML between `+++` lines, at the very start."""
_TITLE = re.compile(r"""^title[ \t]*[:=][ \t]*(["']?)(.+?)\1[ \t]*$""", re.I | re.M)
_COMMENTS = re.compile(r"(?:<!--.*?-->\s*)+", re.S)
_WHOLE_TABLE_ROWS = 20
_WHOLE_TABLE_CHARACTERS = 2000


@dataclass(slots=True)
class _Block:
    """Lines `[first, last)`, counted from 0, that are one unit or a run of them."""

    kind: UnitKind
    first: int
    last: int
    level: int = 0
    title: str = ""
    language: str = ""
    rows: list[int] = field(default_factory=list)
    """For a table: the first line of each row, its header's and its delimiter's not counted."""


def parse(data: bytes, name: str) -> Document:
    """The blocks of a Markdown file. Raises what `decode` raises; no text is invalid Markdown.

    A list gives one unit per item of its top level, a table of more than 20 rows one per row, each table unit
    knowing its `header`. What shows nothing (front matter, link definitions, comments) is kept as paragraphs.
    """
    decoded = decode(data)
    text_map = TextMap(decoded)
    text = text_map.text
    starts = [*text_map.line_starts, len(text)]
    tiler, outline = Tiler(text_map), Outline()
    title = None
    front = _FRONT_MATTER.match(text)
    reached = 0
    if front:
        reached = text_map.line(front.end())
        found = _TITLE.search(front[0].replace("\r\n", "\n").replace("\r", "\n"))
        title = found[2] if found else None
        tiler.add("paragraph", 0, starts[reached], attributes={"role": "front_matter"})
    markdown = _markdown()
    for block in _blocks(markdown, text, reached):
        if block.first > reached:
            _add_text(tiler, text, starts[reached], starts[block.first], outline.path)
        reached = max(reached, block.last)
        start, end = starts[block.first], starts[block.last]
        if block.kind == "heading":
            above = outline.enter(block.level, block.title)
            title = title or (block.title if block.level == 1 else None)
            tiler.add("heading", start, end, heading_path=above, level=block.level)
        elif block.kind == "table":
            _add_table(tiler, text, starts, block, outline.path)
        else:
            _add_text(tiler, text, start, end, outline.path, block)
    _add_text(tiler, text, starts[reached], len(text), outline.path)
    return Document("document", tiler.units, title, warnings=list(decoded.warnings))


def _markdown() -> MarkdownIt:
    """CommonMark and pipe tables; inline markup is only read where a heading's title needs it."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _blocks(markdown: MarkdownIt, text: str, skipped_lines: int) -> list[_Block]:
    """The blocks of the top level in order, a list as its items; the first lines (front matter) are passed over."""
    lines = re.split(r"\r\n|\r|\n", text)
    source = "\n" * skipped_lines + "\n".join(lines[skipped_lines:])
    markdown.core.ruler.enableOnly(["normalize", "block"])
    tokens = markdown.parse(source)
    blocks: list[_Block] = []
    for index, token in enumerate(tokens):
        if token.map is None or token.nesting < 0:
            continue
        first, last = token.map
        if token.level == 0 and token.type not in ("bullet_list_open", "ordered_list_open"):
            blocks.append(_Block(_kind(token), first, last, language=token.info.strip().split(" ")[0]))
            if token.type == "heading_open":
                blocks[-1].level = int(token.tag[1])
                blocks[-1].title = _visible(markdown, tokens[index + 1].content)
        elif token.level == 1 and token.type == "list_item_open":
            blocks.append(_Block("list_item", first, last))
        elif token.type == "tr_open" and token.level == 2 and first > blocks[-1].first:
            blocks[-1].rows.append(first)
    return blocks


def _kind(token: Token) -> UnitKind:
    kinds: dict[str, UnitKind] = {
        "heading_open": "heading",
        "fence": "code",
        "code_block": "code",
        "table_open": "table",
    }
    return kinds.get(token.type, "paragraph")


def _visible(markdown: MarkdownIt, source: str) -> str:
    """A heading's text without its inline markup."""
    children: list[Token] = []
    markdown.inline.parse(source, markdown, {}, children)
    blank = ("softbreak", "hardbreak")
    return "".join(" " if child.type in blank else _shown(child) for child in children).strip()


def _shown(token: Token) -> str:
    return "" if token.type == "html_inline" else token.content


def _add_text(
    tiler: Tiler, text: str, start: int, end: int, path: tuple[str, ...], block: _Block | None = None
) -> None:
    kind: UnitKind = block.kind if block else "paragraph"
    attributes = {"language": block.language} if block and block.language else {}
    if _COMMENTS.fullmatch(text[start:end].strip()):
        attributes = {"role": "comment"}
    for part_start, part_end in split(text, start, end):
        tiler.add(
            kind,
            part_start,
            part_end,
            heading_path=path,
            attributes=dict(attributes),
            keep_indent=kind == "code",
        )


def _add_table(tiler: Tiler, text: str, starts: list[int], block: _Block, path: tuple[str, ...]) -> None:
    """One unit for a small table; for a large one its header's lines, then each row."""
    rows = block.rows
    start, end = starts[block.first], starts[block.last]
    header = {"header": text[start : starts[block.first + 1]].strip()}
    if len(rows) <= _WHOLE_TABLE_ROWS and end - start <= _WHOLE_TABLE_CHARACTERS:
        tiler.add("table", start, end, heading_path=path, attributes=header)
        return
    first_row = starts[rows[0]] if rows else end
    tiler.add("table_row", start, first_row, heading_path=path, attributes={**header, "role": "header"})
    for row, following in zip(rows, [*rows[1:], block.last], strict=True):
        tiler.add("table_row", starts[row], starts[following], heading_path=path, attributes=dict(header))
