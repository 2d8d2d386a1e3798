"""A bundle in the memory of this process: for tests, and for work that nobody keeps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tychora_format.store.failures import typed_failures
from tychora_format.store.port import Entry, Store, checked_path, checked_prefix
from tychora_schemas.errors import NotFound

__all__ = ["MemoryStore"]


class MemoryStore(Store):
    """A dictionary under a lock. `open_store("memory://name")` gives the same one throughout a process."""

    def __init__(self, name: str = "unnamed", clock: Callable[[], float] = time.time) -> None:
        self.url = f"memory://{name}"
        self._clock = clock
        self._files: dict[str, bytes] = {}
        self._modified: dict[str, float] = {}
        self._lock = threading.Lock()

    def read(self, path: str) -> bytes:
        try:
            return self._files[checked_path(path)]
        except KeyError:
            raise NotFound(f"no file {path} in {self.url}", next_step="memory is empty in a new process") from None

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self.read(path)[start : max(start, end)]

    def create(self, path: str, data: bytes) -> bool:
        with self._lock:
            if checked_path(path) in self._files:
                return False
            self._put(path, data)
            return True

    def write(self, path: str, data: bytes | Path) -> None:
        checked_path(path)
        if isinstance(data, Path):
            with typed_failures(f"read {data}"):
                data = data.read_bytes()
        with self._lock:
            self._put(path, data)

    def _put(self, path: str, data: bytes) -> None:
        self._files[path] = bytes(data)
        self._modified[path] = self._clock()

    def download(self, path: str, target: Path) -> None:
        data = self.read(path)
        with typed_failures(f"write {target}"):
            target.write_bytes(data)

    def size(self, path: str) -> int | None:
        data = self._files.get(checked_path(path))
        return None if data is None else len(data)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        checked_prefix(prefix)
        with self._lock:
            found = [
                Entry(path, len(data), self._modified[path])
                for path, data in self._files.items()
                if path.startswith(prefix)
            ]
        yield from sorted(found, key=lambda entry: entry.path)

    def delete(self, path: str) -> None:
        with self._lock:
            if self._files.pop(checked_path(path), None) is not None:
                del self._modified[path]

    def now(self) -> float:
        return self._clock()
