"""Erases sources, revisions and originals for ever: out of sight at once, out of the files with the next collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.erasure import entailed, erasure_statement, every_batch
from tychora_format.objects import object_path
from tychora_format.snapshot import LiveSource, Snapshot
from tychora_format.statements import Statement
from tychora_format.tables import SOURCES, SourceRow
from tychora_format.versions import require_format
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.maintain.targets import Target, live_of, paths_of, resolve_target
from tychora_functions.plan import source_identity
from tychora_functions.publish import Change, publish
from tychora_functions.roots import Root
from tychora_schemas.errors import Conflict
from tychora_schemas.maintenance import ErasureReport

__all__ = ["erase", "erase_all"]

ATTEMPTS = 20
"""How often a rival may publish another revision of what is being erased."""


def erase(workspace: Workspace, target: str, reason: str = "") -> ErasureReport:
    """Erase what `target` names from every snapshot, and refuse to take it back.

    With a source go all its revisions, and the originals that no other source ever had; with a revision its original,
    unless another revision has it; with an original every source row that has it. When this returns nobody is shown
    any of it; the bytes go with the next collection. The statement stays and names ids and `reason`, never a path.

    Safe to repeat: what is erased already gives the statement that did it. Raises NotFound, InvalidRequest where the
    target is not unique (see `targets.resolve_target`), and Conflict when rivals keep publishing it.
    """
    found = resolve_target(workspace, target)
    paths = paths_of([] if found.id in workspace.statements.in_force().erased else live_of(workspace, found))
    statement_id, head = erase_all(workspace, frozenset({found.id}), reason)
    contents = _contents(workspace, found)
    return ErasureReport(
        statement_id=statement_id,
        target=found.id,
        sources=paths,
        contents=contents,
        snapshot_id=head.id,
        collected=_is_collected(workspace, found, contents),
    )


def erase_all(workspace: Workspace, targets: frozenset[str], reason: str) -> tuple[str, Snapshot]:
    """As `erase`, with one statement for several targets, given by their whole ids and SHA-256.

    Returns the id of the statement, and what is now the newest snapshot.
    """
    require_format(workspace, 2, "erasures")
    for _ in range(ATTEMPTS):
        statement = _state(workspace, targets, reason)
        head = _remove(workspace)
        if head is not None:
            return statement.id, head
    raise Conflict("rivals keep publishing what is to be erased", next_step="stop them, then run the command again")


def _state(workspace: Workspace, targets: frozenset[str], reason: str) -> Statement:
    """The last statement that names any of the targets, made where some are not erased yet.

    It also names what came to sources after they were erased.
    """
    erased = workspace.statements.in_force().erased
    batches = every_batch(workspace)
    missing = entailed(batches, erased | targets | _ids_by_path(batches, targets)) - erased
    if missing:
        workspace.statements.add(erasure_statement(missing, reason, utc_now()))
    erasures = workspace.statements.in_force().erasures[::-1]
    return next(each for each in erasures if not targets.isdisjoint(_named(each)))


def _ids_by_path(batches: Iterable[Batch], targets: frozenset[str]) -> frozenset[str]:
    """The ids that new sources at the paths of the targeted ones would have, as far as no other source has them.

    A source that was moved is not named by its last path: without these ids the next add would take its file for a new
    one, where another source has the same bytes.
    """
    others: set[str] = set()
    named: set[str] = set()
    for batch in batches:
        sources = batch.sources.column("source_id")
        others.update(sources.unique().to_pylist())
        for row in batch.sources.filter(pc.is_in(sources, pa.array(sorted(targets), pa.string()))).to_pylist():
            root = Root(Path(), row["root"])
            named.update(source_identity(row["collection"], path, root) for path in row["paths"])
    return frozenset(named - others)


def _named(statement: Statement) -> Iterator[str]:
    """What an erasure statement erases."""
    for kind in ("sources", "revisions", "contents"):
        yield from statement.subject.get(kind, ())


def _contents(workspace: Workspace, target: Target) -> list[str]:
    """The originals that are erased with the target."""
    named = {row.content_sha256 for row in target.rows} | {target.id}
    erased = workspace.statements.in_force().erased
    return sorted(each for each in named if each in erased and each and not each.startswith(("source_", "revision_")))


def _is_collected(workspace: Workspace, target: Target, contents: list[str]) -> bool:
    """Whether only ids are left here: every row is a tombstone, and the originals are gone."""
    retained = (workspace.store.size(object_path(each)) is not None for each in contents)
    return not any(row.path for row in target.rows) and not any(retained)


def _remove(workspace: Workspace) -> Snapshot | None:
    """Take every erased source out of the newest snapshot, and return what is that then; None where rivals intervened.

    Tombstones go too: they may have come live with a snapshot of another copy.
    """
    head = workspace.head()
    erased = pa.array(sorted(head.statements.erased), pa.string())
    columns = (head.recorded.column(name) for name in ("source_id", "revision_id", "content_sha256"))
    gone = head.recorded.filter(reduce(pc.or_, (pc.is_in(column, erased) for column in columns)))
    places = zip(gone.column("batch").to_pylist(), gone.column("number").to_pylist(), strict=True)
    removed = [
        LiveSource(SourceRow(**row), head.batches[batch].id, number)
        for row, (batch, number) in zip(gone.select(SOURCES.names).to_pylist(), places, strict=True)
    ]
    seen = {each.row.source_id: (each.batch, each.number) for each in removed}
    published = publish(workspace, Change(removed=removed, seen=seen), {})
    return None if published.conflicts else published.snapshot
