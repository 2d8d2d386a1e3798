"""Targets: what a withdrawal, an erasure or a policy is about, found by an id, a hash or a path."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from tychora_format.erasure import every_batch
from tychora_format.snapshot import LiveSource
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_schemas.errors import InvalidRequest, NotFound
from tychora_schemas.receipts import PathReport

__all__ = ["Target", "live_of", "paths_of", "resolve_target"]

IDENTITY = re.compile(r"(?:source|revision)_[0-9a-f]{8,64}")
HASH = re.compile(r"[0-9a-f]{8,64}")
SHOWN = 4
"""Candidates that an error about an ambiguous target names."""


@dataclass(frozen=True, slots=True)
class Target:
    """A source, a revision or an original. `id` is what statements call it; `rows` are all its states, past ones too.

    Of what is erased and collected no row may be left.
    """

    id: str
    rows: tuple[SourceRow, ...]

    def concerns(self, row: SourceRow) -> bool:
        """True when the source row is one of the target."""
        return self.id in (row.source_id, row.revision_id, row.content_sha256)


def resolve_target(workspace: Workspace, target: str) -> Target:
    """What `target` names in any snapshot here, the newest one first.

    It is an id (`source_…`, `revision_…`), the SHA-256 of an original, the first digits of one of them, at least 8
    and unique; or the path of a source, present or past, with `COLLECTION:` before it where several collections have
    it. Raises NotFound, and InvalidRequest naming the candidates where there are several.
    """
    wanted = target.strip()
    rows = [SourceRow(**values) for batch in every_batch(workspace) for values in batch.sources.to_pylist()]
    found: set[str] = set()
    if IDENTITY.fullmatch(wanted) or HASH.fullmatch(wanted):
        statements = workspace.statements.in_force()
        named = {each for row in rows for each in (row.source_id, row.revision_id, row.content_sha256) if each}
        found = {each for each in named | statements.erased | statements.withdrawn if each.startswith(wanted)}
    if not found:
        live = [each.row for each in workspace.head().live_sources(hidden=True)]
        found = {row.source_id for row in live if _has_path(row, wanted, [row.path])}
        found = found or {row.source_id for row in rows if _has_path(row, wanted, [row.path, *row.paths])}
    if not found:
        raise NotFound(
            f"nothing here is called {target!r}",
            next_step="give a path, COLLECTION:PATH, source_…, revision_… or an original's SHA-256, as in tychora "
            "inspect WORKSPACE sources --json",
        )
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:SHOWN]) + (" and more" if len(found) > SHOWN else "")
        raise InvalidRequest(f"{target!r} may be any of {len(found)}: {shown}", next_step="give one of these ids")
    (identity,) = found
    concerned = Target(identity, ())
    return Target(identity, tuple(row for row in rows if concerned.concerns(row)))


def _has_path(row: SourceRow, wanted: str, paths: Collection[str]) -> bool:
    return any(path and wanted in (path, f"{row.collection}:{path}") for path in paths)


def live_of(workspace: Workspace, target: Target) -> list[LiveSource]:
    """The live source rows of the newest snapshot that are of the target, hidden ones included."""
    return workspace.head().live_sources(target.concerns, hidden=True)


def paths_of(live: Collection[LiveSource]) -> list[PathReport]:
    """The paths of live sources as reports list them."""
    return sorted((PathReport(path=each.row.path, size=each.row.size) for each in live), key=lambda each: each.path)
