"""The packed file as bytes: a ZIP64 of stored members in one fixed form, and the writer of such files.

The form follows from the members' paths, sizes and bytes alone: sorted by path, each member's data at a multiple of
4096, no dates, owners, comments or gaps. So a member's place is known before a byte is written (members are written in
parallel), the same members give the same file on any machine, and a reader accepts exactly this form and no other.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tychora_format.packed.exclusive import unfinished
from tychora_format.paths import is_plain_path
from tychora_format.store.failures import typed_failures
from tychora_format.store.local import discard, sync_directories, sync_file
from tychora_format.store.port import Store
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound

__all__ = [
    "ALIGNMENT",
    "CENTRAL",
    "END",
    "END64",
    "END_SIZE",
    "LOCATION_ONLY",
    "SIZES_AND_OFFSET",
    "TOP_LEVEL",
    "Archive",
    "Member",
    "Place",
    "blocks",
    "central_header",
    "end_records",
    "local_header",
    "path_problems",
    "place",
    "verified",
    "write_archive",
]

ALIGNMENT = 4096
"""Member data starts at a multiple of this, the size of a page of memory: it can be mapped and shared as it lies."""

LOCATION_ONLY = frozenset({"staging", "leases", "jobs", "keys"})
"""Top-level folders that belong to a location and are never packed. Of `log/` only commits and collections are."""

TOP_LEVEL = frozenset({"tychora.json", "left-out.json", "objects", "batches", "snapshots", "tags", "statements", "log"})
LOG_FILE = re.compile(r"log/(main/[0-9]{20}|collected/[A-Za-z0-9_\-]+)\.json\Z")

LOCAL = struct.Struct("<4sHHHHHIIIHH")
CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
END64 = struct.Struct("<4sQHHIIQQQQ")
LOCATOR = struct.Struct("<4sIQI")
END = struct.Struct("<4sHHHHIIH")
END_SIZE = END64.size + LOCATOR.size + END.size
"""Bytes after the central directory: both end records and the locator between them."""

VERSION = 45  # the first version of ZIP with 64-bit fields
UNIX = 3
DATE = (1980 - 1980) << 9 | 1 << 5 | 1
MODE = 0o100644 << 16
IN_EXTRA = 0xFFFFFFFF  # says that the number is in the 64-bit extra field; always so, hence no threshold
SIZES = struct.Struct("<HHQQ")
SIZES_AND_OFFSET = struct.Struct("<HHQQQ")
PADDING = struct.Struct("<HHH")

BLOCK = 1 << 18
"""Bytes of a file in hand at once: few enough to stay in the processor's cache between reading, hashing and writing."""

STORE_BLOCK = 1 << 20

WRITERS = 4
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Member:
    """A file to be packed. `source` holds its bytes: themselves, a local file, or a store that has it under `path`.

    `size` is checked while it is packed, and so is `sha256` where it is known.
    """

    path: str
    size: int
    source: bytes | Path | Store
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member lies: its local header at byte `header` of the file, its `size` bytes of data from `start` on."""

    path: str
    size: int
    header: int
    start: int

    @property
    def end(self) -> int:
        """Where the next member, or the central directory, begins."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Archive:
    """What was written: members, the bytes of the whole file, and their SHA-256."""

    files: int
    size: int
    sha256: str


def place(path: str, size: int, header: int) -> Place:
    """The place of a member whose local header stands at byte `header`."""
    least = header + LOCAL.size + len(path) + SIZES.size + PADDING.size
    return Place(path, size, header, -(-least // ALIGNMENT) * ALIGNMENT)


def local_header(at: Place, crc: int) -> bytes:
    """All bytes from the member's local header to its data, padding included. `crc` is the CRC-32 of the data."""
    name = at.path.encode()
    extra = at.start - at.header - LOCAL.size - len(name)
    padding = extra - SIZES.size - PADDING.size
    return b"".join(
        [
            LOCAL.pack(b"PK\3\4", VERSION, 0, 0, 0, DATE, crc, IN_EXTRA, IN_EXTRA, len(name), extra),
            name,
            SIZES.pack(1, SIZES.size - 4, at.size, at.size),
            # Extra field 0xD935: the alignment, then that many zeros.
            PADDING.pack(0xD935, padding + 2, ALIGNMENT),
            bytes(padding),
        ]
    )


def central_header(at: Place, crc: int) -> bytes:
    """The member's entry in the central directory."""
    name = at.path.encode()
    fixed = (b"PK\1\2", UNIX << 8 | VERSION, VERSION, 0, 0, 0, DATE, crc, IN_EXTRA, IN_EXTRA)
    head = CENTRAL.pack(*fixed, len(name), SIZES_AND_OFFSET.size, 0, 0, 0, MODE, IN_EXTRA)
    return head + name + SIZES_AND_OFFSET.pack(1, SIZES_AND_OFFSET.size - 4, at.size, at.size, at.header)


def end_records(count: int, start: int, size: int) -> bytes:
    """What follows a central directory of `count` entries in `size` bytes from byte `start` on."""
    return b"".join(
        [
            END64.pack(b"PK\6\6", END64.size - 12, UNIX << 8 | VERSION, VERSION, 0, 0, count, count, size, start),
            LOCATOR.pack(b"PK\6\7", 0, start + size, 1),
            END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, IN_EXTRA, IN_EXTRA, 0),
        ]
    )


def path_problems(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each path that no packed file may hold, with the reason as the end of a sentence."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        if reason := _path_problem(path):
            yield path, reason
            continue
        folded = path.lower()
        if folded in files:
            yield path, f"is there twice, or differs from {files[folded]} in case alone"
        files[folded] = path
        folder = path.rpartition("/")[0]
        # A folder that is known brings only known ones above it.
        while folder and folders.get(folder.lower()) != folder:
            if folder.lower() in folders:
                yield path, f"lies in a folder that differs from {folders[folder.lower()]} in case alone"
                break
            folders[folder.lower()] = folder
            folder = folder.rpartition("/")[0]
    for folded in files.keys() & folders.keys():
        yield files[folded], "is a file and a folder"


def _path_problem(path: str) -> str:
    if not is_plain_path(path) or any(len(name) > LONGEST_NAME for name in path.split("/")):
        return "is no plain relative path that every system can hold"
    top = path.partition("/")[0]
    if top.lower() in LOCATION_ONLY or (top.lower() == "log" and not LOG_FILE.match(path)):
        return "belongs to one location and is never packed"
    if top not in TOP_LEVEL and top.lower() in TOP_LEVEL:
        return f"differs from {top.lower()} in case alone"
    return ""


def write_archive(target: Path, members: Iterable[Member]) -> Archive:
    """Write the packed file `target` of `members`, over whatever is there: all of it or nothing.

    The caller is the only writer of `target` (`exclusive.writing`). Members are copied block by block, several at once,
    into an unfinished file beside the target, which a kill leaves and the next call replaces. Raises CorruptWorkspace
    naming the member that is missing, or whose size or hash is not as stated; InvalidRequest for paths that no packed
    file may hold; and the typed errors of the disk.
    """
    listed = sorted(members, key=lambda member: member.path)
    for path, reason in path_problems(member.path for member in listed):
        raise InvalidRequest(
            f"{path} {reason}: it cannot be packed", next_step="rename or remove it in the workspace, then pack again"
        )
    places: list[Place] = []
    for member in listed:
        places.append(place(member.path, member.size, places[-1].end if places else 0))
    part = unfinished(target)
    with typed_failures(f"write {target}"):
        try:
            start = places[-1].end if places else 0
            with part.open("wb") as stream:
                stream.truncate(start)
            with ThreadPoolExecutor(WRITERS, thread_name_prefix="pack") as pool:
                try:
                    written = pool.map(lambda pair: _write_member(part, *pair), zip(listed, places, strict=True))
                    sums, sha256 = _collect(part, places, written)
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
            directory = b"".join(map(central_header, places, sums))
            end = directory + end_records(len(places), start, len(directory))
            sha256.update(end)
            with part.open("r+b") as stream:
                stream.seek(start)
                stream.write(end)
            sync_file(part)
            size = part.stat().st_size
            part.replace(target)
            sync_directories({target.parent})
        finally:
            discard(part)
    return Archive(len(places), size, sha256.hexdigest())


def _write_member(archive: Path, member: Member, at: Place) -> int:
    """Write header and data of one member; returns the CRC-32 of its data."""
    crc = 0
    with archive.open("r+b") as stream:
        stream.seek(at.start)
        for block in verified(member):
            crc = zlib.crc32(block, crc)
            stream.write(block)
        stream.seek(at.header)
        stream.write(local_header(at, crc))
    return crc


def _collect(archive: Path, places: list[Place], written: Iterable[int]) -> tuple[list[int], hashlib._Hash]:
    """The CRC-32 of each member, and the hash of all of them in the file: each is read back as soon as it is written,
    while the next ones are."""
    sums: list[int] = []
    sha256 = hashlib.sha256()
    buffer = memoryview(bytearray(BLOCK))
    with archive.open("rb", buffering=0) as stream:
        for at, crc in zip(places, written, strict=True):
            sums.append(crc)
            while left := at.end - stream.tell():
                sha256.update(buffer[: stream.readinto(buffer[: min(left, BLOCK)]) or 0])
    return sums, sha256


def verified(member: Member) -> Iterator[bytes | memoryview]:
    """The member's bytes in turn, as `blocks`; when size and hash turn out not to be as stated, CorruptWorkspace."""
    size = 0
    sha256 = hashlib.sha256()
    for block in blocks(member):
        size += len(block)
        if size > member.size:
            break
        if member.sha256:
            sha256.update(block)
        yield block
    if size != member.size:
        _damaged(member.path, f"does not have the {member.size} bytes that it should have")
    if member.sha256 and sha256.hexdigest() != member.sha256:
        _damaged(member.path, f"was altered: its SHA-256 is {sha256.hexdigest()} instead of {member.sha256}")


def blocks(member: Member) -> Iterator[bytes | memoryview]:
    """The member's bytes in turn. A block is valid until the next one is asked for."""
    source = member.source
    if isinstance(source, bytes):
        yield source
        return
    try:
        local = source if isinstance(source, Path) else source.local_path(member.path)
        if local is not None:
            buffer = memoryview(bytearray(min(BLOCK, member.size + 1)))
            with local.open("rb", buffering=0) as stream:
                while count := stream.readinto(buffer):
                    yield buffer[:count]
        elif isinstance(source, Store):
            for start in range(0, member.size, STORE_BLOCK):
                yield source.read_range(member.path, start, min(start + STORE_BLOCK, member.size))
    except (NotFound, FileNotFoundError, NotADirectoryError) as error:
        raise CorruptWorkspace(
            f"{member.path} is missing", next_step="restore the file from another copy of the workspace"
        ) from error


def _damaged(path: str, what: str) -> None:
    raise CorruptWorkspace(
        f"{path} {what}", next_step="run `tychora verify`, then restore the file from another copy of the workspace"
    )
