"""What every place that holds a bundle promises: bytes under relative POSIX paths, and one put-if-absent."""

from __future__ import annotations

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tychora_schemas.errors import InvalidRequest, TychoraError

__all__ = ["Entry", "Store", "checked_path", "checked_prefix", "proves_put_if_absent"]

PROBERS = 4

UNUSABLE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]|^[A-Za-z]:|\?versionId=")
"""Control characters, backslashes, lone surrogates, drive letters, S3's version suffix: each would name
another file, or none, on some platform or store."""


@dataclass(slots=True, frozen=True)
class Entry:
    """One file of a listing: its path relative to the store, its size in bytes, and when it was written.

    `modified` is in seconds since the epoch by the store's own clock (see `Store.now`), cut to that clock's
    resolution (a second on S3). It is the time at which the writing of the file began or ended, so a large
    file may be older than its appearance by as long as its upload took. Entries of the same path and size are
    equal whatever their times.
    """

    path: str
    size: int
    modified: float = field(default=0.0, compare=False)


def checked_path(path: str) -> str:
    """`path` itself when it names a file below the root of any store; else `InvalidRequest`."""
    if not path or UNUSABLE.search(path) or any(part in ("", ".", "..") for part in path.split("/")):
        raise InvalidRequest(
            f"{path!r} is not a file name inside a workspace",
            next_step="use a relative path with '/' between its parts, and no '.', '..' or '\\'",
        )
    return path


def checked_prefix(prefix: str) -> str:
    """`prefix` itself when a path may start so: nothing, a directory with its '/', the start of a name."""
    if prefix:
        checked_path(prefix + "x" if prefix.endswith("/") else prefix)
    return prefix


class Store(ABC):
    """A place that holds a bundle. Every method is safe to call from several threads and processes at once.

    Paths are relative, with '/' between their parts (see `checked_path`); any other name is `InvalidRequest`.
    Failures are typed: `NotFound` (no such file or bucket), `AccessDenied`, `BudgetExceeded` (the disk is
    full), `ProviderUnavailable` (the place did not answer, or not clearly).
    """

    url: str
    """What `open_store` takes to open the same place again."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The whole file. `NotFound` when it is absent."""

    @abstractmethod
    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Bytes `[start, end)` of the file, cut at its end as a slice is. `NotFound` when it is absent."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Put a small file if nothing has that name yet. This is what commits.

        - `True`: this call created it; it is whole and durable.
        - `False`: the name is taken. A transport that repeats a request whose answer was lost says so to the
          winner too: it proves no defeat, so read the file back and compare.
        - `ProviderUnavailable`: nobody knows (time-out, server error, contested request). Read back.
        - any other error: this call created nothing.
        """

    @abstractmethod
    def write(self, path: str, data: bytes | Path) -> None:
        """Put an immutable file: bytes, or a copy of a local file that is never loaded as a whole.

        Idempotent. A reader sees no file, the old one or the new one, never a part; on return it is durable.
        """

    @abstractmethod
    def download(self, path: str, target: Path) -> None:
        """Copy the file to `target`, over whatever is there, without loading it as a whole.

        After an error `target` may hold a part of it. `NotFound` when it is absent.
        """

    @abstractmethod
    def size(self, path: str) -> int | None:
        """The size in bytes; None when there is no such file."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Every file whose path starts with `prefix`, at any depth, sorted by the code points of the path.

        Never from a cache: a file whose `create` or `write` returned before the call is listed.
        """

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove the file. Removing an absent one is no error."""

    def now(self) -> float:
        """The store's own clock, in seconds since the epoch: the only one that `Entry.modified` compares with.

        A file written before the call is not newer than the answer, one written after it is not older; that
        holds whatever this machine's clock says. Costs a write, a listing and a deletion below `staging/`.
        `InvalidRequest` when the store does not say when its files were written.
        """
        path = f"staging/now-{os.urandom(16).hex()}"
        self.write(path, b"")
        try:
            modified = max((entry.modified for entry in self.list(path)), default=0.0)
        finally:
            self.delete(path)
        if modified <= 0:
            raise InvalidRequest(
                f"{self.url} does not say when its files were written",
                next_step="use a directory or an S3 bucket for work that depends on the age of files",
            )
        return modified

    def local_path(self, path: str) -> Path | None:
        """Where the file is (or would be) on this machine; None when the store is no directory here."""
        checked_path(path)
        return None

    def write_many(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        """`write` each pair, in any order, faster than one by one; all are durable on return.

        After an error some may have been written.
        """
        for path, data in pairs:
            self.write(path, data)

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """`(path, bytes)` of each file in the given order, with a bounded number in memory at once."""
        for path in paths:
            yield path, self.read(path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def proves_put_if_absent(store: Store) -> bool:
    """Whether the store, tried on one fresh name, lets one writer create it and keeps what that one wrote.

    Four threads create the name at once, then one more tries again. The name is under `staging/` and removed
    afterwards. False means that two writers could both believe that they had committed: such a place can be
    read and copied, but not shared by writers. `AccessDenied` or `ProviderUnavailable`: it cannot be tried.
    """
    path = f"staging/put-if-absent-{os.urandom(16).hex()}"
    winners: list[bytes] = []
    failures: list[TychoraError] = []

    def attempt(data: bytes) -> None:
        try:
            if store.create(path, data):
                winners.append(data)
        except TychoraError as failure:
            failures.append(failure)

    try:
        probers = [threading.Thread(target=attempt, args=(b"prober %d" % number,)) for number in range(PROBERS)]
        for prober in probers:
            prober.start()
        for prober in probers:
            prober.join()
        if failures:
            raise failures[0]
        kept = store.read(path)
        late = store.create(path, b"late")
        # No winner at all is honest: a lost answer makes the winner hear "taken".
        return not late and store.read(path) == kept and winners in ([], [kept])
    finally:
        store.delete(path)
