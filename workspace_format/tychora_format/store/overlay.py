"""A store over another one that stays as it is: what is written or deleted meanwhile lies in a folder of its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tychora_format.packed.archive import LOCATION_ONLY
from tychora_format.store.local import LocalStore
from tychora_format.store.port import Entry, Store, checked_path

__all__ = ["OverlayStore"]


class OverlayStore(Store):
    """`below`, seen through the changes of this process, which are kept in `folder`.

    It is for one process that has the store below for itself: what is deleted is known to this object only, and
    put-if-absent holds among its own threads.
    """

    def __init__(self, below: Store, folder: Path) -> None:
        self.below = below
        self.above = LocalStore(folder)
        self.url = below.url
        self._deleted: set[str] = set()

    @property
    def changed(self) -> bool:
        """Whether a file that a packed file would hold was written or deleted."""
        written = (entry.path.partition("/")[0] for entry in self.above.list())
        return bool(self._deleted) or any(top not in LOCATION_ONLY for top in written)

    def holder(self, path: str) -> Store:
        """The one of both stores that holds the file, or would say that it is absent."""
        if path in self._deleted or self.above.size(path) is not None:
            return self.above
        return self.below

    def read(self, path: str) -> bytes:
        return self.holder(path).read(path)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self.holder(path).read_range(path, start, end)

    def create(self, path: str, data: bytes) -> bool:
        if path not in self._deleted and self.below.size(path) is not None:
            return False
        return self.above.create(path, data)

    def write(self, path: str, data: bytes | Path) -> None:
        self.above.write(path, data)

    def write_many(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        self.above.write_many(pairs)

    def download(self, path: str, target: Path) -> None:
        self.holder(path).download(path, target)

    def size(self, path: str) -> int | None:
        return self.holder(path).size(path)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        # Of two entries of one path the first counts, and merging is stable.
        both = heapq.merge(self.above.list(prefix), self._kept(prefix), key=lambda entry: entry.path)
        for _, entries in groupby(both, key=lambda entry: entry.path):
            yield next(entries)

    def _kept(self, prefix: str) -> Iterator[Entry]:
        return (entry for entry in self.below.list(prefix) if entry.path not in self._deleted)

    def now(self) -> float:
        return self.above.now()

    def delete(self, path: str) -> None:
        if self.below.size(path) is not None:
            self._deleted.add(path)
        self.above.delete(path)

    def local_path(self, path: str) -> Path | None:
        """A place in the folder of changes, for what lies there alone; None for what is, or may be, below.

        A folder counts only if no file in it is below: who asks for one opens all of it.
        """
        if checked_path(path).partition("/")[0] in LOCATION_ONLY or self.above.size(path) is not None:
            return self.above.local_path(path)
        local = self.above.local_path(path)
        return local if local.is_dir() and next(self._kept(f"{path}/"), None) is None else None
