"""Stamps: which hash a file of this machine was found to have, so that an unchanged file is hashed once.

One append-only text file, shared by all processes of a user: lines `<key> <sha256>`, where the key names a
state of a file (device, inode, size, and both times in nanoseconds). A lost, torn or damaged line only costs
hashing again.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["Stamps"]

LINE = re.compile(rb"([0-9a-f]{32}) ([0-9a-f]{64})")
LINE_LENGTH = 98

MOST_LINES = 60_000
"""Above some 6 MB the older half is dropped, so that a process start stays cheap."""

TICK = 20_000_000
"""Nanoseconds in which two changes can get the same time: kernels take it from a clock of 4-10 ms."""


class Stamps:
    """The stamps in `file`, which need not exist. Failing to read or write it is never an error."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._known: dict[bytes, bytes] = {}
        self._read_to = 0
        self._lock = threading.Lock()

    def find(self, state: os.stat_result) -> str | None:
        """The SHA-256 of the file in this state, if any process has stamped it."""
        key = key_of(state)
        with self._lock:
            if key not in self._known:
                self._read_new_lines()
            found = self._known.get(key)
        return found.decode() if found else None

    def add(self, state: os.stat_result, sha256: str) -> None:
        """Stamp the file in this state."""
        key, value = key_of(state), sha256.encode()
        with self._lock:
            if self._known.get(key) == value:
                return
            self._known[key] = value
            with suppress(OSError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(handle, key + b" " + value + b"\n")
                finally:
                    os.close(handle)

    def add_hashed(self, before: os.stat_result, after: os.stat_result, sha256: str, began: int) -> None:
        """Stamp a file whose bytes were hashed from `began` (nanoseconds) on, with its states around that.

        No stamp when it changed meanwhile, or so shortly before that one more change would not show.
        """
        if key_of(before) == key_of(after) and began - after.st_ctime_ns > TICK:
            self.add(after, sha256)

    def _read_new_lines(self) -> None:
        try:
            size = self.file.stat().st_size
            if size == self._read_to:
                return
            if size < self._read_to:  # somebody rewrote it
                self._read_to = 0
            with self.file.open("rb") as stream:
                stream.seek(self._read_to)
                data = stream.read()
        except OSError:
            return
        end = data.rfind(b"\n") + 1  # a last line without its end may still be on its way
        damaged = len(data) - end > LINE_LENGTH
        for line in data[:end].splitlines():
            if match := LINE.fullmatch(line):
                self._known[match[1]] = match[2]
            else:
                damaged = True
        self._read_to += end
        if damaged or self._read_to > MOST_LINES * LINE_LENGTH:
            self._rewrite()

    def _rewrite(self) -> None:
        self._known = dict(list(self._known.items())[-MOST_LINES // 2 :])
        data = b"".join(key + b" " + value + b"\n" for key, value in self._known.items())
        temporary = self.file.with_name(f".{self.file.name}.{os.urandom(8).hex()}")
        try:
            temporary.write_bytes(data)
            temporary.replace(self.file)
            self._read_to = len(data)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def key_of(state: os.stat_result) -> bytes:
    fields = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return hashlib.blake2b(repr(fields).encode(), digest_size=16).hexdigest().encode()
