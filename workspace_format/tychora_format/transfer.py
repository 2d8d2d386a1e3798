"""Moves named files from one store to another: many at once, resumable, each checked against its hash.

A file appears at the destination under its name only when it is whole and verified. A large one gathers in a part file
on this machine's disk: `staging/sync/<sha256>.part` of the destination, or a folder of the cache where the destination
is remote. What a run that was cut has gathered, the next one continues.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tychora_format.cache import Cache, hash_file
from tychora_format.manifest import FileEntry
from tychora_format.packed.exclusive import exclusive
from tychora_format.store import Store
from tychora_format.store.failures import typed_failures
from tychora_format.store.local import discard, make_directories, sync_directories, sync_file
from tychora_format.store.remote import TRANSFERS, in_parallel
from tychora_schemas.errors import Busy, CorruptWorkspace, NotFound
from tychora_schemas.identity import content_sha256

__all__ = ["BLOCK", "PARTS", "Transfer", "Watch", "is_local", "present", "sizes"]

BLOCK = 8 * 2**20
"""Bytes that are fetched at once. Files up to this size are moved whole: with 16 in transfer they take 128 MiB."""

PARTS = "staging/sync"

FEW = 64
"""Up to so many batches and the like are listed one by one; beyond it a listing of everything costs fewer requests."""

Watch = Callable[[FileEntry, int, bool], None]
"""Is told of each step: the file, the bytes of it that were moved just now, and whether it is there now."""


def is_local(store: Store) -> bool:
    """Whether the store is a directory of this machine."""
    return store.local_path("tychora.json") is not None


def sizes(store: Store, files: Collection[FileEntry]) -> dict[str, int]:
    """The sizes of those files that are in the store, by path; perhaps of others, too. No bytes are looked at."""
    if is_local(store):
        asked = ((file.path, store.size(file.path)) for file in files)
        return {path: size for path, size in asked if size is not None}
    folders = {"/".join(file.path.split("/")[:2]) for file in files}
    if len(folders) > FEW:
        folders = {folder.partition("/")[0] + "/" for folder in folders}
    listed = in_parallel(lambda folder: list(store.list(folder)), sorted(folders))
    return {entry.path: entry.size for entries in listed for entry in entries}


def present(store: Store, files: Collection[FileEntry]) -> set[str]:
    """The paths of those files that are in the store with their size. Their bytes are not looked at."""
    there = sizes(store, files)
    return {file.path for file in files if there.get(file.path) == file.size}


class Transfer:
    """Moves files from `source`, which is only read, to `destination`. Neither needs to be on this machine.

    `at_hand` are copies on this machine of files of the source, by path: what was read already is not fetched again.
    `watch` is called from several threads, but never twice at the same time.
    """

    def __init__(
        self,
        source: Store,
        destination: Store,
        cache: Cache,
        at_hand: Mapping[str, Path] | None = None,
        watch: Watch = lambda file, moved, finished: None,
    ) -> None:
        self.source = source
        self.destination = destination
        self.cache = cache
        self.at_hand = at_hand or {}
        self.moved = 0
        """Bytes read from the source."""
        self._watch = watch
        self._watching = threading.Lock()
        self._failure: BaseException | None = None
        self._parts = destination.local_path(PARTS) or cache.directory / "sync"

    def move(self, files: Iterable[FileEntry]) -> None:
        """Bring the files to the destination; all are durable and verified when this returns.

        Raises CorruptWorkspace naming the file of the source that is missing, cut or altered, and the typed errors of
        the stores. After an error some files have been brought, and nothing else has changed.
        """
        self._failure = None
        with ThreadPoolExecutor(TRANSFERS, thread_name_prefix="transfer") as pool:
            try:
                for _ in pool.map(self._move, files):
                    pass
            except BaseException as error:
                self._failure = self._failure or error
                pool.shutdown(cancel_futures=True)
                raise self._failure from None

    def _move(self, file: FileEntry) -> None:
        try:
            self._go_on()
            with typed_failures(f"bring {file.path} to {self.destination.url}"):
                if file.size <= BLOCK:
                    self._move_whole(file)
                else:
                    self._move_large(file)
            self._tell(file, 0, finished=True)
        except BaseException as error:
            self._failure = self._failure or error
            raise

    def _go_on(self) -> None:
        """Ends this file's transfer when another's has failed."""
        if self._failure is not None:
            raise self._failure

    def _tell(self, file: FileEntry, moved: int, *, finished: bool = False) -> None:
        with self._watching:
            self.moved += moved
            self._watch(file, moved, finished)

    def _move_whole(self, file: FileEntry) -> None:
        data = self._read(file, 0, file.size + 1)
        self._tell(file, len(data))
        if len(data) != file.size or content_sha256(data) != file.sha256:
            raise self._damaged(file)
        self.destination.write(file.path, data)
        self._remember(file)

    def _move_large(self, file: FileEntry) -> None:
        origin = self._origin(file)
        if origin is not None and not is_local(self.destination):
            if not _is_whole(origin, file):
                raise self._damaged(file)
            self.destination.write(file.path, origin)
            self._tell(file, file.size)
            return
        with self._part(file) as part:
            self._gather(file, part)
            target = self.destination.local_path(file.path)
            if target is None:
                self.destination.write(file.path, part)
                discard(part)
            else:
                directories = make_directories(target.parent)
                part.replace(target)
                sync_directories(directories)
                self._remember(file)

    @contextmanager
    def _part(self, file: FileEntry) -> Iterator[Path]:
        """Where to gather the file: where an earlier run began, unless another one is at work there."""
        part = self._parts / f"{file.sha256}.part"
        with ExitStack() as stack:
            try:
                stack.enter_context(exclusive(part.with_suffix(".lock"), file.path))
            except Busy:
                part = part.with_name(f"{file.sha256}.{os.urandom(8).hex()}.part")
                stack.callback(discard, part)
            yield part

    def _gather(self, file: FileEntry, part: Path) -> None:
        """Make `part` the whole file, going on from what it holds. Raises CorruptWorkspace when it becomes another."""
        with suppress(FileNotFoundError):
            if part.stat().st_size > file.size:
                discard(part)
        begun = part.exists()
        self._fill(file, part)
        if begun and not _is_whole(part, file):
            # A power cut may leave a part whose end was never written.
            discard(part)
            self._fill(file, part)
            begun = False
        if not begun and not _is_whole(part, file):
            discard(part)
            raise self._damaged(file)
        sync_file(part)

    def _fill(self, file: FileEntry, part: Path) -> None:
        origin = self._origin(file)
        with part.open("ab") as end:
            done = end.tell()
        while done < file.size:
            self._go_on()
            count = min(BLOCK, file.size - done)
            copied = _copy(origin, part, done, count) if origin is not None else 0
            if not copied:
                block = self._read(file, done, done + count)
                with part.open("r+b") as stream:
                    stream.seek(done)
                    stream.write(block)
                copied = len(block)
            if not copied:
                return
            done += copied
            self._tell(file, copied)

    def _origin(self, file: FileEntry) -> Path | None:
        """The file's place on this machine, if it is there."""
        return self.at_hand.get(file.path) or self.source.local_path(file.path)

    def _read(self, file: FileEntry, start: int, end: int) -> bytes:
        try:
            if origin := self._origin(file):
                with origin.open("rb") as stream:
                    stream.seek(start)
                    return stream.read(end - start)
            return self.source.read_range(file.path, start, end)
        except (NotFound, FileNotFoundError, NotADirectoryError) as error:
            raise CorruptWorkspace(
                f"{file.path} of {self.source.url} is missing",
                next_step="run `tychora verify` on the source, then restore the file or sync from another copy",
            ) from error

    def _remember(self, file: FileEntry) -> None:
        place = self.destination.local_path(file.path)
        if place is not None:
            self.cache.remember(place, file.sha256)

    def _damaged(self, file: FileEntry) -> CorruptWorkspace:
        return CorruptWorkspace(
            f"{file.path} of {self.source.url} was cut or altered: it is not the file of its SHA-256, {file.sha256}",
            next_step="run `tychora verify` on the source, then restore the file or sync from another copy",
        )


def _is_whole(place: Path, file: FileEntry) -> bool:
    return place.stat().st_size == file.size and hash_file(place) == file.sha256


def _copy(origin: Path, part: Path, start: int, count: int) -> int:
    """Let the system copy bytes between two files, or share them where it can; 0 where it cannot."""
    if not hasattr(os, "copy_file_range"):
        return 0
    with origin.open("rb") as source, part.open("r+b") as target:
        try:
            return os.copy_file_range(source.fileno(), target.fileno(), count, start, start)
        except OSError:
            return 0  # not between these two disks: copied by hand, which also tells real errors
