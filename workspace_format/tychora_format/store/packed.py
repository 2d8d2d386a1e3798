"""A bundle in one packed file, read in place."""

from __future__ import annotations

import os
import stat
import time
import weakref
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from tychora_format.packed.archive import (
    CENTRAL,
    END,
    END64,
    END_SIZE,
    SIZES_AND_OFFSET,
    TOP_LEVEL,
    Place,
    central_header,
    end_records,
    local_header,
    path_problems,
    place,
)
from tychora_format.store.failures import typed_failures
from tychora_format.store.port import Entry, Store, checked_path, checked_prefix
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound

__all__ = ["PackedStore"]

MARKER = "tychora.json"

LARGEST_DIRECTORY = 1 << 28
"""Bytes of a central directory that are read into memory: more than a million files."""

BLOCK = 1 << 20


class PackedStore(Store):
    """A file `NAME.tychora`, opened for reading.

    Opening checks everything but the members' data, which the hashes of the bundle cover: the file has exactly the form
    that `tychora_format.packed.archive` gives it, and holds only paths that are safe to write anywhere. Everything else
    is CorruptWorkspace. Files outside the layout of a bundle are ignored.

    The file stays open: when another replaces it, this store goes on serving the one that it opened, and says so
    (`replaced`). It cannot be written to; `tychora_format.packed.rewriting` makes a new one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self.url = str(path)
        with typed_failures(f"open {self.path}"):
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise InvalidRequest(f"{self.path} is no file", next_step="give a packed workspace, NAME.tychora")
            self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        self.close = weakref.finalize(self, os.close, self._file)
        """Close the file; reading is over then. It is closed by itself when nobody holds this store."""
        self._opened = os.fstat(self._file)
        self._places = {at.path: at for at in self._directory() if at.path.partition("/")[0] in TOP_LEVEL}
        self._paths = sorted(self._places)
        if MARKER not in self._places:
            self._refuse(f"it holds no {MARKER}")

    @property
    def replaced(self) -> bool:
        """Whether the name now leads to another file, or to one that was written to: open it again to see that."""
        try:
            now = self.path.stat()
        except OSError:
            return True
        before = self._opened
        return not os.path.samestat(now, before) or (now.st_size, now.st_mtime_ns) != (
            before.st_size,
            before.st_mtime_ns,
        )

    def read(self, path: str) -> bytes:
        at = self._place(path)
        return self._read_at(at.start, at.size)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        at = self._place(path)
        first, last, _ = slice(start, max(start, end)).indices(at.size)
        return self._read_at(at.start + first, max(0, last - first))

    def download(self, path: str, target: Path) -> None:
        at = self._place(path)
        with typed_failures(f"copy {path} of {self.path} to {target}"), target.open("wb", buffering=0) as stream:
            done = 0
            if hasattr(os, "copy_file_range"):
                try:
                    while done < at.size:
                        copied = os.copy_file_range(self._file, stream.fileno(), at.size - done, at.start + done)
                        if not copied:
                            break
                        done += copied
                except OSError:
                    stream.seek(done)  # not between these two disks: copied by hand, which also tells real errors
            while done < at.size:
                done += stream.write(self._read_at(at.start + done, min(BLOCK, at.size - done)))

    def size(self, path: str) -> int | None:
        at = self._places.get(checked_path(path))
        return None if at is None else at.size

    def list(self, prefix: str = "") -> Iterator[Entry]:
        checked_prefix(prefix)
        for number in range(bisect_left(self._paths, prefix), len(self._paths)):
            path = self._paths[number]
            if not path.startswith(prefix):
                return
            yield Entry(path, self._places[path].size, self._opened.st_mtime)

    def now(self) -> float:
        return time.time()

    def create(self, path: str, data: bytes) -> bool:
        self._refuse_writing(path)

    def write(self, path: str, data: bytes | Path) -> None:
        self._refuse_writing(path)

    def delete(self, path: str) -> None:
        self._refuse_writing(path)

    def _refuse_writing(self, path: str) -> NoReturn:
        raise InvalidRequest(
            f"{checked_path(path)} cannot be written into {self.path}: a packed file is written as a whole",
            next_step="unpack it into a directory and write there: tychora unpack FILE.tychora DIRECTORY",
        )

    def _place(self, path: str) -> Place:
        try:
            return self._places[checked_path(path)]
        except KeyError:
            raise NotFound(
                f"no file {path} in {self.path}", next_step="pack it again, from a workspace that has the file"
            ) from None

    def _read_at(self, start: int, size: int) -> bytes:
        """Exactly `size` bytes from byte `start` of the file on."""
        parts = []
        with typed_failures(f"read {self.path}"):
            while size:
                part = read_at(self._file, min(size, 1 << 30), start)
                if not part:
                    self._refuse("it was cut while it was open")
                parts.append(part)
                start += len(part)
                size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _directory(self) -> tuple[Place, ...]:
        """The members as the central directory lists them, after checking it, and every local header, bit by bit."""
        length = self._opened.st_size
        if length < END_SIZE:
            self._refuse("it is no packed workspace, or was cut")
        end = self._read_at(length - END_SIZE, END_SIZE)
        if end[:4] != b"PK\6\6" or end[-END.size :][:4] != b"PK\5\6":
            self._refuse("it is no packed workspace, or was cut, or something was appended to it")
        count, _, size, start = END64.unpack(end[: END64.size])[6:]
        if start + size + END_SIZE != length or end != end_records(count, start, size):
            self._refuse("its end does not fit the rest of it")
        if size > LARGEST_DIRECTORY:
            self._refuse(f"its directory of {size} bytes is larger than any that Tychora writes")
        found = [*self._members(self._read_at(start, size), count, start)]
        for path, reason in path_problems(at.path for at, _ in found):
            self._refuse(f"its member {path[:600]!r} {reason}")
        if (found[-1][0].end if found else 0) != start:
            self._refuse("its members do not end where its directory begins")
        for at, crc in found:
            if self._read_at(at.header, at.start - at.header) != local_header(at, crc):
                self._refuse(f"the header of {at.path} does not say what the directory says")
        return tuple(at for at, _ in found)

    def _members(self, directory: bytes, count: int, limit: int) -> Iterator[tuple[Place, int]]:
        """Each member's place, which ends before byte `limit`, and CRC-32."""
        position = header = 0
        before = ""
        while position < len(directory):
            fields = position + CENTRAL.size
            if fields > len(directory):
                self._refuse("its directory is cut")
            crc, _, _, name_size = CENTRAL.unpack_from(directory, position)[7:11]
            name, extra = directory[fields : fields + name_size], fields + name_size
            if extra + SIZES_AND_OFFSET.size > len(directory):
                self._refuse("its directory is cut")
            try:
                path = name.decode("ascii")
            except UnicodeDecodeError:
                self._refuse(f"its member {name[:600]!r} is no plain relative path that every system can hold")
            at = place(path, SIZES_AND_OFFSET.unpack_from(directory, extra)[2], header)
            if at.end > limit:
                self._refuse(f"its member {path[:600]!r} is larger than the file has room for")
            expected = central_header(at, crc)
            if directory[position : position + len(expected)] != expected:
                self._refuse(
                    f"its member {path[:600]!r} is not stored as Tychora stores files: it is compressed, encrypted, "
                    "a link or folder, or its sizes and places do not fit"
                )
            if path <= before:
                self._refuse(f"its member {path[:600]!r} is there twice or not in its order")
            yield at, crc
            before, position, header = path, position + len(expected), at.end
            count -= 1
        if count:
            self._refuse("its directory does not list as many members as its end says")

    def _refuse(self, reason: str) -> NoReturn:
        raise CorruptWorkspace(
            f"{self.path} cannot be read: {reason}",
            next_step="pack it again, or fetch it again from where it came; nothing of it was used",
        )


if hasattr(os, "pread"):
    read_at = os.pread
else:
    import threading

    _one_reader = threading.Lock()

    def read_at(file: int, size: int, start: int) -> bytes:
        """`os.pread` for Windows, which has none."""
        with _one_reader:
            os.lseek(file, start, os.SEEK_SET)
            return os.read(file, size)
