"""Which files make a snapshot travel as one packed file; packing them, and making a directory of them again.

The packed file is a whole bundle: a marker, a snapshot with as much of its history as is asked for, all that these
need, every statement, the tags of what is inside, and a log that is made anew, since the log of a location stays there.
"""

from __future__ import annotations

import heapq
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tychora_format.batch import Batch
from tychora_format.cache import Cache
from tychora_format.left_out import LEFT_OUT, encode_left_out, originals_left_out
from tychora_format.log import LogEntry
from tychora_format.manifest import BatchEntry, Manifest, snapshot_path
from tychora_format.objects import object_path
from tychora_format.packed.archive import Member, verified, write_archive
from tychora_format.packed.exclusive import exclusive, writing
from tychora_format.packed.members import members_of, of_bytes, resolved_batches
from tychora_format.sequence import Sequence
from tychora_format.statements import InForce
from tychora_format.store.failures import typed_failures
from tychora_format.store.local import make_directories, sync_directories, sync_file
from tychora_format.store.memory import MemoryStore
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import MARKER, Workspace
from tychora_schemas.errors import Conflict, InvalidRequest, TychoraError
from tychora_schemas.identity import content_sha256

__all__ = ["SUFFIX", "Packed", "Unpacked", "create", "pack", "unpack"]

SUFFIX = ".tychora"

WRITERS = 4
SYNCERS = 16
"""Threads that wait for the disk: a file system commits what several ask for together."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed file that was written. `notes` are paths of sources, each with what about it did not travel."""

    path: Path
    snapshot_id: str
    sha256: str
    files: int
    bytes: int
    snapshots: int
    notes: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A directory that was made of a packed file."""

    path: Path
    snapshot_id: str
    files: int
    bytes: int


def pack(
    workspace: Workspace,
    target: str | Path,
    *,
    at: str = "main",
    history: int | None = None,
    originals: bool = True,
    replace: bool = False,
) -> Packed:
    """Write the snapshot `at` to the packed file `target`; the same snapshot gives the same bytes on any machine.

    It holds the snapshot's ancestors too, with `history` only those at most so many steps back. Without `originals` the
    captured bytes stay behind, and the file says so: answers stay the same, but citations cannot be checked. All is
    checked while it is packed; on an error or a kill the target stays as it was. Raises CorruptWorkspace naming a
    damaged file, Busy while another process writes the target, and Conflict when the target exists and is no packed
    file of the same workspace, unless `replace` says to write over whatever it is.
    """
    place = _place(target)
    if history is not None and history < 0:
        raise InvalidRequest(f"{history} is no number of steps back", next_step="give 0 for no history at all")
    with writing(place):
        _check_target(workspace, place, replace)
        snapshot_id = workspace.resolve(at).id
        manifests = _history(workspace, snapshot_id, history)
        statements = workspace.statements.in_force()
        batches = {
            entry.id: entry for manifest in manifests.values() for entry in resolved_batches(manifest, statements)
        }
        notes = _incomplete(workspace, snapshot_id) if at == "main" else []
        members = [*_named(workspace, manifests), *_batch_files(workspace, batches)]
        left_out = originals_left_out(workspace.store)
        if originals:
            members += _originals(workspace, batches, statements, [] if left_out else notes)
        if left_out or not originals:
            members.append(of_bytes(LEFT_OUT, encode_left_out()))
        written = write_archive(place, members)
    return Packed(place, snapshot_id, written.sha256, written.files, written.size, len(manifests), notes)


def create(target: str | Path, *, profile: str = "documents", settings: Mapping[str, Any] | None = None) -> None:
    """Make an empty workspace in the packed file `target`. Raises Conflict when there is a file of that name."""
    place = _place(target)
    with writing(place):
        if place.exists():
            raise Conflict(f"{target} exists", next_step="use it as it is, or choose another name")
        empty = Workspace.create(MemoryStore(str(target)), profile=profile, settings=settings)
        write_archive(place, members_of(empty))


def _place(target: str | Path) -> Path:
    """Where the packed file is to lie, links followed, so that all who write it meet at one lock."""
    place = Path(os.path.realpath(Path(target).expanduser()))
    if place.suffix != SUFFIX:
        raise InvalidRequest(f"{target} does not end in {SUFFIX}", next_step=f"call it {target}{SUFFIX}")
    return place


def _check_target(workspace: Workspace, target: Path, replace: bool) -> None:
    if target.is_dir():
        raise InvalidRequest(f"{target} is a folder", next_step="give the name of a file, NAME.tychora")
    if replace or not target.exists():
        return
    try:
        there = Workspace.open(PackedStore(target), cache=workspace.cache).marker.workspace_id
        what = "" if there == workspace.marker.workspace_id else "holds another workspace"
    except TychoraError:
        what = "is no packed workspace"
    if what:
        raise Conflict(
            f"{target} exists and {what}", next_step="choose another name, or remove the file if nobody needs it"
        )


def _incomplete(workspace: Workspace, snapshot_id: str) -> list[tuple[str, str]]:
    """A note when the newest commit names another snapshot than `snapshot_id`, because files of it are not here."""
    newest = workspace.log.head().snapshot
    if not newest or newest == snapshot_id:
        return []
    return [(snapshot_path(newest), "the newest snapshot is not complete here: the last one that is was packed")]


def _history(workspace: Workspace, snapshot_id: str, steps: int | None) -> dict[str, Manifest]:
    """The manifests of a snapshot and of its ancestors at most `steps` back, as far as they are here."""
    present = workspace.snapshot_ids()
    found: dict[str, Manifest] = {}
    level, distance = {snapshot_id}, 0
    while level and (steps is None or distance <= steps):
        found |= {each: workspace.manifest(each) for each in sorted(level & present)}
        level = {parent for each in level & present for parent in found[each].parents} - found.keys()
        distance += 1
    return found


def _named(workspace: Workspace, manifests: Mapping[str, Manifest]) -> Iterator[Member]:
    """The small files: marker, manifests, tags, statements and log."""
    yield of_bytes(MARKER, workspace.store.read(MARKER))
    for entry in workspace.store.list("snapshots/"):
        name = Path(entry.path).stem
        if name in manifests:
            yield Member(snapshot_path(name), entry.size, workspace.store, name)
    for name, snapshot_id in workspace.tags.all().items():
        if snapshot_id in manifests:
            yield of_bytes(f"tags/{name}.json", workspace.store.read(f"tags/{name}.json"))
    statements = sorted(workspace.statements.all(), key=lambda statement: statement.id)
    for number, statement in enumerate(statements, start=1):
        yield of_bytes(workspace.statements.sequence.path(number), statement.encode())
    yield from _log(workspace.log.sequence, manifests)


def _log(sequence: Sequence, manifests: Mapping[str, Manifest]) -> Iterator[Member]:
    """A log that says what the snapshots themselves say: each committed once, after its ancestors."""
    previous = None
    for number, snapshot_id in enumerate(_oldest_first(manifests), start=1):
        entry = LogEntry(
            number=number,
            snapshot=snapshot_id,
            previous=previous,
            base=number - 1,
            boundary=0,
            write_id="packed",
            time=manifests[snapshot_id].time,
        ).encode()
        previous = content_sha256(entry)
        yield of_bytes(sequence.path(number), entry)


def _oldest_first(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    """The snapshots, ancestors first; where that leaves a choice, the earlier one, then the one of the lower id."""
    children: dict[str, list[str]] = {each: [] for each in manifests}
    missing: dict[str, int] = {}
    for each, manifest in manifests.items():
        parents = {parent for parent in manifest.parents if parent in manifests}
        missing[each] = len(parents)
        for parent in parents:
            children[parent].append(each)
    ready = [(manifests[each].when, each) for each, count in missing.items() if not count]
    heapq.heapify(ready)
    while ready:
        _, each = heapq.heappop(ready)
        yield each
        for child in children[each]:
            missing[child] -= 1
            if not missing[child]:
                heapq.heappush(ready, (manifests[child].when, child))


def _batch_files(workspace: Workspace, batches: Mapping[str, BatchEntry]) -> Iterator[Member]:
    for entry in batches.values():
        for file in entry.files:
            yield Member(file.path, file.size, workspace.store, file.sha256)


def _originals(
    workspace: Workspace, batches: Mapping[str, BatchEntry], statements: InForce, notes: list[tuple[str, str]]
) -> Iterator[Member]:
    """Each retained original that a source row of the batches names, live or past, unless it is erased."""
    present = {entry.path: entry.size for entry in workspace.store.list("objects/")}
    wanted: dict[str, str] = {}
    for batch_id in sorted(batches):
        rows = Batch(batches[batch_id], workspace.store, workspace.cache).sources
        contents, paths = rows.column("content_sha256").to_pylist(), rows.column("path").to_pylist()
        for content, path in zip(contents, paths, strict=True):
            if content and content not in statements.erased:
                wanted.setdefault(content, path)
    for content, path in wanted.items():
        size = present.get(object_path(content))
        if size is None:
            notes.append((path, f"its original {content[:12]}… is not retained here and was not packed"))
        else:
            yield Member(object_path(content), size, workspace.store, content)


def unpack(source: str | Path, directory: str | Path, *, cache: Cache | None = None) -> Unpacked:
    """Make the bundle in the packed file `source` a directory, which is absent or empty before.

    Everything is checked: the form of the file before anything is written, every hash while it is, in a folder beside
    the directory that takes its name at last. A kill leaves that folder, which the next call removes. Raises
    CorruptWorkspace for a damaged or hostile file, Conflict when the directory holds something, Busy while another
    process unpacks to it.
    """
    workspace = Workspace.open(PackedStore(source), cache=cache)
    target = Path(os.path.realpath(Path(directory).expanduser()))
    _check_empty(target)
    members = list(members_of(workspace))
    beside = target.with_name(f".{target.name}.unpacking")
    made = beside / "workspace"
    try:
        with exclusive(beside / "lock", str(target)), typed_failures(f"unpack to {target}"):
            try:
                shutil.rmtree(made, ignore_errors=True)
                _write_tree(made, members)
                _check_empty(target)
                with suppress(FileNotFoundError):
                    target.rmdir()
                made.rename(target)
                sync_directories({target.parent})
            finally:
                shutil.rmtree(made, ignore_errors=True)
    finally:
        with suppress(OSError):
            beside.rmdir()
    snapshot_id = workspace.log.head().snapshot or ""
    return Unpacked(target, snapshot_id, len(members), sum(member.size for member in members))


def _check_empty(target: Path) -> None:
    with typed_failures(f"look into {target}"):
        if target.is_dir():
            if next(target.iterdir(), None) is not None:
                raise Conflict(f"{target} is not empty", next_step="choose a new or an empty folder")
        elif target.exists():
            raise InvalidRequest(f"{target} is a file", next_step="choose a new or an empty folder")


def _write_tree(folder: Path, members: list[Member]) -> None:
    """Write the members below `folder`; they are durable when this returns."""
    directories = make_directories(folder)
    for parent in sorted({folder / Path(member.path).parent for member in members}):
        directories |= make_directories(parent)

    def write(member: Member) -> None:
        with (folder / member.path).open("wb") as stream:
            for block in verified(member):
                stream.write(block)

    def sync(member: Member) -> None:
        sync_file(folder / member.path)

    for threads, work in ((WRITERS, write), (SYNCERS, sync)):
        with ThreadPoolExecutor(threads, thread_name_prefix="unpack") as pool:
            try:
                for _ in pool.map(work, members):
                    pass
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    sync_directories(directories)
