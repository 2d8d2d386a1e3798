"""Brings everything of one copy of a workspace to another: a directory, a prefix of an object store, or a packed file.

Only what is missing moves, and nothing is ever parsed or embedded again. The order keeps the destination whole at every
moment: statements, batches and originals, manifests, the commit, tags.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from tychora_format.cache import Cache, cache_directory
from tychora_format.left_out import LEFT_OUT, encode_left_out, originals_left_out
from tychora_format.log import Head, Proposal
from tychora_format.manifest import FileEntry
from tychora_format.merge import best_common_ancestors, merge, relation
from tychora_format.packed import pack as format_pack
from tychora_format.sealed import seal
from tychora_format.snapshot import Snapshot
from tychora_format.staging import Collected, Staged
from tychora_format.statements import Statement, Statements, precedence
from tychora_format.transfer import Transfer
from tychora_format.workspace import Workspace
from tychora_functions.copies.cleansing import write_clean
from tychora_functions.copies.difference import Difference
from tychora_functions.copies.last_sync import LastSync, look
from tychora_functions.copies.location import (
    Location,
    empty_copy,
    refuse_one_location,
    require_destination,
    require_empty,
)
from tychora_functions.history.tag import put_tag
from tychora_functions.progress import Progress, Watcher
from tychora_schemas.errors import Conflict, InvalidRequest, NotFound
from tychora_schemas.identity import content_sha256
from tychora_schemas.receipts import NamedPath
from tychora_schemas.transport import MergeConflict, SyncReport

__all__ = ["sync"]

ATTEMPTS = 5
"""How often a sync begins anew because a collection took away what it had brought."""

Outcome = Literal["created", "fast_forward", "merged", "up_to_date", "ahead"]


def sync(
    source: Workspace | str,
    destination: str,
    *,
    dry_run: bool = False,
    progress: Watcher | None = None,
    cache: Cache | None = None,
) -> SyncReport:
    """Bring everything of `source` into `destination`, which is made where it does not exist.

    The destination's newest snapshot becomes the source's, or a merge of both where each has something that the other
    lacks; what both changed is listed under `conflicts`. The source is only read. Safe to repeat and to kill at any
    moment: the destination stays valid, and the next run goes on from what was brought. Where there was nothing to do
    and nothing has changed since, each place is asked three times. With `dry_run` nothing is written at either place,
    and the receipt says what would be.

    Raises InvalidRequest where both are one place or the destination holds something else, Conflict where it is another
    workspace, UnsupportedContent where it is of an older format or does not honour put-if-absent, and CorruptWorkspace
    naming a damaged file of the source; then nothing is committed.
    """
    started = time.monotonic()
    cache = cache or (source.cache if isinstance(source, Workspace) else Cache(cache_directory()))
    origin = source.store if isinstance(source, Workspace) else Location(source).store()
    place = Location(destination)
    refuse_one_location(origin, place)
    seen = look(origin)
    last = LastSync(cache, origin.url, place.url)
    report = last.repeated(seen, place.store()) if place.exists else None
    if report is None:
        workspace = source if isinstance(source, Workspace) else Workspace.open(origin, cache=cache)
        report = _report(workspace, place, cache, dry_run, progress or (lambda _: None))
        if not dry_run:
            current = report.snapshot_id == (workspace.log.head().snapshot or "")
            last.remember(seen, place.store(), report, current)
    seconds = round(time.monotonic() - started, 3)
    names = {"source": source if isinstance(source, str) else origin.url, "destination": destination}
    return report.model_copy(update={**names, "dry_run": dry_run, "seconds": seconds})


def _report(source: Workspace, place: Location, cache: Cache, dry_run: bool, watch: Watcher) -> SyncReport:
    watch(Progress("looking"))
    if dry_run:
        there = _as_it_is(source, place, cache)
        return _Run(source, there or empty_copy(source, cache), cache, watch, created=there is None).forecast()
    if not place.exists:
        return _pack(source, place, cache, watch)
    with place.written(source, cache) as (there, created):
        return _Run(source, there, cache, watch, created).carry_out()


def _as_it_is(source: Workspace, place: Location, cache: Cache) -> Workspace | None:
    """The destination for reading; None where it does not exist yet."""
    if not place.exists:
        return None
    store = place.store()
    try:
        workspace = Workspace.open(store, cache=cache)
    except NotFound:
        require_empty(store, place.name)
        return None
    require_destination(source, workspace, place.name)
    return workspace


def _pack(source: Workspace, place: Location, cache: Cache, watch: Watcher) -> SyncReport:
    """Make the packed file, which is not there yet."""
    run = _Run(source, empty_copy(source, cache), cache, watch, created=True)
    difference = run.difference()
    if difference.unclean:
        raise Conflict(
            f"{difference.unclean[0].id} at the source still holds what is erased, which must not be packed",
            next_step="tychora manage SOURCE collect, then sync again; or sync into a directory first",
        )
    packed = format_pack.pack(source, place.url)
    return run.forecast(difference).model_copy(
        update={"snapshot_id": packed.snapshot_id, "moved_bytes": packed.bytes, "snapshots": packed.snapshots}
    )


class _Run:
    """One sync from `source` to `destination`, which is there by now."""

    def __init__(self, source: Workspace, destination: Workspace, cache: Cache, watch: Watcher, created: bool) -> None:
        self.source = source
        self.destination = destination
        self.cache = cache
        self.watch = watch
        self.created = created

    def difference(self) -> Difference:
        """What is to be done. Raises Conflict where the two are not copies of one workspace."""
        found = Difference(self.source, self.destination, self.cache)
        if self.source.marker.workspace_id != self.destination.marker.workspace_id and not found.related:
            raise Conflict(
                f"{self.destination.store.url} is another workspace, and shares no snapshot with the source",
                next_step="choose another destination, or add the documents themselves there",
            )
        return found

    def forecast(self, difference: Difference | None = None) -> SyncReport:
        """What would be done, if nobody writes meanwhile."""
        difference = difference or self.difference()
        head, conflicts = difference.destination.head, list[MergeConflict]()
        match how := relation(difference.head, head, difference.history):
            case "ahead":
                head = difference.head
            case "diverged":
                bases = self._bases(difference.head, head, difference)
                merged = merge(self._snapshot(difference.head), self._snapshot(head), bases)
                head, conflicts = content_sha256(merged.manifest.encode()), list(merged.conflicts)
        tags = self._tags(difference, move=False)
        report = self._receipt(difference, self._outcome(how), head, len(difference.statements))
        return report.model_copy(update={"conflicts": conflicts, "tags": tags})

    def carry_out(self) -> SyncReport:
        """Do it; from the beginning again where a collection takes away what was brought."""
        for attempt in range(ATTEMPTS):
            staged = Staged(self.destination)
            try:
                return self._bring(self.difference(), staged)
            except Collected:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _bring(self, difference: Difference, staged: Staged) -> SyncReport:
        _add(self.destination.statements, [each for each in difference.statements if each.kind != "replacement"])
        replacements = [each for each in difference.statements if each.kind == "replacement"]
        watch = self._watcher(*difference.forecast)
        transfer = Transfer(self.source.store, self.destination.store, self.cache, difference.at_hand, watch)
        made, clean = write_clean(self.destination, difference)
        transfer.move([*difference.files, *clean])
        # They are in force at once: then everything that they name must be there.
        staged.require(self.destination.log.head(), difference.relied)
        # The one that stands goes first: a reader, or a run that is cut, never meets one whose files are gone.
        _add(self.destination.statements, sorted([*replacements, *made], key=precedence, reverse=True))
        staged.require(self.destination.log.head(), difference.relied)
        with self._announced(difference.coming):
            transfer.move(difference.manifests)
            self.watch(Progress("committing"))
            how, snapshot_id, conflicts = self._commit(difference, staged)
            tags = self._tags(difference, move=True)
        self._say_what_is_left_out(how)
        statements = len(difference.statements) + len(made)
        report = self._receipt(difference, self._outcome(how), snapshot_id, statements)
        return report.model_copy(update={"conflicts": conflicts, "tags": tags, "moved_bytes": transfer.moved})

    def _say_what_is_left_out(self, how: str) -> None:
        """A copy of one without originals says so, too; one that has all of a source with originals no longer does."""
        if originals_left_out(self.source.store):
            if self.created:
                self.destination.store.write(LEFT_OUT, encode_left_out())
        elif how in ("equal", "ahead"):
            self.destination.store.delete(LEFT_OUT)

    def _outcome(self, how: str) -> Outcome:
        """`how` is the relation of the source's newest snapshot to the destination's."""
        if self.created:
            return "created"
        outcomes: dict[str, Outcome] = {
            "equal": "up_to_date",
            "behind": "ahead",
            "ahead": "fast_forward",
            "diverged": "merged",
        }
        return outcomes[how]

    def _receipt(self, difference: Difference, outcome: Outcome, snapshot_id: str, statements: int) -> SyncReport:
        files, size = difference.forecast
        return SyncReport(
            source=self.source.store.url,
            destination=self.destination.store.url,
            outcome=outcome,
            snapshot_id=snapshot_id,
            files=files,
            bytes=size,
            snapshots=len(difference.coming),
            statements=statements,
            refused=[NamedPath(path=path, note=note) for path, note in difference.refused],
            notes=[NamedPath(path=path, note=note) for path, note in difference.notes],
        )

    @contextmanager
    def _announced(self, coming: Sequence[str]) -> Iterator[None]:
        """Leave word of the snapshots that are coming until they are committed.

        Without it those that a run which was cut leaves behind look as if the log had lost their entries.
        """
        path = f"jobs/sync/{content_sha256(self.source.store.url.encode())}.json"
        if coming:
            self.destination.store.write(path, seal({"snapshots": coming}))
        yield
        if coming:
            self.destination.store.delete(path)

    def _commit(self, difference: Difference, staged: Staged) -> tuple[str, str, list[MergeConflict]]:
        """Put the source's newest snapshot on top of the destination's: whatever that is when it comes to it."""
        how = "equal"
        conflicts: list[MergeConflict] = []

        def propose(head: Head) -> Proposal | None:
            nonlocal how
            conflicts.clear()
            staged.require(head, difference.relied)
            newest = head.snapshot or ""
            if newest not in difference.history:
                difference.history |= self.destination.ancestors(newest)
            how = relation(difference.head, newest, difference.history)
            if how == "ahead":
                return Proposal(difference.head)
            if how != "diverged":
                return None
            bases = self._bases(difference.head, newest, difference)
            merged = merge(self.destination.snapshot(difference.head), self.destination.snapshot(newest), bases)
            conflicts.extend(merged.conflicts)
            return Proposal(self.destination.put_manifest(merged.manifest))

        after = self.destination.commit_snapshot(propose)
        return how, after.id, conflicts

    def _bases(self, one: str, other: str, difference: Difference) -> list[Snapshot]:
        """What the two snapshots have in common, as far as either place still has it."""
        common = best_common_ancestors(one, other, difference.history)
        return [self._snapshot(each) for each in common if each in difference.history]

    def _snapshot(self, snapshot_id: str) -> Snapshot:
        there = self.destination.store.size(f"snapshots/{snapshot_id}.json") is not None
        return (self.destination if there else self.source).snapshot(snapshot_id)

    def _tags(self, difference: Difference, *, move: bool) -> list[str]:
        """Make the source's tags at the destination too; one that differs moves only forward. Returns their names."""
        moved = []
        for name, snapshot_id in sorted(difference.source.tags.items()):
            there = difference.destination.tags.get(name)
            if snapshot_id not in difference.source.snapshots:
                difference.notes.append((f"tags/{name}.json", "its snapshot is not at the source: it was left out"))
            elif there is None or relation(there, snapshot_id, difference.history) == "behind":
                try:
                    if move:
                        put_tag(self.destination, name, snapshot_id)
                    moved.append(name)
                except (InvalidRequest, NotFound) as error:
                    difference.notes.append((f"tags/{name}.json", error.message))
            elif there != snapshot_id and relation(there, snapshot_id, difference.history) == "diverged":
                note = f"it is {there[:12]}… here and {snapshot_id[:12]}… at the source: it stays"
                difference.notes.append((f"tags/{name}.json", note))
        return moved

    def _watcher(self, total: int, bytes_total: int) -> Callable[[FileEntry, int, bool], None]:
        done = moved = 0

        def tell(file: FileEntry, count: int, finished: bool) -> None:
            nonlocal done, moved
            done, moved = done + finished, moved + count
            self.watch(Progress("moving", done, total, moved, file.path, bytes_total))

        return tell


def _add(statements: Statements, fresh: Sequence[Statement]) -> None:
    """Append statements that are not there; in the usual case, without a rival, by one request each."""
    number = statements.number() if fresh else 0
    for statement in fresh:
        if statements.sequence.create(number + 1, statement.encode()):
            number += 1
        else:
            number = max(number, statements.add(statement), statements.number())
