"""HTML: the text that a browser shows, each unit with its structural path and, where it is literal, its bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tychora_functions.parse import textmap
from tychora_functions.parse.decode import decode
from tychora_functions.parse.outline import Outline
from tychora_functions.parse.page import Found, Page
from tychora_functions.parse.textmap import TextMap
from tychora_functions.parse.units import Document, Unit
from tychora_schemas.errors import NotFound
from tychora_schemas.locator import Locator

__all__ = ["parse", "read_at"]

RANGE = ".."


def parse(data: bytes, name: str) -> Document:
    """What a browser shows of a page: headings, paragraphs, list items, table rows, code, alternative texts.

    Scripts and styles are left out, entities decoded, blanks collapsed outside `pre`. What is navigation is marked
    `furniture`, what the page hides `hidden`. A table row knows its `header` cell by cell (` | ` between them, spans
    respected) and in `spanned` what reaches into it from above. Raises what `decode` raises; no HTML is invalid.
    """
    decoded = decode(data)
    text_map = TextMap(decoded)
    page = Page(text_map.text)
    page.read()
    outline = Outline()
    units = []
    title = " ".join(page.title.split()) or None
    for found in page.found:
        above = outline.path
        if found.kind == "heading" and "furniture" not in found.attributes:
            above = outline.enter(found.level, found.text)
            title = title or (found.text if found.level == 1 else None)
        place = _place(text_map, found)
        units.append(Unit(found.kind, found.text, place, above, found.level, "\n", found.attributes))
    return Document("document", units, title, page.language, list(decoded.warnings))


def read_at(data: bytes, locator: Locator) -> str:
    """The visible text at a locator, read again from the page. Raises NotFound where its path does not lead.

    A path `a..b` is everything from a to b, joined by line ends.
    """
    if locator.bytes is not None:
        return textmap.read_at(data, locator)
    first, _, last = (locator.path or "").partition(RANGE)
    found = _texts(data)
    paths = [path for path, _ in found]
    if first not in paths or (last or first) not in paths:
        raise NotFound(
            f"The page has no text at {locator.path}.",
            next_step="Check that the locator belongs to this revision of the file.",
        )
    end = len(paths) - paths[::-1].index(last or first)
    text = "\n".join(each for _, each in found[paths.index(first) : end])
    start, stop = locator.characters or (0, len(text))
    return text[start:stop]


@lru_cache(maxsize=2)
def _texts(data: bytes) -> list[tuple[str, str]]:
    """Path and text of every unit: the citations of a page are read one after another, parsing it once is enough."""
    page = Page(decode(data).text)
    page.read()
    return [(found.path, found.text) for found in page.found]


def _place(text_map: TextMap, found: Found) -> Callable[[int, int], Locator]:
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
