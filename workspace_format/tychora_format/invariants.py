"""What is true of every bundle at every moment. `tychora verify` and the tests share these checks.

Each check yields a `Problem` per violation and goes on; none stops at the first. SPEC.md section 8 numbers them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tychora_format.batch import Batch
from tychora_format.cache import Cache
from tychora_format.extraction import unit_id
from tychora_format.left_out import LEFT_OUT, originals_left_out
from tychora_format.manifest import BatchEntry, FileEntry, Manifest, snapshot_path
from tychora_format.objects import object_path
from tychora_format.sealed import unseal
from tychora_format.snapshot import Snapshot, content_root
from tychora_format.statements import InForce
from tychora_format.store import Store, proves_put_if_absent
from tychora_format.tables import UNIT_PREFIX
from tychora_format.workspace import MARKER, Workspace
from tychora_schemas.errors import AccessDenied, InvalidRequest, TychoraError
from tychora_schemas.identity import content_sha256, identity, merkle_root

__all__ = [
    "Problem",
    "check_batch",
    "check_files",
    "check_log",
    "check_objects",
    "check_snapshot",
    "check_store",
    "unnamed_snapshots",
]


EMPTY_ROOT = "0" * 64
"""What the manifest of a workspace without any batch may state."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A violated invariant: the file or id that is at fault, and what is wrong with it."""

    where: str
    what: str


def check_store(store: Store) -> Iterator[Problem]:
    """1. The store honours put-if-absent."""
    try:
        if not proves_put_if_absent(store):
            yield Problem(store.url, "the store does not honour put-if-absent: it must not be shared by writers")
    except (AccessDenied, InvalidRequest):
        return  # what cannot be written cannot be overwritten either
    except TychoraError as error:
        yield Problem(store.url, f"whether the store honours put-if-absent cannot be told: {error.message}")


def check_log(workspace: Workspace) -> Iterator[Problem]:
    """2. The marker, the log, the tags and the statements are whole; the log has no gap and no broken link."""
    for path, read in (
        (MARKER, lambda: Workspace.open(workspace.store, cache=workspace.cache)),
        (LEFT_OUT, lambda: originals_left_out(workspace.store)),
    ):
        try:
            read()
        except TychoraError as error:
            yield Problem(path, error.message)
    previous = None
    for expected, number in enumerate(workspace.log.sequence.numbers(), start=1):
        path = workspace.log.sequence.path(number)
        try:
            data = workspace.log.sequence.read(number)
            entry = workspace.log.entry(number)
        except TychoraError as error:
            yield Problem(path, error.message)
            previous = None
            continue
        if number != expected:
            yield Problem(path, f"the log has a gap before it: entry {expected} is missing")
            return
        if previous is not None and entry.previous != previous:
            yield Problem(path, "it does not continue the entry before it, or that one was altered")
        if entry.base >= number:
            yield Problem(path, f"it says that it was based on entry {entry.base}, which came later")
        previous = content_sha256(data)
    for file in workspace.store.list("tags/"):
        try:
            workspace.resolve(file.path.removeprefix("tags/").removesuffix(".json"))
        except TychoraError as error:
            yield Problem(file.path, error.message)
    numbers = workspace.statements.sequence.numbers()
    for missing in sorted(set(range(1, max(numbers, default=0))) - set(numbers)):
        yield Problem(workspace.statements.sequence.path(missing), "it is missing: what it hid may be shown")
    try:
        workspace.statements.all()
    except TychoraError as error:
        yield Problem("statements/", error.message)
    try:
        workspace.collected()
    except TychoraError as error:
        yield Problem("log/collected/", error.message)


def unnamed_snapshots(workspace: Workspace) -> Iterator[tuple[Problem, bool]]:
    """Snapshots that no commit leads to, each with whether that proves a loss.

    A writer that was killed, or beaten by a rival, leaves such a snapshot behind, always without descendants. One that
    another continues was committed: then the log has lost its entry, unless a sync has left word that it was bringing
    both.
    """
    present = {Path(file.path).stem for file in workspace.store.list("snapshots/")}
    named: set[str] = set()
    parents: dict[str, tuple[str, ...]] = {}
    for number in workspace.log.sequence.numbers():
        with suppress(TychoraError):
            named.add(workspace.log.entry(number).snapshot)
    with suppress(TychoraError):
        named |= set(workspace.tags.all().values())
    for snapshot_id in present:
        with suppress(TychoraError):
            parents[snapshot_id] = workspace.manifest(snapshot_id).parents
    waiting = [*named]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in named:
                named.add(parent)
                waiting.append(parent)
    continued = {parent for each in parents.values() for parent in each}
    coming = _coming(workspace.store)
    for snapshot_id in sorted(present - named):
        lost = snapshot_id in continued and snapshot_id not in coming
        if snapshot_id in coming:
            yield Problem(snapshot_path(snapshot_id), "a sync that was interrupted brought it: sync again"), False
            continue
        what = "a later snapshot continues it" if lost else "a writer was interrupted, or the log was cut"
        yield Problem(snapshot_path(snapshot_id), f"no commit leads to it: {what}"), lost


def _coming(store: Store) -> set[str]:
    """The snapshots that syncs were bringing here when they were interrupted, if they were."""
    found: set[str] = set()
    for file in store.list("jobs/sync/"):
        with suppress(TychoraError):
            found |= {str(each) for each in unseal(store.read(file.path), file.path).get("snapshots", ())}
    return found


def check_files(store: Store, entries: list[FileEntry], sample: float, seed: int = 0) -> Iterator[Problem]:
    """3. Every file that a manifest names is there, with its size and SHA-256. `sample` is the share to hash."""
    chance = random.Random(seed)
    for entry in entries:
        try:
            size = store.size(entry.path)
            if size is None:
                yield Problem(entry.path, "it is missing")
            elif size != entry.size:
                yield Problem(entry.path, f"it has {size} bytes, the manifest says {entry.size}")
            elif chance.random() < sample and content_sha256(store.read(entry.path)) != entry.sha256:
                yield Problem(entry.path, "its bytes are not those that the manifest names")
        except TychoraError as error:
            yield Problem(entry.path, error.message)


def check_objects(store: Store, sample: float, seed: int = 0) -> Iterator[Problem]:
    """4. Every object and every manifest has the hash that its name says."""
    chance = random.Random(seed)
    for prefix in ("objects/", "snapshots/"):
        for file in store.list(prefix):
            named = file.path.rsplit("/", 1)[-1].removesuffix(".json")
            expected = object_path(named) if prefix == "objects/" else snapshot_path(named)
            if file.path != expected:
                yield Problem(file.path, "it does not belong here: its name is no hash")
            elif (prefix == "snapshots/" or chance.random() < sample) and content_sha256(
                store.read(file.path)
            ) != named:
                yield Problem(file.path, "its bytes do not match its name")


def check_batch(entry: BatchEntry, store: Store, cache: Cache, statements: InForce | None = None) -> Iterator[Problem]:
    """5. A batch's id, counts, Merkle roots and unit ids follow from its files; what is erased left its hashes."""
    names = [[file.path.removeprefix(f"batches/{entry.id}/"), file.size, file.sha256] for file in entry.files]
    if identity("batch", names) != entry.id:
        yield Problem(entry.id, "its id does not follow from its files")
    batch = Batch(entry, store, cache)
    found: list[str] = []
    batch.check_rows(found.append)
    yield from (Problem(entry.id, each) for each in found)
    roots = [bytes.fromhex(root) for root in batch.extractions.column("merkle_root").to_pylist()]
    if merkle_root(roots).hex() != entry.merkle_root:
        yield Problem(entry.id, "its Merkle root does not follow from its extractions")
    yield from _check_units(batch, (statements or InForce()).erased)
    yield from _check_tombstones(batch, statements or InForce())
    for family in entry.families:
        if batch.vectors(family) is None:
            yield Problem(entry.id, f"its vectors of {family} are missing")


def _check_tombstones(batch: Batch, statements: InForce) -> Iterator[Problem]:
    for number, leaf in enumerate(batch.erased_leaves.to_pylist()):
        if leaf is not None and not statements.erases(batch.source(number)):
            yield Problem(batch.id, f"source row {number} lacks everything but its ids, and no statement erases it")


def _check_units(batch: Batch, erased: frozenset[str]) -> Iterator[Problem]:
    table = batch.table("units")
    stored = iter(table.column("unit_prefix").to_pylist() if table is not None else [])
    for ordinal in range(batch.extractions.num_rows):
        extraction = batch.extraction(ordinal)
        if not extraction.rows and extraction.content_sha256 in erased:
            continue
        leaves: list[bytes] = []
        for chunk in batch.chunks(range(extraction.first_row, extraction.first_row + extraction.rows)):
            position = 0
            for span in chunk.units:
                text = chunk.text[span.start : span.end]
                if span.start < position or not text:
                    yield Problem(batch.id, f"row {chunk.row}: its units overlap, or one of them is empty")
                position = span.end
                leaf = unit_id(extraction.content_sha256, len(leaves), span.kind, text, span.locator)
                if next(stored, None) != leaf[:UNIT_PREFIX]:
                    yield Problem(batch.id, f"row {chunk.row}: a unit's id does not follow from its text and place")
                leaves.append(leaf)
            if chunk.extraction != ordinal:
                yield Problem(batch.id, f"row {chunk.row} belongs to another extraction than its table says")
        if merkle_root(leaves).hex() != extraction.merkle_root or len(leaves) != extraction.units:
            yield Problem(extraction.extraction_id, "its Merkle root or its number of units is wrong")


def check_snapshot(snapshot: Snapshot, store: Store, *, left_out: bool = False) -> Iterator[Problem]:
    """6. Every live source is live once, its extraction is in a batch, its original is retained, the root is right.

    In a copy that was made with originals `left_out` one may be missing, but not cut.
    """
    manifest: Manifest = snapshot.manifest
    where = snapshot_path(snapshot.id)
    roots = {content_root(snapshot.recorded)} | (set() if manifest.batches else {EMPTY_ROOT})
    if manifest.content_root not in roots:
        yield Problem(where, "its content root does not follow from its live sources")
    tags = [entry.tag for entry in manifest.batches if entry.rows]
    if len(set(tags)) != len(tags) or len({entry.id for entry in manifest.batches}) != len(manifest.batches):
        yield Problem(where, "it lists a batch twice, or two of the same tag")
    for named, batch in zip(manifest.batches, snapshot.batches, strict=True):
        kept = (batch.entry.merkle_root, batch.entry.sources)
        if batch.entry != named and kept != (named.merkle_root, named.sources):
            yield Problem(named.id, "the batch that stands for it is not the same without what was erased")
    known = {each for batch in snapshot.batches for each in batch.extractions.column("extraction_id").to_pylist()}
    seen: set[str] = set()
    for live in snapshot.live_sources(lambda row: not snapshot.statements.erases(row), hidden=True):
        row = live.row
        if row.source_id in seen:
            yield Problem(row.source_id, f"{row.path} is live twice")
        seen.add(row.source_id)
        if row.state == "indexed" and row.extraction_id not in known:
            yield Problem(row.source_id, f"{row.path}: its extraction is in no batch")
        if row.content_sha256:
            size = store.size(object_path(row.content_sha256))
            if size != row.size and not (size is None and left_out):
                yield Problem(object_path(row.content_sha256), f"the original of {row.path} is missing or cut")
