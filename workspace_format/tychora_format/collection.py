"""Collection of garbage: which files no kept snapshot reaches, and how they are removed beside readers and writers.

A collection is opened by a log entry that names the list of files that it removes, and closed by another. Between the
two no commit may count on what is listed (`staging`), and an entry based on an older one is void (`log`). So nothing
depends on time: the grace period only spares work that is under way. SPEC.md section 7 has the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from tychora_format.batch import Batch
from tychora_format.history import ancestors, lineage
from tychora_format.leases import READERS, held
from tychora_format.log import Head, LogEntry, Proposal
from tychora_format.manifest import BatchEntry, Manifest, snapshot_path
from tychora_format.objects import object_path
from tychora_format.statements import InForce
from tychora_format.store import Entry
from tychora_format.workspace import Workspace
from tychora_schemas.errors import CorruptWorkspace, TychoraError

__all__ = ["Collection", "Garbage", "close_collection", "open_collection", "remove"]

COLLECTABLE = ("snapshots/", "batches/", "objects/", "staging/", "jobs/", READERS)
"""What a collection looks at, in the order in which it removes: a manifest goes before the files that it names, so that
at no moment a manifest is there that names a file that is not."""

GROUP = 256
"""Files removed between two looks at the lease."""

REMOVERS = 8

NAMES = ("source_id", "revision_id", "content_sha256")
"""The columns of a source row by any of which it may be erased."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """What a collection on top of one head would remove, and how many unreachable files it leaves as too young."""

    files: tuple[Entry, ...]
    young: int
    absent: tuple[str, ...] = ()
    """Originals that kept sources name and that are not here: the workspace came from one packed without them."""

    @property
    def snapshots(self) -> list[str]:
        """Ids of the snapshots whose manifests are removed."""
        prefix = COLLECTABLE[0]
        return [
            file.path.removeprefix(prefix).removesuffix(".json") for file in self.files if file.path.startswith(prefix)
        ]


@dataclass(slots=True)
class _Needed:
    """The files that kept snapshots need."""

    files: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


class Collection:
    """One look at a workspace: the files that were there when it was made, and what each head reaches of them.

    What is immutable is read once, however often a rival's commit makes it look again. With `history` only the newest
    state and as many before it are kept (and what tags and leases name), else every snapshot that the log leads to.
    """

    def __init__(self, workspace: Workspace, *, grace: float, history: int | None = None) -> None:
        """`grace` is in seconds of the store's own clock: younger files stay."""
        self.workspace = workspace
        self.history = history
        self.files = {file.path: file for prefix in COLLECTABLE for file in workspace.store.list(prefix)}
        self._oldest = workspace.store.now() - grace
        self._entries: dict[int, LogEntry] = {entry.number: entry for entry in workspace.log.history()}
        self._newest = max(self._entries, default=0)
        self._manifests: dict[str, Manifest] = {}
        self._contents: dict[tuple[str, int], frozenset[str]] = {}

    def garbage(self, head: Head) -> Garbage:
        """What nothing needs that `head` leads to. Raises CorruptWorkspace where a file is missing that is needed."""
        statements = self.workspace.statements.in_force()
        needed = self._needed(head, statements)
        unreachable = {path: file for path, file in self.files.items() if path not in needed.files}
        erased = self._erased(statements)
        young = {path for path, file in unreachable.items() if file.modified > self._oldest and not erased(path)}
        # A manifest that stays, as it is young or came after the look at the files, keeps what it names: else the next
        # collection would find it damaged.
        for path in {snapshot_path(each) for each in self.workspace.snapshot_ids()} - needed.files:
            if path in young or path not in self.files:
                with suppress(TychoraError):
                    young |= self._reach([self._manifest(_snapshot_id(path))], statements, _Needed()).files
        removed = tuple(file for path, file in unreachable.items() if path not in young)
        return Garbage(removed, len(unreachable) - len(removed), tuple(sorted(needed.absent)))

    def spared(self, head: Head, doomed: Iterable[str]) -> set[str]:
        """Those of the files that an open collection removes that are needed all the same.

        What a commit counts on is never among them. What a tag, a lease or a statement names may be: those are made
        beside the log. Who makes one looks afterwards at what the collection removes; the collection, opened, looks at
        them. So one of both sees the other.
        """
        return self._needed(head, self.workspace.statements.in_force()).files.intersection(doomed)

    def _needed(self, head: Head, statements: InForce) -> _Needed:
        leases = held(self.workspace.store)
        manifests = self._kept(head, {*leases.values()} - {""})
        needed = self._reach(manifests.values(), statements, _Needed())
        needed.files |= {snapshot_path(each) for each in manifests}
        for path in needed.files - self.files.keys():
            self._require(path)
        needed.files.update(leases)
        return needed

    def _require(self, path: str) -> None:
        size = self.workspace.store.size(path)
        if size is None:
            raise CorruptWorkspace(
                f"{path} is missing, though a snapshot that is kept needs it: nothing was removed",
                next_step="restore the file from another copy (tychora verify names all that are missing)",
            )
        self.files[path] = Entry(path, size, float("inf"))

    def _kept(self, head: Head, leased: set[str]) -> dict[str, Manifest]:
        """The snapshots that stay, by id."""
        for number in range(self._newest + 1, head.newest + 1):
            entry = self.workspace.log.entry(number)
            if not self.workspace.log.is_void(entry):
                self._entries[number] = entry
        self._newest = max(self._newest, head.newest)
        log = [self._entries[number] for number in sorted(self._entries, reverse=True)]
        present = self.workspace.snapshot_ids()
        named = {entry.snapshot for entry in log}
        roots = {*self.workspace.tags.all().values(), *(leased & present)} | (
            {head.snapshot} if head.snapshot else set()
        )
        if missing := named - present - roots:
            removed = self.workspace.collected()
            roots |= {each for each in missing if snapshot_path(each) not in removed}
        for each in sorted(roots - present):
            self._require(snapshot_path(each))
        if self.history is not None:
            states = lineage(self._manifest, present, log)[: self.history + 1]
            return {each: self._manifest(each) for each in sorted(roots | {state.snapshot for state in states})}
        kept: dict[str, Manifest] = {}
        for each in sorted(named & present | roots):
            kept |= ancestors(self._manifest, present | roots, each, kept)
        return kept

    def _manifest(self, snapshot_id: str) -> Manifest:
        if snapshot_id not in self._manifests:
            self._manifests[snapshot_id] = self.workspace.manifest(snapshot_id)
        return self._manifests[snapshot_id]

    def _reach(self, manifests: Iterable[Manifest], statements: InForce, needed: _Needed) -> _Needed:
        """Add the files of the batches of `manifests`, as they stand now, and the originals that their sources name."""
        batches = {entry.id: entry for manifest in manifests for entry in manifest.batches}
        for named, entry in batches.items():
            current = statements.replaced.get(named, entry)
            needed.files.update(file.path for file in current.files)
            for content in self._contents_of(current, statements):
                path = object_path(content)
                if path in self.files or self.workspace.store.size(path) is not None:
                    needed.files.add(path)
                else:
                    needed.absent.add(path)
        return needed

    def _contents_of(self, entry: BatchEntry, statements: InForce) -> frozenset[str]:
        """The originals that the source rows of a batch name, past ones too. An erased row names nothing any more."""
        key = entry.id, statements.number
        if key not in self._contents:
            table = Batch(entry, self.workspace.store, self.workspace.cache).table("sources")
            if table is None and entry.sources:
                raise CorruptWorkspace(
                    f"{entry.id} lists no table of its {entry.sources} sources: nothing was removed",
                    next_step="run tychora verify, and restore the batch from another copy",
                )
            columns = [table.column(name).to_pylist() for name in NAMES] if table is not None else []
            rows = set(zip(*columns, strict=True))
            self._contents[key] = frozenset(row[-1] for row in rows if row[-1] and statements.erased.isdisjoint(row))
        return self._contents[key]

    def _erased(self, statements: InForce) -> Callable[[str], bool]:
        """Whether a file holds what was erased: that goes whatever its age."""
        past = {each for statement in self.workspace.statements.all() for each in _replaced_batches(statement.subject)}
        return lambda path: path.rsplit("/", 1)[-1] in statements.erased or path.split("/")[1] in past


def _replaced_batches(subject: Mapping[str, object]) -> Iterable[str]:
    entry = subject.get("entry")
    return (str(each) for each in (subject.get("batch"), entry.get("id") if isinstance(entry, dict) else None) if each)


def _snapshot_id(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".json")


def open_collection(workspace: Workspace, collection: Collection) -> tuple[str, Garbage] | None:
    """Commit the list of what is removed from now on; returns its digest, None where there is nothing to remove.

    The list is computed from exactly the head that the entry stands on, again for each rival that is faster.
    """
    found: list[tuple[str, Garbage]] = []

    def propose(head: Head) -> Proposal | None:
        found.clear()
        garbage = collection.garbage(head)
        if not garbage.files:
            return None
        digest = workspace.put_doomed(file.path for file in garbage.files)
        found.append((digest, garbage))
        return Proposal(head.snapshot or workspace.put_manifest(workspace.empty().manifest), opens=digest)

    workspace.commit_snapshot(propose)
    return found[0] if found else None


def remove(workspace: Workspace, paths: Iterable[str], still_ours: Callable[[int], None]) -> None:
    """Delete the files: all manifests before the first batch, and those before the first original.

    `still_ours` is told before each group how many are gone already, and raises when another collector took over.
    """
    waiting = sorted(paths)
    done = 0
    with ThreadPoolExecutor(REMOVERS) as pool:
        for prefix in COLLECTABLE:
            chosen = [path for path in waiting if path.startswith(prefix)]
            for start in range(0, len(chosen), GROUP):
                still_ours(done)
                group = chosen[start : start + GROUP]
                list(pool.map(workspace.store.delete, group))
                done += len(group)


def close_collection(workspace: Workspace, digest: str) -> None:
    """Commit that the collection with this list is over; nothing where another collector did."""

    def propose(head: Head) -> Proposal | None:
        return Proposal(head.snapshot, closes=True) if head.collecting == digest and head.snapshot else None

    workspace.commit_snapshot(propose)
