"""What a destination lacks of a source: the plan of a sync. Making it writes nothing, at neither place.

What the plan needs to read (manifests, tables of sources) is read from the nearer place, and kept at hand: it is not
fetched a second time when it is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from tychora_format.batch import Batch
from tychora_format.cache import Cache
from tychora_format.erasure import entailed, erasure_statement
from tychora_format.manifest import BatchEntry, FileEntry, Manifest, snapshot_path
from tychora_format.objects import object_path
from tychora_format.statements import InForce, Statement, in_force
from tychora_format.store.remote import TRANSFERS, in_parallel
from tychora_format.transfer import present, sizes
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.copies.sides import Side, reached
from tychora_schemas.errors import CorruptWorkspace
from tychora_schemas.identity import identity

__all__ = ["Difference"]

ROWS = ("source_id", "revision_id", "content_sha256", "size", "path")


@dataclass(slots=True)
class _Originals:
    """Originals that source rows name, by path in the bundle, each with the path of a source."""

    wanted: dict[str, tuple[FileEntry, str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Difference:
    """What `destination` lacks of `source`, as both are now."""

    def __init__(self, source: Workspace, destination: Workspace, cache: Cache) -> None:
        self.cache = cache
        self.source = Side.of(source)
        self.destination = Side.of(destination)
        self.at_hand: dict[str, Path] = {}
        """Copies on this machine of files of the source, by path."""
        self.notes: list[tuple[str, str]] = []
        """Paths, each with what about it is worth looking at."""
        self.refused: list[tuple[str, str]] = []
        """Paths of sources whose erased originals the source still holds."""
        self.spoiled: set[str] = set()
        """Snapshots whose manifest is damaged at the destination and whole at the source."""
        self.history = self._histories()
        self.statements, self.in_force = self._statements()
        self.unclean: list[Batch] = []
        """Batches of the source that still hold what is erased: they are written anew instead of being moved."""
        self.outdated: dict[str, str] = {}
        """Batches among these → the one that stands for them by a statement, but is at neither place any more."""
        self.relied: dict[str, int] = {}
        """Every file of batches and originals that the source's history needs, by path, with its size."""
        self.files = self._files()
        """Files of batches and originals to be moved."""
        self.manifests = self._manifests()
        """Manifests to be moved."""

    @property
    def head(self) -> str:
        """The source's newest snapshot; empty before its first commit."""
        return self.source.head

    @property
    def related(self) -> bool:
        """Whether both places share a snapshot, or one of them has none."""
        here, there = (self._reached[side].keys() for side in (self.source, self.destination))
        return not here or not there or not here.isdisjoint(there)

    @cached_property
    def coming(self) -> list[str]:
        """The snapshots that are new to the destination."""
        return sorted(self._reached[self.source].keys() - (self._reached[self.destination].keys() - self.spoiled))

    @cached_property
    def forecast(self) -> tuple[int, int]:
        """How many files are to be moved, and their bytes."""
        files = [*self.files, *self.manifests, *(file for batch in self.unclean for file in batch.entry.files)]
        return len(files), sum(file.size for file in files)

    def _histories(self) -> dict[str, Manifest]:
        """All manifests that the heads and tags of both places lead to."""
        sizes = {**self.source.snapshots, **self.destination.snapshots}
        with ThreadPoolExecutor(TRANSFERS, thread_name_prefix="history") as pool:
            # All at once, as a walk would learn of each parent only after its child. What nothing leads to may be
            # damaged: that shows only when it is asked for.
            read = {each: pool.submit(self._manifest, each, size) for each, size in sizes.items()}
            self._reached = {
                side: reached(read, [side.head, *side.tags.values()], side.snapshots)
                for side in (self.source, self.destination)
            }
        return {**self._reached[self.source], **self._reached[self.destination]}

    def _manifest(self, snapshot_id: str, size: int) -> Manifest:
        file = FileEntry(path=snapshot_path(snapshot_id), size=size, sha256=snapshot_id)
        side = self._nearer(snapshot_id in self.destination.snapshots)
        if snapshot_id not in self.source.snapshots:
            side = self.destination
        try:
            place = self.cache.fetch(side.store, file.path, file.size, file.sha256)
        except CorruptWorkspace:
            if side is self.source or snapshot_id not in self.source.snapshots:
                raise
            # Half of a file, which a run that was cut may have left: it is brought again.
            self.spoiled.add(snapshot_id)
            side = self.source
            place = self.cache.fetch(side.store, file.path, self.source.snapshots[snapshot_id], file.sha256)
        if side is self.source:
            self.at_hand[file.path] = place
        return Manifest.decode(place.read_bytes(), snapshot_id)

    def _nearer(self, at_destination: bool) -> Side:
        """Where to read what is at the source, and at the destination too or not."""
        return self.destination if at_destination and (self.destination.near or not self.source.near) else self.source

    def _statements(self) -> tuple[list[Statement], InForce]:
        """The statements that the destination lacks, and what is in force when it has them."""
        there = {each.id: each for each in self.destination.workspace.statements.all()}
        missing = [each for each in self.source.workspace.statements.all() if each.id not in there]
        lost = set(self._lost_replacements(missing))
        missing = [each for each in missing if each.id not in lost]
        return missing, in_force([*there.values(), *missing], 0)

    def _lost_replacements(self, statements: Iterable[Statement]) -> Iterator[str]:
        """Statements that batches of the destination alone are replaced by ones that the source has no longer."""
        own = {each.id for manifest in self._reached[self.source].values() for each in manifest.batches}
        for statement in statements:
            batch, entry = statement.subject.get("batch"), statement.subject.get("entry")
            if statement.kind != "replacement" or not entry or batch in own:
                continue
            if not self._at_source(BatchEntry.model_validate(entry)):
                note = "what stands for it is no longer at the source: a collection of the destination makes it"
                self.notes.append((str(batch), note))
                yield statement.id

    def _at_source(self, entry: BatchEntry) -> bool:
        return len(present(self.source.store, entry.files)) == len(entry.files)

    def _batches(self, side: Side, statements: InForce) -> dict[str, Batch]:
        """The batches that the snapshots of a place list, as they are under the statements, by their own ids."""
        entries = {each.id: each for manifest in self._reached[side].values() for each in manifest.batches}
        resolved = {known_as: statements.replaced.get(known_as, entry) for known_as, entry in entries.items()}
        return {
            entry.id: Batch(entry, side.store, self.cache, known_as) for known_as, entry in sorted(resolved.items())
        }

    def _files(self) -> list[FileEntry]:
        there = self._batches(self.destination, self.destination.workspace.statements.in_force())
        own = self._batches(self.source, self.source.workspace.statements.in_force())
        wanted = self._batches(self.source, self.in_force)
        standing = self._batches(self.destination, self.in_force)
        wanted |= {each: standing[each] for each in standing.keys() - wanted.keys() - there.keys()}
        for batch in [wanted[each] for each in wanted.keys() - there.keys()]:
            if batch.id != batch.entry.id and not self._at_source(batch.entry):
                self.outdated[batch.id] = wanted.pop(batch.entry.id).entry.id
        # What stands at the source itself is there: it is cleaned from that, or stated again.
        wanted |= {each: batch for each, batch in own.items() if batch.id in self.outdated}
        reading = [
            Batch(batch.entry, self._nearer(each in there).store, self.cache, batch.id)
            for each, batch in wanted.items()
        ]
        self._complete_erasures(reading, there.values())
        trusted, fresh = _Originals(), _Originals()
        files: list[FileEntry] = []
        for batch in reading:
            if batch.entry.id not in there:
                _check_names(batch.entry)
        for batch, (rows, holds_erased) in zip(reading, in_parallel(self._look, reading), strict=True):
            known = batch.entry.id in there
            self._originals(rows, trusted if known else fresh)
            self._keep_at_hand(batch)
            if batch.id in self.outdated or (holds_erased and not known):
                self.unclean.append(batch)
                continue
            self.relied |= {file.path: file.size for file in batch.entry.files}
            if not known:
                files += batch.entry.files
        files = [*self._absent(files), *self._missing_originals(trusted, fresh)]
        return sorted(files, key=lambda file: file.path)

    def _complete_erasures(self, batches: Iterable[Batch], there: Iterable[Batch]) -> None:
        """Erase also what one place had of a source that the other has erased."""
        erased = self.in_force.erased
        late = entailed([*batches, *there], erased) - erased if erased else frozenset()
        if late:
            self.statements.append(erasure_statement(late, "it came to what is erased", utc_now()))
            known = self.destination.workspace.statements.all()
            self.in_force = in_force([*known, *self.statements], 0)

    def _look(self, batch: Batch) -> tuple[list[tuple[str | None, ...]], bool]:
        """The columns ROWS of the batch's source rows that are not erased, and whether it holds any that are."""
        table = Batch(batch.entry, batch.store, batch.cache, batch.id).sources
        rows = list(zip(*(table.column(name).to_pylist() for name in ROWS), strict=True))
        if not self.in_force.erased:
            return rows, False
        leaves = batch.erased_leaves.to_pylist()
        gone = [not self.in_force.erased.isdisjoint(row[:3]) for row in rows]
        extractions = batch.extractions.select(["content_sha256", "units", "title"]).to_pylist()
        read = (each for each in extractions if each["content_sha256"] in self.in_force.erased)
        holds = any(is_gone and leaf is None for is_gone, leaf in zip(gone, leaves, strict=True))
        return rows, holds or any(each["units"] or each["title"] for each in read)

    def _originals(self, rows: Iterable[tuple[str | None, ...]], into: _Originals) -> None:
        for row in rows:
            content, path = row[2], row[4] or ""
            if content is None:
                continue
            if not self.in_force.erased.isdisjoint(row[:3]):
                into.refused.setdefault(content, path)
            else:
                try:
                    file = FileEntry(path=object_path(content), size=int(row[3] or 0), sha256=content)
                except ValidationError as error:
                    raise CorruptWorkspace(
                        f"the source {path!r} names no original that can be: {content[:80]!r}",
                        next_step="run `tychora verify` on the source",
                    ) from error
                into.wanted.setdefault(file.path, (file, path))

    def _missing_originals(self, trusted: _Originals, fresh: _Originals) -> list[FileEntry]:
        """The originals to be moved; what of them the source does not have becomes a note."""
        wanted = {**fresh.wanted, **trusted.wanted}
        files = [file for file, _ in wanted.values()]
        there = present(self.destination.store, files)
        # What a batch names that was complete before has been here with it; others may be what a run left that was cut.
        doubtful = [file for file in files if file.path in there and file.path not in trusted.wanted]
        absent = [file for file in files if file.path not in there] + self._altered(doubtful)
        # What is there with another size is damaged, which shows when it is moved.
        retained = sizes(self.source.store, absent).keys()
        for file in absent:
            if file.path not in retained:
                self.notes.append((wanted[file.path][1], f"its original {file.sha256[:12]}… is not retained there"))
        self._refuse({**trusted.refused, **fresh.refused}, {file.sha256 for file in files})
        moved = [file for file in absent if file.path in retained]
        lacking = {file.path for file in absent} - retained
        self.relied |= {file.path: file.size for file in files if file.path not in lacking}
        return moved

    def _refuse(self, refused: Mapping[str, str], wanted: set[str]) -> None:
        paths = {content: object_path(content) for content in sorted(refused.keys() - wanted)}
        kept = in_parallel(lambda each: (each, self.source.store.size(paths[each])), paths)
        for content, size in kept:
            if size is not None:
                note = f"its original {content[:12]}… is erased: it was not taken back"
                self.refused.append((refused[content] or paths[content], note))

    def _absent(self, files: list[FileEntry]) -> list[FileEntry]:
        """Those that are not at the destination, where an earlier run that was cut may have left some."""
        there = present(self.destination.store, files)
        left = [file for file in files if file.path in there]
        return [file for file in files if file.path not in there] + self._altered(left)

    def _altered(self, files: list[FileEntry]) -> list[FileEntry]:
        """Those that have other bytes at the destination. Object stores write whole files: only local ones are read."""
        return [file for file in files if not self._is_intact(file)] if self.destination.near else []

    def _is_intact(self, file: FileEntry) -> bool:
        try:
            self.cache.fetch(self.destination.store, file.path, file.size, file.sha256)
            return True
        except CorruptWorkspace:
            return False

    def _keep_at_hand(self, batch: Batch) -> None:
        """The tables that were read from a remote source are in the cache now."""
        if batch.store is self.source.store and not self.source.near:
            for name in ("sources", "erased", "extractions") if self.in_force.erased else ("sources",):
                if file := batch.entry.file(f"tables/{name}.parquet"):
                    self.at_hand[file.path] = self.cache.fetch(batch.store, file.path, file.size, file.sha256)

    def _manifests(self) -> list[FileEntry]:
        """The manifests to be moved: those that are coming, but for what an earlier run has left of them."""
        own = self.source.snapshots
        files = [FileEntry(path=snapshot_path(each), size=own[each], sha256=each) for each in self.coming]
        self.relied |= {file.path: file.size for file in files}
        return self._absent(files)


def _check_names(entry: BatchEntry) -> None:
    """Raise CorruptWorkspace where a batch names files that are not its own: they would be written anywhere."""
    prefix = f"batches/{entry.id}/"
    named = [[file.path.removeprefix(prefix), file.size, file.sha256] for file in entry.files]
    if identity("batch", named) != entry.id or not all(file.path.startswith(prefix) for file in entry.files):
        raise CorruptWorkspace(
            f"the id of {entry.id} does not follow from its files", next_step="run `tychora verify` on the source"
        )
