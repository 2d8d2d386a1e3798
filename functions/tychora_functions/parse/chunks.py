"""Chunks: runs of adjacent units that one index row covers. They never overlap and together hold every unit.

A chunk ends where the next unit would take it past the target, where a new heading begins (on pages only once the
section before is more than a few lines), where the page, slide or
sheet changes, and where body text meets furniture, hidden or struck text. A unit above the ceiling is divided first,
at a line's, sentence's or word's end, into parts that each say where they stand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tychora_functions.parse.units import Unit
from tychora_schemas.identity import canonical_json
from tychora_schemas.locator import Locator

__all__ = ["CHUNKER_VERSION", "chunk_units", "encode_locator"]

CHUNKER_VERSION = 2

CountTokens = Callable[[Sequence[str]], list[int]]

APART = ("furniture", "hidden", "revision")
"""Attributes that keep a unit out of chunks of running text."""

SETTLED_SECTION = 96
"""Tokens from which on a section of a page is closed by the next heading. Headings on pages are told by their look, and
the few lines between two of them (a docket number, a date, an author) mostly say something of what follows."""

SETTLED_SYMBOL = 96
"""Tokens from which on a chunk of code is not joined by the next definition."""

BOUNDARIES = (re.compile(r"\n\s*"), re.compile(r"[.!?。！？;；]+[\"'”’)\]]*\s*"), re.compile(r"[\s,，、]+"))
"""Where a long unit may be divided, best first: lines, sentences, words."""


def encode_locator(locator: Locator) -> str:
    """A locator as the canonical JSON that is stored and hashed: only the fields that are set."""
    return canonical_json(locator.model_dump(mode="json", exclude_none=True)).decode()


@dataclass(slots=True)
class _Measured:
    unit: Unit
    tokens: int
    locator: Locator


def chunk_units(
    units: Sequence[Unit], count_tokens: CountTokens, target: int, ceiling: int
) -> Iterator[dict[str, Any]]:
    """Chunk rows in reading order: `text`, `heading_path`, `tokens` and `units` (spans as dicts)."""
    current: list[_Measured] = []
    size = 0
    for measured in _measure(units, count_tokens, ceiling):
        if current and _divides(current, measured, size, target):
            yield _row(current, size)
            current, size = [], 0
        current.append(measured)
        size += measured.tokens
    if current:
        yield _row(current, size)


def _measure(units: Sequence[Unit], count_tokens: CountTokens, ceiling: int) -> Iterator[_Measured]:
    counts = count_tokens([unit.text for unit in units])
    for unit, tokens in zip(units, counts, strict=True):
        if tokens <= ceiling:
            yield _Measured(unit, tokens, unit.place(0, len(unit.text)))
        else:
            yield from _divide(unit, tokens, count_tokens, ceiling)


def _divides(current: list[_Measured], new: _Measured, size: int, target: int) -> bool:
    last, unit = current[-1], new.unit
    if size + new.tokens > target:
        return True
    settled = size >= SETTLED_SECTION or new.locator.page is None
    if unit.kind == "heading" and settled and any(each.unit.kind != "heading" for each in current):
        return True
    if unit.kind == "symbol" and size >= SETTLED_SYMBOL:
        return True
    if (last.locator.page, last.locator.slide, last.locator.sheet, last.locator.part) != (
        new.locator.page,
        new.locator.slide,
        new.locator.sheet,
        new.locator.part,
    ):
        return True
    return any(last.unit.attributes.get(name) != unit.attributes.get(name) for name in APART)


def _divide(unit: Unit, tokens: int, count_tokens: CountTokens, ceiling: int) -> Iterator[_Measured]:
    """The parts of a unit that is above the ceiling, none of them above it."""
    waiting = [(0, len(unit.text), tokens)]
    number = 0
    while waiting:
        start, end, size = waiting.pop()
        if size <= ceiling or end - start < 2:
            attributes = {**unit.attributes, "part": str(number)}
            part = replace(unit, text=unit.text[start:end], attributes=attributes, gap=unit.gap if number == 0 else "")
            yield _Measured(part, size, unit.place(start, end))
            number += 1
            continue
        pieces = -(-size // ceiling)
        cuts = _cuts(unit.text, start, end, pieces + 1 if pieces > 2 else pieces)
        spans = list(zip([start, *cuts], [*cuts, end], strict=True))
        sizes = count_tokens([unit.text[a:b] for a, b in spans])
        waiting.extend((a, b, n) for (a, b), n in reversed(list(zip(spans, sizes, strict=True))))


def _cuts(text: str, start: int, end: int, pieces: int) -> list[int]:
    """Rising positions strictly inside `(start, end)` that divide it into about equal parts."""
    step = max((end - start) // max(pieces, 2), 1)
    cuts: list[int] = []
    at = start
    while end - at > step * 1.5:
        low, high = at + max(step // 2, 1), min(at + step, end - 1)
        at = max(_best_cut(text, low, high), at + 1)
        cuts.append(at)
    return cuts or [start + (end - start) // 2]


def _best_cut(text: str, low: int, high: int) -> int:
    for boundary in BOUNDARIES:
        last = None
        for match in boundary.finditer(text, low, high):
            last = match.end()
        if last is not None:
            return last
    return high


def _row(measured: list[_Measured], size: int) -> dict[str, Any]:
    parts: list[str] = []
    spans = []
    length = 0
    for position, each in enumerate(measured):
        unit = each.unit
        if position:
            parts.append(unit.gap)
            length += len(unit.gap)
        parts.append(unit.text)
        spans.append(
            {
                "kind": unit.kind,
                "start": length,
                "end": length + len(unit.text),
                "locator": encode_locator(each.locator),
                "attributes": canonical_json(unit.attributes).decode() if unit.attributes else None,
            }
        )
        length += len(unit.text)
    return {"text": "".join(parts), "heading_path": list(_headings(measured)), "tokens": size, "units": spans}


def _headings(measured: Sequence[_Measured]) -> tuple[str, ...]:
    """The headings above most of the text; where all of it is headings, the last of them and those above it."""
    sizes: Counter[tuple[str, ...]] = Counter()
    for each in measured:
        if each.unit.kind != "heading":
            sizes[each.unit.heading_path] += each.tokens
    last = measured[-1].unit
    return max(sizes, key=sizes.__getitem__) if sizes else (*last.heading_path, last.text.strip())
