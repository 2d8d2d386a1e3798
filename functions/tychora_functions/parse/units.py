"""What every parser makes of a file: a Document of Units, each able to say where any part of its text stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tychora_schemas.locator import Locator

__all__ = ["Document", "DocumentKind", "Unit", "UnitKind"]

UnitKind = Literal[
    "heading", "paragraph", "list_item", "code", "table", "table_row", "figure", "note", "record", "symbol"
]
DocumentKind = Literal["document", "code", "table", "data"]


@dataclass(slots=True)
class Unit:
    """One evidence unit, in reading order. Units of a document never overlap, and together hold its text.

    `text` is exact; `place(start, end)` is the locator of `text[start:end]`, and reading the source there gives that
    text again. `gap` is what stands between the unit before and this one when both share a chunk: for text-like
    formats the literal characters of the file, so that a chunk is one contiguous range of it.
    """

    kind: UnitKind
    text: str
    place: Callable[[int, int], Locator]
    heading_path: tuple[str, ...] = ()
    """The headings above this unit, outermost first; a heading does not list itself."""
    level: int = 0
    """Depth of a heading, 1 the outermost; 0 for anything else."""
    gap: str = "\n"
    attributes: dict[str, str] = field(default_factory=dict)
    """What is known of a unit beyond its text: a table's or table row's `header`; a symbol's `name` (qualified),
    `signature`, `docstring`, `symbol_kind`; `caption`; `revision` ("deleted"/"inserted") with `author` and `date`."""


@dataclass(slots=True)
class Document:
    """A parsed file. `title` is what the file calls itself, if it does; `warnings` say what could not be read."""

    kind: DocumentKind
    units: list[Unit]
    title: str | None = None
    language: str | None = None
    """For code the programming language (`python`, `typescript`…), for prose an ISO 639-1 code where known."""
    warnings: list[str] = field(default_factory=list)
