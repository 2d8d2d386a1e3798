"""Furniture: running headers, footers, page numbers, margin line numbers: they belong to the page, not the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from tychora_functions.parse.pdf.fragments import Fragment, Row
from tychora_functions.parse.pdf.lines import Line, cells
from tychora_functions.parse.pdf.tables import aligned

__all__ = ["margin_numbers", "mark_furniture"]

OUTERMOST = 4
"""Lines looked at from the top of a page, and from its bottom."""

REPEATS = 3
"""Pages on which the same line makes a running header."""

DEPTH = 20.0
"""Points from the outermost line of most pages within which running lines stand; titles below them repeat, too, where a
table goes on over pages."""

DRIFT = 8.0
"""Points by which a running line may move from page to page."""

MARGIN = 0.12
"""Share of the page's height at its top, and at its bottom, where one page alone can show furniture."""

PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|página|pagina|стр\.?|p\.|s\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7}|\d{1,3}-\d{1,3})"
    r"(?:\s*(?:of|von|de|sur|/|из)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)
NAMED_NUMBER = re.compile(r"\b(?:page|seite|página|pagina)\s+\d{1,4}\b", re.IGNORECASE)

LEAST_MARGIN_NUMBERS = 8


def mark_furniture(pages: Sequence[Sequence[Line]], labels: Sequence[str]) -> None:
    """Sets `furniture` on the lines of `pages` (each in any order) that repeat at the edge of pages or number them."""
    seen: defaultdict[str, list[tuple[int, float, Line]]] = defaultdict(list)
    top, bottom = _edges(pages)
    for number, lines in enumerate(pages):
        upright = sorted((line for line in lines if line.quarter == 0), key=lambda line: line.baseline)
        for place, line in enumerate(upright):
            outer = place < OUTERMOST or place >= len(upright) - OUTERMOST
            if not outer or line.furniture:
                continue
            below = upright[place + 1] if place + 1 < len(upright) else None
            if below is not None and len(line.cells) >= 3 and _heads_table(line, below):
                continue
            key = re.sub(r"\d+", "#", " ".join(line.text.split())).casefold()
            if line.baseline <= top + DEPTH or line.baseline >= bottom - DEPTH:
                seen[key].append((number, line.baseline, line))
            line.furniture = _numbers_page(upright, place, labels[number])
        for line in lines:
            if line.quarter != 0:
                seen["turned " + " ".join(line.text.split()).casefold()].append((number, line.baseline, line))
    for occurrences in seen.values():
        for _, baseline, line in occurrences:
            near = {page for page, other, _ in occurrences if abs(other - baseline) <= DRIFT}
            line.furniture |= len(near) >= REPEATS


def _edges(pages: Sequence[Sequence[Line]]) -> tuple[float, float]:
    """The highest and the lowest baseline that pages use, a tenth of the pages left aside."""
    spans = [[line.baseline for line in lines if line.quarter == 0] for lines in pages]
    tops, bottoms = sorted(min(span) for span in spans if span), sorted(max(span) for span in spans if span)
    return (tops[len(tops) // 10], bottoms[-1 - len(bottoms) // 10]) if tops else (0.0, 0.0)


def _heads_table(line: Line, below: Line) -> bool:
    return below.baseline - line.baseline < 3 * line.size and aligned(line, below)


def _numbers_page(upright: Sequence[Line], place: int, label: str) -> bool:
    """Is the line a page number, or does it carry one, at the edge of its page and apart from other lines?"""
    line = upright[place]
    height = line.frame.height
    at_top, at_bottom = line.baseline < MARGIN * height, line.baseline > (1 - MARGIN) * height
    if not (at_top or at_bottom) or len(line.text) > 150:
        return False
    neighbours = upright[max(0, place - 1) : place] if at_bottom else upright[place + 1 : place + 2]
    if any(abs(other.baseline - line.baseline) < 1.4 * line.size and not other.furniture for other in neighbours):
        return False
    text = line.text.strip()
    if PAGE_NUMBER.fullmatch(text) or (at_bottom and NAMED_NUMBER.search(text)):
        return True
    words = text.split()
    return len(words) > 1 and len(line.cells) > 1 and label in (words[0], words[-1])


def margin_numbers(rows: Sequence[Row]) -> list[Fragment]:
    """The numbers that count the lines of a page in its left margin: evenly spaced, set apart from prose."""
    numbers = [
        (row, row.fragments[0])
        for row in rows
        if row.fragments[0].digits == row.fragments[0].characters <= 3
        and (len(row.fragments) == 1 or row.fragments[1].u0 - row.fragments[0].u1 > row.fragments[0].size)
    ]
    if len(numbers) < LEAST_MARGIN_NUMBERS:
        return []
    edge = median(part.u1 for _, part in numbers)
    numbers = [(row, part) for row, part in numbers if abs(part.u1 - edge) < 0.5 * part.size]
    if len(numbers) < LEAST_MARGIN_NUMBERS:
        return []
    right = max(part.u1 for _, part in numbers)
    first, last = numbers[0][0].baseline, numbers[-1][0].baseline
    inside = [row for row in rows if first <= row.baseline <= last]
    own = {id(part) for _, part in numbers}
    others = [part for row in inside for part in row.fragments if id(part) not in own]
    steps = [b[0].baseline - a[0].baseline for a, b in pairwise(numbers)]
    even = max(steps) <= 1.3 * min(steps)
    apart = all(part.u0 > right for part in others)
    prose = sum(part.letters for part in others) > sum(part.digits for part in others) * 3
    tabular = sum(len(cells(row.fragments)) > 3 for row in inside) > 0.3 * len(inside)
    return [part for _, part in numbers] if even and apart and prose and not tabular else []
