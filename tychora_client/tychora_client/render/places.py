"""A Locator in the words of whoever would look the place up."""

from __future__ import annotations

import re

from tychora_schemas.locator import Locator

__all__ = ["place"]

STEP = re.compile(r"([A-Za-z]+)\[(\d+)\]")
STEP_NAMES = {"p": "paragraph", "tbl": "table", "tr": "row", "tc": "cell", "del": "deletion", "docPr": "drawing"}
"""Steps of a Word path (ECMA-376 part 1, chapter 17) that a reader can count."""

WORD = "docx"
PART = re.compile(r"(?:word/)?([A-Za-z]+?)\d*\.xml")
MAIN_PART = "document"


def place(locator: Locator) -> str:
    """Such as "p. 15", "lines 7–9", "slide 3", "sheet Budget B2:D4", "footnotes, paragraph 2"; "" if none is known."""
    named = [
        _pages(locator),
        f"slide {locator.slide}" if locator.slide is not None else "",
        " ".join(part for part in (f"sheet {locator.sheet}" if locator.sheet else "", locator.cells or "") if part),
        _span("line", *locator.lines) if locator.lines else "",
    ]
    if not any(named):
        named = [_part(locator.part), _path(locator)]
    if locator.derived:
        named.append("recognised text")
    return ", ".join(name for name in named if name)


def _pages(locator: Locator) -> str:
    pages = {box.page for box in locator.boxes or ()} | ({locator.page} if locator.page else set())
    if not pages:
        return ""
    first, last = min(pages), max(pages)
    label = f" (printed {locator.page_label})" if locator.page_label not in (None, str(first)) else ""
    return f"p. {first}{label}" if first == last else f"pp. {first}–{last}{label}"


def _span(word: str, first: int, last: int) -> str:
    return f"{word} {first}" if first == last else f"{word}s {first}–{last}"


def _part(part: str | None) -> str:
    match = PART.fullmatch(part or "")
    if match is None:
        return part or ""
    return "" if match[1] == MAIN_PART else match[1]


def _path(locator: Locator) -> str:
    """A Word path as counted things; any other structural path as it is."""
    path = locator.path or ""
    if locator.transform != WORD:
        return path
    first, _, last = path.partition("..")
    steps, ends = _steps(first), _steps(last or first)
    if not steps or not ends:
        return path
    (name, start), (other, end) = steps[-1], ends[-1]
    if steps[:-1] == ends[:-1] and name == other:
        return ", ".join([*(f"{above} {number}" for above, number in steps[:-1]), _span(name, start, end)])
    return " to ".join(", ".join(f"{each} {number}" for each, number in place) for place in (steps, ends))


def _steps(path: str) -> list[tuple[str, int]]:
    return [(STEP_NAMES[name], int(number)) for name, number in STEP.findall(path) if name in STEP_NAMES]
