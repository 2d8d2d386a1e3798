"""A bundle in a directory of this machine."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tychora_format.store.failures import typed_failures
from tychora_format.store.port import Entry, Store, checked_path, checked_prefix
from tychora_schemas.errors import InvalidRequest, ProviderUnavailable

__all__ = ["LocalStore"]

GROUP = 256
"""Files per group of `write_many`: as many temporary files as one failure leaves to clean up."""

NO_LINKS = {
    errno.EPERM,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EMLINK,
    errno.EXDEV,
    errno.EINVAL,
}
"""How file systems without hard links (FAT, some network and user-space ones) refuse `link`."""


class LocalStore(Store):
    """A directory. It need not exist: the first write makes it.

    Files appear whole: written under `staging/`, synced, then renamed (`write`) or linked (`create`) to their
    name, and the directory is synced. A process that dies leaves at most files under `staging/`. Names that
    would leave the directory, also through a symbolic link, are refused.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(os.path.realpath(Path(root).expanduser()))
        self.url = self.root.as_uri()

    def read(self, path: str) -> bytes:
        file = self.local_path(path)
        with typed_failures(f"read {path} in {self.root}"):
            return file.read_bytes()

    def read_range(self, path: str, start: int, end: int) -> bytes:
        file = self.local_path(path)
        with typed_failures(f"read {path} in {self.root}"), file.open("rb") as stream:
            stream.seek(start)
            return stream.read(max(0, end - start))

    def create(self, path: str, data: bytes) -> bool:
        target = self.local_path(path)
        if os.path.lexists(target):
            return False
        with typed_failures(f"create {path} in {self.root}"):
            directories = make_directories(target.parent)
            temporary = self._temporary()
            try:
                fill(temporary, data)
                sync_file(temporary)
                created = link(temporary, target, data)
            finally:
                discard(temporary)
        if created:
            try:
                sync_directories(directories)
            except OSError as error:
                raise ProviderUnavailable(
                    f"{path} in {self.root} was created, but may not survive a power cut: {error}",
                    next_step="check the disk; read the file back before trying again",
                ) from error
        return created

    def write(self, path: str, data: bytes | Path) -> None:
        self._write_group([(path, data)])

    def write_many(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        remaining = iter(pairs)
        while group := list(islice(remaining, GROUP)):
            self._write_group(group)

    def _write_group(self, pairs: list[tuple[str, bytes | Path]]) -> None:
        targets = [self.local_path(path) for path, _ in pairs]
        name = pairs[0][0] if len(pairs) == 1 else f"{pairs[0][0]} and {len(pairs) - 1} more"
        temporaries: list[Path] = []
        with typed_failures(f"write {name} in {self.root}"):
            try:
                for _, data in pairs:
                    temporaries.append(self._temporary())
                    fill(temporaries[-1], data)
                # All are written before the first is synced, so the file system can flush them together.
                for temporary in temporaries:
                    sync_file(temporary)
                directories: set[Path] = set()
                for temporary, target in zip(temporaries, targets, strict=True):
                    directories |= make_directories(target.parent)
                    temporary.replace(target)
                sync_directories(directories)
            finally:
                for temporary in temporaries:
                    discard(temporary)

    def download(self, path: str, target: Path) -> None:
        file = self.local_path(path)
        with typed_failures(f"copy {path} of {self.root} to {target}"):
            shutil.copyfile(file, target)

    def size(self, path: str) -> int | None:
        file = self.local_path(path)
        with typed_failures(f"look at {path} in {self.root}"):
            try:
                found = file.stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        stem = checked_prefix(prefix).rpartition("/")[0]
        directory = self.local_path(stem) if stem else self.root
        with typed_failures(f"list {prefix or 'all files'} in {self.root}"):
            yield from walk(directory, f"{stem}/" if stem else "", prefix)

    def delete(self, path: str) -> None:
        file = self.local_path(path)
        with typed_failures(f"delete {path} in {self.root}"), suppress(FileNotFoundError, NotADirectoryError):
            file.unlink()

    def local_path(self, path: str) -> Path:
        file = self.root / checked_path(path)
        if not Path(os.path.realpath(file)).is_relative_to(self.root):
            raise InvalidRequest(
                f"{path} leads out of {self.root} through a link",
                next_step="replace the link in the workspace by the files themselves",
            )
        return file

    def _temporary(self) -> Path:
        staging = self.root / "staging"
        make_directories(staging)
        return staging / f"write-{os.getpid()}-{os.urandom(8).hex()}.part"


def fill(temporary: Path, data: bytes | Path) -> None:
    if isinstance(data, Path):
        shutil.copyfile(data, temporary)
    else:
        temporary.write_bytes(data)


def link(temporary: Path, target: Path, data: bytes) -> bool:
    """Give the finished temporary file its name, if nothing has it. Returns whether this call did."""
    try:
        os.link(temporary, target)
        return True
    except FileExistsError:
        # A network drive that repeats a lost request says "exists" about the link that it has just made.
        return temporary.samefile(target)
    except (OSError, AttributeError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno not in NO_LINKS:
            raise
    return create_exclusively(target, data)


def create_exclusively(target: Path, data: bytes) -> bool:
    """Where links don't exist: a reader may meet the name before its few bytes, and then reads it again."""
    try:
        stream = target.open("xb")
    except FileExistsError:
        return False
    try:
        with stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        discard(target)
        raise
    return True


def make_directories(directory: Path) -> set[Path]:
    """Make `directory` and what is missing above it; returns it and each directory that got a new entry."""
    changed = {directory}
    missing = []
    while not directory.is_dir():
        missing.append(directory)
        directory = directory.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        changed.add(new.parent)
    return changed


def sync_file(file: Path) -> None:
    with file.open("r+b") as stream:
        os.fsync(stream.fileno())


def sync_directories(directories: set[Path]) -> None:
    if os.name == "nt":
        return  # Windows has no such call; NTFS journals its directories.
    for directory in directories:
        try:
            handle = os.open(directory, os.O_RDONLY)
        except PermissionError:
            continue  # One may add files to a directory that one may not open: then its own journal must do.
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot sync a directory
                raise
        finally:
            os.close(handle)


def discard(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def walk(directory: Path, stem: str, prefix: str) -> Iterator[Entry]:
    """Files below `directory` in the order of their whole paths: a directory sorts as its name with a '/'.

    Links are no part of a bundle and not listed. What is removed meanwhile is left out.
    """
    try:
        with os.scandir(directory) as found:
            entries = sorted((e.name + "/" if e.is_dir(follow_symlinks=False) else e.name, e) for e in found)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, entry in entries:
        if not (stem + entry.name).startswith(prefix):
            continue
        if name.endswith("/"):
            yield from walk(directory / entry.name, stem + name, prefix)
        elif entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                yield Entry(stem + name, about.st_size, about.st_mtime)
