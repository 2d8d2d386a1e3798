"""What this machine keeps for faster reading: verified downloads, and stamps that save hashing a file twice.

All of it can be deleted at any time. Layout of the directory:

    stamps                 which files were found intact, one line each (`Stamps`)
    downloads/<sha256>/    files of remote bundles: a single one, or a folder of a batch under its own names;
                           the time of <sha256>.used is that of the last use
    anything else          belongs to the modules that derive something from a bundle (views, matrices)
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tychora_format.stamps import Stamps
from tychora_format.store.failures import typed_failures
from tychora_format.store.port import checked_path
from tychora_format.user_folders import cache_directory, state_directory
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound

if TYPE_CHECKING:
    from tychora_format.manifest import FileEntry
    from tychora_format.store import Store

__all__ = ["Cache", "cache_directory", "hash_file", "state_directory"]

DEFAULT_LIMIT = 20 * 10**9
"""Bytes of downloads that are kept; `TYCHORA_CACHE_LIMIT` changes it."""

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

REST = 3600.0
"""Seconds for which a download is left alone after its last use: another process may be about to open it."""

CONCURRENT_DOWNLOADS = 8


class Cache:
    """Hands out the files of bundles as local, verified files. Safe to share between threads and processes.

    `limit` is the most bytes of downloads to keep (default: `TYCHORA_CACHE_LIMIT`, such as `500M` or `20G`,
    else 20 GB). Beyond it the least recently used go, but none that this object handed out or that any
    process used within the last hour.
    """

    def __init__(self, directory: str | Path, *, limit: int | None = None) -> None:
        self.directory = Path(directory).expanduser().absolute()
        self.limit = limit_of_environment() if limit is None else limit
        self._stamps = Stamps(self.directory / "stamps")
        self._downloads = self.directory / "downloads"
        self._in_use: set[Path] = set()
        self._total: int | None = None
        self._lock = threading.Lock()

    def fetch(self, store: Store, path: str, size: int, sha256: str) -> Path:
        """The file as a local path, with exactly these bytes.

        In a local store it is the bundle's own file, hashed once as long as it stays unchanged on this
        machine; from a remote store it is downloaded once, by hash. `CorruptWorkspace` when it is missing,
        cut or altered: nothing of a damaged download is kept.
        """
        local = store.local_path(path)
        if local is not None:
            self._check(local, path, store.url, size, sha256)
            return local
        folder = self._downloads / sha256
        return self._hydrated(store, path, size, sha256, folder / "file", folder)

    def fetch_folder(self, store: Store, path: str, files: Sequence[FileEntry]) -> Path:
        """A local folder that holds `files`, all of them below `path` in the bundle, under their own names.

        The same promises as `fetch`, for each of them.
        """
        local = store.local_path(path)
        if local is not None:
            for file in files:
                self._check(local / file.path.removeprefix(f"{path}/"), file.path, store.url, file.size, file.sha256)
            return local
        names = sorted(f"{file.path.removeprefix(f'{path}/')}\0{file.sha256}" for file in files)
        folder = self._downloads / hashlib.sha256("\n".join(names).encode()).hexdigest()

        def hydrate(file: FileEntry) -> Path:
            place = folder / file.path.removeprefix(f"{path}/")
            return self._hydrated(store, file.path, file.size, file.sha256, place, folder)

        with ThreadPoolExecutor(CONCURRENT_DOWNLOADS, thread_name_prefix="hydrate") as pool:
            for _ in pool.map(hydrate, files):
                pass
        return folder

    def remember(self, path: str | Path, sha256: str) -> None:
        """Take the caller's word that the file, just written by this process, has this hash."""
        with suppress(OSError):
            self._stamps.add(Path(path).stat(), sha256)

    def _check(self, file: Path, path: str, url: str, size: int, sha256: str) -> None:
        with typed_failures(f"read {file}"):
            try:
                found = self._problem(file, size, sha256)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                found = "is missing"
        if found:
            raise CorruptWorkspace(
                f"{path} of {url} {found}",
                next_step="run `tychora verify`, then restore the file or sync from another copy",
            )

    def _problem(self, file: Path, size: int, sha256: str) -> str:
        """What is wrong with the file, as the end of a sentence; empty when its bytes are the right ones."""
        before = file.stat()
        if before.st_size != size:
            return f"has {before.st_size} bytes instead of {size}"
        if self._stamps.find(before) == sha256:
            return ""
        began = time.time_ns()
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
            after = os.fstat(stream.fileno())
        if found != sha256:
            return f"was altered: its SHA-256 is {found} instead of {sha256}"
        self._stamps.add_hashed(before, after, sha256, began)
        return ""

    def _hydrated(self, store: Store, path: str, size: int, sha256: str, target: Path, folder: Path) -> Path:
        """`target`, with the file's bytes: as kept in `folder` before, else downloaded."""
        checked_path(path)
        with self._lock:
            self._in_use.add(folder)
        with typed_failures(f"keep {path} in the cache {self.directory}"):
            target.parent.mkdir(parents=True, exist_ok=True)
            folder.with_suffix(".used").touch()
            with suppress(FileNotFoundError):
                if not self._problem(target, size, sha256):
                    return target
            temporary = target.with_name(f".{target.name}.{os.urandom(8).hex()}.part")
            try:
                try:
                    store.download(path, temporary)
                except NotFound as error:
                    raise CorruptWorkspace(
                        f"{path} of {store.url} is missing",
                        next_step="run `tychora verify`, then sync from another copy of the workspace",
                    ) from error
                self._check(temporary, path, store.url, size, sha256)
                temporary.replace(target)
                self._stamps.add(target.stat(), sha256)
            finally:
                temporary.unlink(missing_ok=True)
        self._make_room(size)
        return target

    def _make_room(self, added: int) -> None:
        """Remove the least recently used downloads until nine tenths of the limit are left."""
        with self._lock:
            if self._total is None:
                self._total = sum(size_of(folder) for folder in self._folders())
            else:
                self._total += added
            if self._total <= self.limit:
                return
            used = [(last_use(folder), size_of(folder), folder) for folder in self._folders()]
            self._total = sum(size for _, size, _ in used)
            for last, size, folder in sorted(used):
                if self._total <= self.limit * 0.9 or last > time.time() - REST:
                    break
                if folder not in self._in_use:
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.with_suffix(".used").unlink(missing_ok=True)
                    self._total -= size

    def _folders(self) -> list[Path]:
        with suppress(FileNotFoundError):
            return [folder for folder in self._downloads.iterdir() if folder.is_dir()]
        return []


def hash_file(path: str | Path) -> str:
    """The SHA-256 of the file's bytes, as 64 lower-case hex digits."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def limit_of_environment() -> int:
    written = os.environ.get("TYCHORA_CACHE_LIMIT", "").strip()
    if not written:
        return DEFAULT_LIMIT
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)B?", written, re.IGNORECASE)
    if match is None:
        raise InvalidRequest(
            f"TYCHORA_CACHE_LIMIT={written} is no number of bytes", next_step="write it like 500M or 20G"
        )
    return int(match[1]) * UNITS[match[2].upper()]


def size_of(folder: Path) -> int:
    with suppress(OSError):
        return sum(file.stat().st_size for file in folder.rglob("*"))
    return 0


def last_use(folder: Path) -> float:
    with suppress(OSError):
        return folder.with_suffix(".used").stat().st_mtime
    return 0.0
