"""Collects garbage: removes the files of a workspace that no kept snapshot needs."""

from __future__ import annotations

import math
import time

from tychora_format.collection import Collection, Garbage, close_collection, open_collection, remove
from tychora_format.erasure import erase_from_batches
from tychora_format.leases import Lease
from tychora_format.left_out import originals_left_out
from tychora_format.store import Entry
from tychora_format.versions import require_format
from tychora_format.workspace import Workspace
from tychora_functions.progress import Progress, Watcher
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.maintenance import CollectReport
from tychora_schemas.receipts import NamedPath, PathReport

__all__ = ["collect"]


def collect(
    workspace: Workspace,
    *,
    dry_run: bool = False,
    grace_hours: float = 24.0,
    history: int | None = None,
    progress: Watcher | None = None,
) -> CollectReport:
    """Remove the files that no kept snapshot needs and that are older than `grace_hours` by the store's own clock.

    All of history is kept; with `history` only the newest state, as many before it, and what tags and readers' leases
    name. What was erased goes whatever its age. Statements, tags and the log stay. Readers and writers need not stop;
    interrupted at any moment, it leaves a valid workspace, and the next collection finishes it.

    Raises InvalidRequest, UnsupportedContent for a workspace of format 1, Busy while another collector is at work, and
    CorruptWorkspace naming a file that is needed and missing: then nothing is removed.
    """
    started = time.monotonic()
    if not math.isfinite(grace_hours) or grace_hours < 0:
        raise InvalidRequest(f"{grace_hours:g} is no number of hours", next_step="give 0 or more, such as 24")
    if history is not None and history < 0:
        raise InvalidRequest(f"{history} is no number of states", next_step="give 0 to keep the newest one only")
    report = CollectReport(dry_run=dry_run)
    watch = progress or (lambda _: None)
    if dry_run:
        _foresee(workspace, Collection(workspace, grace=grace_hours * 3600, history=history), report)
    else:
        require_format(workspace, 2, "collections")
        with Lease(workspace.store, "collect") as lease:
            _Run(workspace, lease, report, watch).run(grace_hours * 3600, history)
    report.removed_bytes = sum(each.size or 0 for each in report.removed)
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _foresee(workspace: Workspace, collection: Collection, report: CollectReport) -> None:
    head = workspace.log.head()
    garbage = collection.garbage(head)
    _record(report, garbage.files)
    _note(report, garbage, originals_left_out(workspace.store))
    if head.collecting:
        report.finished = True
        doomed = workspace.doomed(head.collecting)
        left = doomed - collection.spared(head, doomed) - {file.path for file in garbage.files}
        _record(report, [file for path, file in collection.files.items() if path in left])
        report.young -= len(left & collection.files.keys())


class _Run:
    """One collection by the holder of the lease."""

    def __init__(self, workspace: Workspace, lease: Lease, report: CollectReport, watch: Watcher) -> None:
        self.workspace = workspace
        self.lease = lease
        self.report = report
        self.watch = watch

    def run(self, grace: float, history: int | None) -> None:
        self.watch(Progress("looking"))
        interrupted = self.workspace.log.head().collecting
        if interrupted:
            self.report.finished = True
            self._finish(interrupted, Collection(self.workspace, grace=grace, history=history))
        self.report.batches_rewritten = len(erase_from_batches(self.workspace))
        collection = Collection(self.workspace, grace=grace, history=history)
        left_out = originals_left_out(self.workspace.store)
        self.lease.require()
        if opened := open_collection(self.workspace, collection):
            digest, garbage = opened
            _note(self.report, garbage, left_out)
            self._finish(digest, collection)
        else:
            _note(self.report, collection.garbage(self.workspace.log.head()), left_out)

    def _finish(self, digest: str, collection: Collection) -> None:
        """Remove what the open collection lists and nothing needs, then close it."""
        doomed = self.workspace.doomed(digest)
        chosen = doomed - collection.spared(self.workspace.log.head(), doomed)

        def still_ours(done: int) -> None:
            self.lease.require()
            self.watch(Progress("committing", done, len(chosen)))

        remove(self.workspace, chosen, still_ours)
        self.lease.require()
        close_collection(self.workspace, digest)
        _record(self.report, [file for path, file in collection.files.items() if path in chosen])


def _record(report: CollectReport, files: list[Entry] | tuple[Entry, ...]) -> None:
    report.removed += [PathReport(path=file.path, size=file.size) for file in files]
    report.snapshots_removed += Garbage(tuple(files), 0).snapshots


def _note(report: CollectReport, garbage: Garbage, left_out: bool) -> None:
    report.young = garbage.young
    if garbage.absent and left_out:
        note = f"{len(garbage.absent):,} originals were left out when this copy was made"
        report.notes.append(NamedPath(path="objects/", note=note))
        return
    note = "an original that a source names is not here"
    report.notes += [NamedPath(path=path, note=note) for path in garbage.absent]
