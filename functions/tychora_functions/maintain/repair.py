"""Repairs a workspace: damaged files come from another copy, from where they were captured, or are made anew.

Almost every file of a bundle has a known hash: such a repair is right or does not happen. What is lost is named.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tychora_format.batch import Batch
from tychora_format.batch_writer import Parsed, first_readers, write_batch
from tychora_format.cache import hash_file
from tychora_format.erasure import NAMELESS
from tychora_format.left_out import LEFT_OUT, originals_left_out
from tychora_format.manifest import BatchEntry, FileEntry, snapshot_path
from tychora_format.objects import object_path
from tychora_format.sealed import unseal
from tychora_format.statements import Statement
from tychora_format.store import Store
from tychora_format.store.failures import typed_failures
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.maintain.verify import verify
from tychora_functions.progress import Progress, Watcher
from tychora_functions.roots import LOOSE, Roots
from tychora_schemas.errors import CorruptWorkspace, NotFound, TychoraError
from tychora_schemas.identity import content_sha256
from tychora_schemas.receipts import NamedPath, VerifyReport

__all__ = ["repair"]

DERIVED = ("lexical/", "tables/units.parquet", "tables/symbols.parquet")
"""What follows, byte for byte, from a batch's text and its other tables. Vectors do not: Lance names its files at
random, and a family's model may not be here."""


def repair(workspace: Workspace, *, other: str | None = None, progress: Watcher | None = None) -> VerifyReport:
    """Put back every damaged or missing file that can be had, then verify everything. What is whole is not touched.

    Manifests, statements, tags, originals and files of batches come from the copy `other`; originals also from the
    registered roots of this machine; what is derived is made anew. The report's `repaired` says which file came from
    where, its `problems` are what is lost. Log entries are never among what comes from a copy: a log is of its place.

    Raises CorruptWorkspace naming a damaged statement that the copy does not have: without it nobody can tell what is
    withdrawn or erased.
    """
    source = None if other is None else _opened(other, workspace)
    repaired = _Repair(workspace, source, progress or (lambda _: None)).run()
    report = verify(Workspace.open(workspace.store, cache=workspace.cache), progress=progress)
    report.repaired = repaired
    if any(each.path.startswith(("log/", "log entry")) for each in report.problems):
        report.notes.append(
            NamedPath(path="log/", note="no copy has this log: tychora sync brings all else into a new place")
        )
    return report


def _opened(other: str, workspace: Workspace) -> Workspace:
    try:
        return Workspace.open(other, cache=workspace.cache)
    except NotFound as error:
        raise NotFound(error.message, next_step="check the path of the copy that files are to come from") from error


class _Repair:
    """One run. `repaired` grows with each file that is put back."""

    def __init__(self, workspace: Workspace, source: Workspace | None, watch: Watcher) -> None:
        self.workspace = workspace
        self.store = workspace.store
        self.source = source
        self.watch = watch
        self.repaired: list[NamedPath] = []

    def run(self) -> list[NamedPath]:
        """Statements first, since they say what must not come back; then what each step finds its files by."""
        if self.source is not None:
            self._statements(self.source)
        self._manifests()
        batches = self._batches()
        for done, entry in enumerate(batches):
            self.watch(Progress("reading", done, len(batches), current=entry.id))
            self._batch(entry)
        self._originals(batches)
        if self.source is not None:
            self._tags(self.source)
        return self.repaired

    def _put(self, path: str, data: bytes | Path, note: str) -> None:
        self.store.write(path, data)
        self.repaired.append(NamedPath(path=path, note=note))

    def _copied(self, path: str, sha256: str) -> bool:
        """Take the file from the other copy, if that has it whole."""
        if self.source is None:
            return False
        try:
            data = self.source.store.read(path)
        except TychoraError:
            return False
        if content_sha256(data) != sha256:
            return False
        self._put(path, data, f"taken from {self.source.store.url}")
        return True

    def _statements(self, source: Workspace) -> None:
        """Statements name no hash of each other: the copy's of the same number is taken where all others are alike."""
        here, there = _readable(self.workspace), _readable(source)
        if any(there.get(number, data) != data for number, data in here.items()):
            return
        sequence = self.workspace.statements.sequence
        for number in range(1, sequence.newest() + 1):
            if number not in here and number in there:
                self._put(sequence.path(number), there[number], f"taken from {source.store.url}")

    def _manifests(self) -> None:
        """The manifests that commits and other manifests name, ancestors after descendants."""
        present = self.workspace.snapshot_ids()
        waiting, seen = _committed(self.workspace), set[str]()
        kept = {*waiting}
        while waiting:
            snapshot_id = waiting.pop()
            if snapshot_id in seen or snapshot_id not in present | kept:
                continue  # a collection may have removed an ancestor
            seen.add(snapshot_id)
            with suppress(TychoraError):
                if not _is_whole(self.store, snapshot_path(snapshot_id), snapshot_id):
                    self._copied(snapshot_path(snapshot_id), snapshot_id)
                waiting += self.workspace.manifest(snapshot_id).parents

    def _batches(self) -> list[BatchEntry]:
        """The batches that any readable manifest lists, as they stand now."""
        found: dict[str, BatchEntry] = {}
        replaced = self.workspace.statements.in_force().replaced
        for snapshot_id in sorted(self.workspace.snapshot_ids()):
            with suppress(TychoraError):
                for entry in self.workspace.manifest(snapshot_id).batches:
                    found[entry.id] = replaced.get(entry.id, entry)
        return list(found.values())

    def _batch(self, entry: BatchEntry) -> None:
        left = {
            file.path.removeprefix(f"batches/{entry.id}/"): file
            for file in entry.files
            if not _is_whole(self.store, file.path, file.sha256) and not self._copied(file.path, file.sha256)
        }
        derived = {name: file for name, file in left.items() if name.startswith(DERIVED)}
        # Everything else of the batch is what they follow from, vectors excepted.
        if derived and all(name in derived or name.startswith("vectors/") for name in left):
            self._make_anew(entry, derived)

    def _make_anew(self, entry: BatchEntry, derived: Mapping[str, FileEntry]) -> None:
        with typed_failures(f"make a batch of {self.store.url} anew"):
            directory = Path(tempfile.mkdtemp(prefix="repair-", dir=self.workspace.scratch()))
        try:
            batch = Batch(entry, self.store, self.workspace.cache)
            sources = [batch.source(number) for number in range(batch.sources.num_rows)]
            leaves = enumerate(batch.erased_leaves.to_pylist())
            erased = {number: leaf for number, leaf in leaves if leaf is not None}
            with suppress(CorruptWorkspace), typed_failures(f"make a batch of {self.store.url} anew"):
                write_batch(directory, _parsed(batch), sources, {}, erased=erased, tag=entry.tag)
            for name, file in derived.items():
                # Another version of a library may write other bytes: then the file stays lost.
                if (directory / name).is_file() and hash_file(directory / name) == file.sha256:
                    self._put(file.path, directory / name, "made anew from the batch's text")
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _originals(self, batches: list[BatchEntry]) -> None:
        """The originals that a source row names, unless they are erased."""
        statements = self.workspace.statements.in_force()
        wanted: dict[str, list[SourceRow]] = {}
        for row in (row for entry in batches for row in self._rows(entry) if not statements.erases(row)):
            if row.content_sha256:
                wanted.setdefault(row.content_sha256, []).append(row)
        lost = {
            sha256: rows for sha256, rows in wanted.items() if not _is_whole(self.store, object_path(sha256), sha256)
        }
        roots = _roots(self.workspace)
        complete = True
        for done, (sha256, rows) in enumerate(lost.items()):
            self.watch(Progress("moving", done, len(lost), current=rows[0].path))
            complete &= self._copied(object_path(sha256), sha256) or self._captured_again(sha256, rows, roots)
        if complete and originals_left_out(self.store):
            self.store.delete(LEFT_OUT)
            self.repaired.append(NamedPath(path=LEFT_OUT, note="removed: all originals are here now"))

    def _rows(self, entry: BatchEntry) -> list[SourceRow]:
        """The source rows of a batch; none where that table is lost."""
        try:
            table = Batch(entry, self.store, self.workspace.cache).sources
        except TychoraError:
            return []
        return [SourceRow(**values) for values in table.to_pylist()]

    def _captured_again(self, sha256: str, rows: list[SourceRow], roots: list[tuple[Path, str, str]]) -> bool:
        for place in (place for row in rows for place in _places(row, roots)):
            with suppress(OSError):
                data = place.read_bytes() if place.is_file() else b""
                if content_sha256(data) == sha256:
                    self._put(object_path(sha256), data, f"captured again from {place}")
                    return True
        return False

    def _tags(self, source: Workspace) -> None:
        present = self.workspace.snapshot_ids()
        for file in self.store.list("tags/"):
            try:
                unseal(self.store.read(file.path), file.path)
            except CorruptWorkspace:
                with suppress(TychoraError):
                    data = source.store.read(file.path)
                    named = str(unseal(data, file.path).get("snapshot"))
                    if named in present:
                        self._put(file.path, data, f"taken from {source.store.url}, where it names {named[:16]}")


def _is_whole(store: Store, path: str, sha256: str) -> bool:
    try:
        return content_sha256(store.read(path)) == sha256
    except TychoraError:
        return False


def _readable(workspace: Workspace) -> dict[int, bytes]:
    """Number → bytes of the statements that are whole."""
    sequence = workspace.statements.sequence
    found: dict[int, bytes] = {}
    for number in sequence.numbers():
        with suppress(TychoraError):
            data = sequence.read(number)
            Statement.decode(data, sequence.path(number))
            found[number] = data
    return found


def _committed(workspace: Workspace) -> list[str]:
    """The snapshots of the log's readable entries, but for those that a collection may have removed."""
    entries = []
    for number in workspace.log.sequence.numbers():
        with suppress(TychoraError):
            entries.append(workspace.log.entry(number))
    boundary = max((entry.boundary for entry in entries), default=0)
    return [entry.snapshot for entry in entries if entry.number >= boundary]


def _parsed(batch: Batch) -> Iterator[Parsed]:
    """The extractions as they were written, each with the first source row of the batch that names it."""
    readers = first_readers(SourceRow(**values) for values in batch.sources.to_pylist())
    for ordinal in range(batch.extractions.num_rows):
        extraction = batch.parsed_again(ordinal)
        yield Parsed(extraction, readers.get(extraction.header.extraction_id, NAMELESS))


def _roots(workspace: Workspace) -> list[tuple[Path, str, str]]:
    """Location, collection and label of each root of the workspace that is registered on this machine."""
    known = Roots(workspace).known
    return [(Path(location), *each) for location, labels in known.items() for each in labels.items()]


def _places(row: SourceRow, roots: list[tuple[Path, str, str]]) -> Iterator[Path]:
    """Where on this machine a source was captured from, as far as its root is registered here."""
    for location, collection, label in roots:
        if (collection, label) == (row.collection, row.root):
            yield location / (row.path.removeprefix(label) if label.endswith("/") else row.path)
        elif (collection, label) == (row.collection, f"{LOOSE}/{row.path}"):
            yield location
