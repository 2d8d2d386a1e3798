"""What must hold for every document of every text-like format."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tychora_functions.parse.decode import decode
from tychora_functions.parse.units import Document
from tychora_schemas.locator import Locator

CASES = Path(__file__).resolve().parents[1] / "data" / "text" / "cases"
CORPUS = Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus"

ReadAt = Callable[[bytes, Locator], str]


def reads_back(data: bytes, document: Document, read_at: ReadAt, parts: int = 3) -> None:
    """Every unit, and some parts of each, are read again from the bytes exactly; lines never run backwards."""
    chance = random.Random(len(data))
    for unit in document.units:
        spans = [(0, len(unit.text))]
        for _ in range(parts):
            start = chance.randint(0, len(unit.text))
            spans.append((start, chance.randint(start, len(unit.text))))
        for start, end in spans:
            locator = unit.place(start, end)
            assert read_at(data, locator) == unit.text[start:end]
            assert locator.lines is not None
            assert 1 <= locator.lines[0] <= locator.lines[1]


def tiles(data: bytes, document: Document) -> None:
    """Gaps and texts in order are the whole decoded text but for its blank end, and no gap holds anything."""
    text = decode(data).text
    joined = "".join(unit.gap + unit.text for unit in document.units)
    assert text.startswith(joined)
    assert not text[len(joined) :].strip()
    assert all(not unit.gap.strip() for unit in document.units)
    assert all(unit.text.strip() for unit in document.units)
