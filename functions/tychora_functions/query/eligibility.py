"""Eligibility: which sources a question may be answered from. Every channel gets it before it ranks anything."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import PurePosixPath
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tychora_format.lexical import Hit, View
from tychora_format.snapshot import Scope, Snapshot
from tychora_format.tables import SOURCES, SourceRow
from tychora_functions.query.candidates import Place
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.requests import FILTER_KEYS

__all__ = ["Eligible", "eligible", "matches_path"]

Filters = Mapping[str, Sequence[str]]

_KEPT = 8
"""Filters per snapshot whose scope stays at hand: each may hold a searcher of its own."""

_kept: WeakKeyDictionary[Snapshot, OrderedDict[Any, Eligible]] = WeakKeyDictionary()
_lock = Lock()


class Eligible:
    """The eligible rows of a snapshot, and what ranking needs to know of the contents that they belong to."""

    def __init__(self, snapshot: Snapshot, filters: Filters) -> None:
        self.snapshot = snapshot
        self.catalogue = [_Contents(batch.extractions) for batch in snapshot.batches]
        self.scope = self._scope(filters)
        self.names: dict[tuple[int, int], tuple[list[str], frozenset[str]]] = {}
        """What naming has found out about extractions, by batch and ordinal."""

    def _scope(self, filters: Filters) -> Scope:
        if not any(filters.values()):
            return self.snapshot.everything
        table = self.snapshot.sources
        known = {
            extraction: (kind, language)
            for contents in self.catalogue
            for extraction, kind, language in zip(contents.ids, contents.kinds, contents.languages, strict=True)
        }
        columns = (table.column(name).to_pylist() for name in ("collection", "path", "extraction_id"))
        admitted = [
            extraction is not None and _admits(filters, collection, path, *known.get(extraction, ("", None)))
            for collection, path, extraction in zip(*columns, strict=True)
        ]
        return Scope(self.snapshot, table.filter(pa.array(admitted, pa.bool_())))

    @cached_property
    def _view(self) -> View:
        return self.scope.lexical_view()

    @property
    def view(self) -> View:
        """The lexical index over the eligible rows."""
        with _lock:
            return self._view

    @cached_property
    def _parts(self) -> list[int]:
        return [ordinal for ordinal, batch in enumerate(self.snapshot.batches) if batch.rows]

    def place(self, hit: Hit) -> Place:
        """Where a hit of the view stands in the snapshot."""
        return self._parts[hit.part], hit.row

    @cached_property
    def _first_rows(self) -> list[list[int]]:
        return [batch.first_rows.tolist() for batch in self.snapshot.batches]

    def ordinal(self, place: Place) -> int:
        """Which extraction of its batch a row belongs to."""
        return bisect_right(self._first_rows[place[0]], place[1]) - 1

    @cached_property
    def code(self) -> list[npt.NDArray[np.bool_]]:
        """Per batch, which rows are of code."""
        return [
            batch.spread(np.array([kind == "code" for kind in contents.kinds], np.bool_))
            for batch, contents in zip(self.snapshot.batches, self.catalogue, strict=True)
        ]

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, extraction in enumerate(self.scope.table.column("extraction_id").to_pylist()):
            if extraction is not None:
                positions[extraction].append(position)
        return positions

    @cached_property
    def _paths(self) -> list[str]:
        return _texts(self.scope.table, "path")

    @cached_property
    def _rows(self) -> pa.Table:
        return self.scope.table.select(SOURCES.names).combine_chunks()

    def paths_of(self, extraction_id: str) -> list[str]:
        """The paths of the eligible sources whose content gave this extraction."""
        return [self._paths[position] for position in self._positions.get(extraction_id, ())]

    def sources_of(self, extraction_id: str) -> list[SourceRow]:
        """Those sources, by collection and path."""
        positions = self._positions.get(extraction_id, ())
        sources = [SourceRow(**self._rows.slice(position, 1).to_pylist()[0]) for position in positions]
        return sorted(sources, key=lambda source: (source.collection, source.path))


class _Contents:
    """The columns of a batch's extractions that ranking looks at, as plain lists."""

    def __init__(self, extractions: pa.Table) -> None:
        self.ids = _texts(extractions, "extraction_id")
        self.kinds = _texts(extractions, "kind")
        self.languages: list[str | None] = extractions.column("language").to_pylist()
        self.titles: list[str | None] = extractions.column("title").to_pylist()


def _texts(table: pa.Table, column: str) -> list[str]:
    return [value or "" for value in table.column(column).to_pylist()]


def eligible(snapshot: Snapshot, filters: Filters) -> Eligible:
    """What `filters` leave of `snapshot`; the last few answers are kept. Raises InvalidRequest for an unknown key."""
    for key in filters:
        if key not in FILTER_KEYS:
            raise InvalidRequest(f"there is no filter {key!r}", next_step=f"filter by: {', '.join(FILTER_KEYS)}")
    wanted = tuple((key, tuple(sorted(set(filters[key])))) for key in sorted(filters))
    with _lock:
        kept = _kept.setdefault(snapshot, OrderedDict())
        if wanted in kept:
            kept.move_to_end(wanted)
            return kept[wanted]
    made = Eligible(snapshot, dict(wanted))
    with _lock:
        while len(kept) >= _KEPT:
            kept.popitem(last=False)
        return kept.setdefault(wanted, made)


def _admits(filters: Filters, collection: str, path: str, kind: str, language: str | None) -> bool:
    """Values of one key are alternatives, keys all must hold. A key without values restricts nothing."""
    tests: dict[str, Callable[[str], bool]] = {
        "collection": lambda value: value == collection,
        "path": lambda value: matches_path(value, path),
        "kind": lambda value: value in (kind, PurePosixPath(path).suffix.lower().removeprefix(".")),
        "language": lambda value: value.casefold() == (language or "").casefold(),
    }
    return all(not values or any(map(tests[key], values)) for key, values in filters.items())


def matches_path(pattern: str, path: str) -> bool:
    """Whether a source's path fits a shell pattern.

    `*` and `?` stay within one folder, `**` does not. A pattern without a slash is about names: of the file, or of a
    folder that it lies in. One that names a folder is about everything below it.
    """
    name = pattern.rstrip("/")
    if path.startswith(name + "/"):
        return True
    return any(map(_pattern(name).fullmatch, path.split("/") if "/" not in name else [path]))


_WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    pieces = []
    end = 0
    for match in _WILDCARD.finditer(pattern):
        pieces.append(re.escape(pattern[end : match.start()]))
        pieces.append(_translated(match[0]))
        end = match.end()
    return re.compile("".join(pieces) + re.escape(pattern[end:]), re.DOTALL)


def _translated(wildcard: str) -> str:
    if wildcard[0] != "[":
        return {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}[wildcard]
    inside = wildcard[1:-1]
    negated = inside[:1] in ("!", "^")
    characters = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[1:] if negated else inside)
    try:
        re.compile(f"[{characters}]")
    except re.error:
        return re.escape(wildcard)
    return f"[^/{characters}]" if negated else f"[{characters}]"
