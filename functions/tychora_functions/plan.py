"""Plans an add: compares what lies below a root with what is live of it, before anything is written."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tychora_format.snapshot import LiveSource, Snapshot
from tychora_format.statements import InForce
from tychora_functions.capture.capture import sha256_of
from tychora_functions.capture.walk import Met, readable_path, walk
from tychora_functions.roots import LOOSE, Root
from tychora_schemas.errors import NotFound, TychoraError
from tychora_schemas.identity import identity
from tychora_schemas.settings import Settings

__all__ = ["Found", "Plan", "Refused", "plan", "revision_identity", "source_identity"]


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be captured: its source path, where it lies, and the live source that it continues, if any."""

    path: str
    root: Root
    location: Path
    sha256: str
    size: int
    before: LiveSource | None = None

    @property
    def moved(self) -> bool:
        """True when it continues a source that had another path."""
        return self.before is not None and self.before.row.path != self.path


@dataclass(frozen=True, slots=True)
class Refused:
    """A path that was asked for and cannot be had, and the live source that stood there, if any."""

    path: str
    root: Root
    size: int
    reason: str
    before: LiveSource | None = None


@dataclass(slots=True)
class Plan:
    """What an add has before it. Every path met is in exactly one of the lists."""

    same: list[Found] = field(default_factory=list)
    """Bytes and path are those of the live source."""
    new: list[Found] = field(default_factory=list)
    changed: list[Found] = field(default_factory=list)
    moved: list[Found] = field(default_factory=list)
    gone: list[LiveSource] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    erased: list[Refused] = field(default_factory=list)
    """What was erased from the bundle and is not taken back."""
    skipped: list[tuple[str, Met]] = field(default_factory=list)
    taken: frozenset[str] = frozenset()
    """The ids of all sources that were live before."""

    def source_id(self, collection: str, file: Found | Refused) -> str:
        """The id of the source that a file is: the one that it continues, or a new one."""
        if file.before:
            return file.before.row.source_id
        return source_identity(collection, file.path, file.root, self.taken)


def source_identity(collection: str, path: str, root: Root, taken: Container[str] = ()) -> str:
    """A source is first named by its path in its collection; loose files are apart from those of a folder.

    Where the source that was first at `path` lives on elsewhere, the next one there is the second of that name.
    """
    payload: dict[str, Any] = {"collection": collection, "path": path}
    if root.label == LOOSE:
        payload["root"] = LOOSE
    source_id, number = identity("source", payload), 1
    while source_id in taken:
        number += 1
        source_id = identity("source", {**payload, "number": number})
    return source_id


def revision_identity(source_id: str, sha256: str) -> str:
    """Captured bytes of one source."""
    return identity("revision", {"source": source_id, "content": sha256})


def plan(
    head: Snapshot,
    collection: str,
    roots: Sequence[Root],
    settings: Settings,
    look: Callable[[str, int], None] = lambda path, size: None,
) -> Plan:
    """Walk the roots, hash every file, and tell new, changed, moved, same and gone apart.

    A move is a new path whose bytes are those of a source that is gone in the same add; equal candidates are paired by
    file name, then by path, so that the outcome does not depend on the order of the walk. `look` is told each path.
    """
    result = Plan()
    by_root: dict[str, dict[str, LiveSource]] = defaultdict(dict)
    met: set[tuple[str, str]] = set()
    unknown: list[Found] = []
    gone: list[LiveSource] = []
    live = head.live_sources(lambda row: row.collection == collection, hidden=True)
    result.taken = frozenset(source.row.source_id for source in live)
    for source in sorted(live, key=lambda each: each.row.source_id):
        if by_root[source.row.root].setdefault(source.row.path, source) is not source and any(
            root.label == source.row.root and root.covers(source.row.path) for root in roots
        ):
            gone.append(source)  # a merge may bring two sources to one path: the file goes on as one of them
    for root in roots:
        known = by_root[root.label]
        start = root.location / root.subtree
        if not os.path.lexists(start) and not any(map(root.covers, known)):
            raise NotFound(f"there is nothing at {readable_path(str(start))}", next_step="check the path")
        for each in walk(root.location, settings, root.subtree) if os.path.lexists(start) else ():
            path = root.source_path(each.path)
            if (root.label, path) in met:
                continue
            look(path, each.size)
            if each.fate == "skipped":
                result.skipped.append((path, each))
                continue
            met.add((root.label, path))
            if each.fate == "refused":
                result.refused.append(Refused(path, root, each.size, each.reason or "", known.get(path)))
            else:
                _compare(result, unknown, path, root, each, known.get(path))
        gone += [source for path, source in known.items() if root.covers(path) and (root.label, path) not in met]
    _pair(result, unknown, gone)
    _set_erased_apart(result, head.statements, collection)
    return result


def _set_erased_apart(result: Plan, statements: InForce, collection: str) -> None:
    """What was erased stays out: by the id of its source, or by its content wherever that is met again."""
    for found_list in (result.new, result.changed, result.moved, result.same) if statements.erased else ():
        for found in list(found_list):
            source_id = result.source_id(collection, found)
            if not statements.erased.isdisjoint((source_id, revision_identity(source_id, found.sha256), found.sha256)):
                found_list.remove(found)
                result.erased.append(Refused(found.path, found.root, found.size, "it was erased here", found.before))


def _compare(result: Plan, unknown: list[Found], path: str, root: Root, each: Met, before: LiveSource | None) -> None:
    try:
        sha256 = sha256_of(each.location)
    except TychoraError as error:
        result.refused.append(Refused(path, root, each.size, str(error), before))
        return
    found = Found(path, root, each.location, sha256, each.size, before)
    if before is None:
        unknown.append(found)
    elif before.row.content_sha256 == sha256:
        result.same.append(found)
    else:
        result.changed.append(found)


def _pair(result: Plan, unknown: list[Found], gone: list[LiveSource]) -> None:
    """Pair gone sources with new paths of the same bytes; what stays unpaired is new, or gone."""
    by_content: dict[str, list[Found]] = defaultdict(list)
    for found in unknown:
        by_content[found.sha256].append(found)
    taken: dict[str, LiveSource] = {}
    for source in sorted(gone, key=lambda each: each.row.path):
        free = [each for each in by_content.get(source.row.content_sha256 or "", ()) if each.path not in taken]
        name = Path(source.row.path).name
        best = min(free, key=lambda each: (Path(each.path).name != name, each.path), default=None)
        if best is None:
            result.gone.append(source)
        else:
            taken[best.path] = source
    for found in unknown:
        if found.path in taken:
            result.moved.append(replace(found, before=taken[found.path]))
        else:
            result.new.append(found)
