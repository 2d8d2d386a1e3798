"""Adds roots: makes a workspace hold what lies below them now. Re-adding is syncing."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from tychora_format.snapshot import Snapshot
from tychora_format.staging import Collected
from tychora_format.workspace import Workspace
from tychora_functions.interrupt import Interrupt
from tychora_functions.job import Job, Watcher
from tychora_functions.maintain.advice import advice
from tychora_functions.parse.detect import Format, detect
from tychora_functions.plan import Plan, plan
from tychora_functions.portable import colliding, reserved
from tychora_functions.progress import Progress
from tychora_functions.roots import Root, Roots
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.receipts import AddReport, InventoryReport, NamedPath, PathReport
from tychora_schemas.settings import ResolvedSettings

__all__ = ["add", "inventory"]

ATTEMPTS = 3
"""How often a run starts anew when collections take away what it staged."""


def add(
    workspace: Workspace,
    paths: Sequence[str | Path],
    *,
    collection: str = "default",
    settings: ResolvedSettings,
    name: str | None = None,
    progress: Watcher | None = None,
) -> AddReport:
    """Make the workspace hold what lies at `paths` now: new, changed and moved files in, gone ones out of the head.

    Every path met is in exactly one list of the report. One bad file never stops the run. On the first Ctrl-C what was
    read is committed and the rest is reported as held; a second one ends at once, leaving the last commit.
    """
    started = time.monotonic()
    watch = progress or (lambda _: None)
    for attempt in range(ATTEMPTS):
        head = workspace.head()
        roots, registry = _roots(workspace, head, paths, collection, name)
        planned = _planned(head, collection, roots, settings, watch)
        registry.save()
        job = Job(workspace, head, collection, settings, planned, watch)
        try:
            with Interrupt() as interrupt:
                report = job.run(interrupt)
            break
        except Collected:
            # What was committed before is found unchanged now; the rest is captured and read again.
            if attempt == ATTEMPTS - 1:
                raise
    report.notes = advice(workspace.head())
    report.seconds = round(time.monotonic() - started, 3)
    return report


def inventory(
    workspace: Workspace,
    paths: Sequence[str | Path],
    *,
    collection: str = "default",
    settings: ResolvedSettings,
    name: str | None = None,
    progress: Watcher | None = None,
) -> InventoryReport:
    """What `add` would do with `paths`, found by reading only: nothing is captured, parsed or registered."""
    head = workspace.head()
    roots, _ = _roots(workspace, head, paths, collection, name)
    planned = _planned(head, collection, roots, settings, progress or (lambda _: None))
    report = InventoryReport(unchanged=len(planned.same))
    by_content = defaultdict(list)
    for found in [*planned.new, *planned.changed]:
        reason = _detected(found.location, found.path).reason
        entry = PathReport(path=found.path, size=found.size, reason=reason and f"it is {reason}")
        (report.cannot if reason else report.captured).append(entry)
        report.bytes += found.size
    refused = [*planned.refused, *planned.erased]
    report.cannot += [PathReport(path=each.path, reason=each.reason, size=each.size) for each in refused]
    report.skipped = [PathReport(path=path, reason=met.reason) for path, met in planned.skipped]
    report.moved = [PathReport(path=each.path, was=each.before.row.path) for each in planned.moved if each.before]
    report.removed = [PathReport(path=each.row.path) for each in planned.gone]
    files = [*planned.same, *planned.new, *planned.changed, *planned.moved]
    for found in files:
        by_content[found.sha256].append(found.path)
    report.duplicates = sorted(sorted(group) for group in by_content.values() if len(group) > 1)
    names = [found.path for found in files]
    report.colliding = colliding(names)
    report.reserved = [NamedPath(path=path, note=note) for path, note in reserved(names)]
    return report


def _roots(
    workspace: Workspace, head: Snapshot, paths: Sequence[str | Path], collection: str, name: str | None
) -> tuple[list[Root], Roots]:
    if not collection.strip():
        raise InvalidRequest("a collection needs a name", next_step="leave --collection out to use 'default'")
    live: dict[str, list[str]] = defaultdict(list)
    for each in head.live_sources(lambda row: row.collection == collection, hidden=True):
        live[each.row.root].append(each.row.path)
    registry = Roots(workspace)
    return [registry.resolve(path, collection, live, name) for path in paths], registry


def _planned(head: Snapshot, collection: str, roots: list[Root], settings: ResolvedSettings, watch: Watcher) -> Plan:
    seen = Counter[str]()

    def look(path: str, size: int) -> None:
        seen.update(files=1, bytes=size)
        watch(Progress("looking", seen["files"], 0, seen["bytes"], path))

    return plan(head, collection, roots, settings.settings, look)


def _detected(location: Path, path: str) -> Format:
    try:
        with location.open("rb") as file:
            return detect(file.read(64 << 10), path)
    except OSError:
        return Format.PLAIN
