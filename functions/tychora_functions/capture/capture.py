"""Captures files: their exact bytes into the bundle's objects, under their SHA-256."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tychora_format.objects import object_path
from tychora_format.store.failures import typed_failures
from tychora_format.workspace import Workspace
from tychora_schemas.errors import AccessDenied, MalformedContent, NotFound, TychoraError

__all__ = ["Captured", "capture", "read_exactly", "sha256_of"]

BLOCK = 1 << 20
TOGETHER = 64
"""Small files written with one round of durability."""
TOGETHER_BYTES = 16 << 20
IN_MEMORY = 8 << 20
"""Larger files are streamed through a temporary file instead of memory."""


@dataclass(frozen=True, slots=True)
class Captured:
    """One location, captured: the hash and size of the bytes that are now retained, or the error that prevented it."""

    location: Path
    sha256: str = ""
    size: int = 0
    head: bytes = b""
    """The first bytes, for telling the format."""
    error: TychoraError | None = None


HEAD = 64 << 10


def _open(location: Path) -> int:
    """Open a regular file for reading without following a link; O_NONBLOCK, so that a pipe cannot hang us."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(location, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MalformedContent(f"{location.name} is no regular file any more", next_step="add it again")
    return descriptor


def _typed(location: Path, error: OSError) -> TychoraError:
    spoken = (error.strerror or type(error).__name__).lower()
    if isinstance(error, PermissionError):
        return AccessDenied(f"it cannot be read: {spoken}", next_step="give this user read permission and add it again")
    if isinstance(error, FileNotFoundError):
        return NotFound("it vanished while the run was at work", next_step="add it again if it is still wanted")
    return MalformedContent(f"it cannot be read: {spoken}", next_step="check the disk, then add it again")


def sha256_of(location: Path) -> str:
    """The SHA-256 of a file's bytes. Raises a typed error where it cannot be read."""
    try:
        with os.fdopen(_open(location), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _typed(location, error) from error


def read_exactly(location: Path) -> bytes:
    """A file's bytes, all from one state of it: a file that changes meanwhile is read again, then refused."""
    try:
        for _ in range(3):
            with os.fdopen(_open(location), "rb") as file:
                before = os.fstat(file.fileno())
                data = file.read()
                after = os.fstat(file.fileno())
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(
                data
            ) == after.st_size:
                return data
    except OSError as error:
        raise _typed(location, error) from error
    raise MalformedContent("it keeps changing while it is read", next_step="add it again when nothing writes to it")


def capture(workspace: Workspace, locations: Iterable[Path]) -> Iterator[Captured]:
    """Retain the bytes of every location, in order. Bytes that are retained already are not written again.

    What is yielded is durable. A file that cannot be read comes out with its error; the others go on.
    """
    waiting: list[Captured] = []
    contents: dict[str, bytes] = {}
    for location in locations:
        try:
            large = location.lstat().st_size > IN_MEMORY
            captured, data = _streamed(workspace, location) if large else _whole(location)
        except OSError as error:
            waiting.append(Captured(location, error=_typed(location, error)))
            continue
        except TychoraError as error:
            if not isinstance(error, AccessDenied | NotFound | MalformedContent):
                raise
            waiting.append(Captured(location, error=error))
            continue
        waiting.append(captured)
        if data is not None and not workspace.objects.has(captured.sha256, captured.size):
            contents[captured.sha256] = data
        if len(waiting) >= TOGETHER or sum(map(len, contents.values())) >= TOGETHER_BYTES:
            yield from _written(workspace, waiting, contents)
    yield from _written(workspace, waiting, contents)


def _written(workspace: Workspace, waiting: list[Captured], contents: dict[str, bytes]) -> Iterator[Captured]:
    if contents:
        workspace.store.write_many([(object_path(sha256), data) for sha256, data in contents.items()])
        contents.clear()
    ready = list(waiting)
    waiting.clear()
    yield from ready


def _whole(location: Path) -> tuple[Captured, bytes]:
    data = read_exactly(location)
    return Captured(location, hashlib.sha256(data).hexdigest(), len(data), data[:HEAD]), data


def _blocks(source: BinaryIO, location: Path) -> Iterator[bytes]:
    """The bytes of an open file. A failure to read them is told apart from one to write them elsewhere."""
    try:
        while block := source.read(BLOCK):
            yield block
    except OSError as error:
        raise _typed(location, error) from error


def _streamed(workspace: Workspace, location: Path) -> tuple[Captured, None]:
    """Copy a large file aside block by block, hashing what is copied, and retain the copy."""
    import tempfile

    digest = hashlib.sha256()
    size = 0
    head = b""
    with (
        os.fdopen(_open(location), "rb") as source,
        typed_failures(f"copy {location.name} into {workspace.store.url}"),
        tempfile.NamedTemporaryFile(dir=workspace.scratch(), prefix="capture-") as copy,
    ):
        for block in _blocks(source, location):
            head = head or block[:HEAD]
            digest.update(block)
            copy.write(block)
            size += len(block)
        copy.flush()
        sha256 = digest.hexdigest()
        if not workspace.objects.has(sha256, size):
            workspace.objects.put(sha256, Path(copy.name))
    return Captured(location, sha256, size, head), None
