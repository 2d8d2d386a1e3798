"""Stores that misbehave on purpose: the k-th call fails, an answer is lost, put-if-absent is ignored."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tychora_format.store import Entry, Store
from tychora_schemas.errors import ProviderUnavailable

__all__ = ["Call", "CarelessStore", "Fault", "FaultyStore", "Script", "every", "only", "randomly"]


class Fault(Enum):
    """What goes wrong with one call."""

    ERROR = "the store answers with an error; nothing happened"
    TIMEOUT = "no answer came; nothing happened"
    PARTIAL = "half of the bytes land under the final name, then the store fails (writes; else like ERROR)"
    LOST_ANSWER = "the call is carried out, then the store fails"
    REPEATED = "the call is carried out, its answer lost, and a layer below repeats it (create answers False)"


@dataclass(frozen=True)
class Call:
    """One call to a store: its number from 1, the method and the path."""

    number: int
    method: str
    path: str

    @property
    def writes(self) -> bool:
        return self.method in ("create", "write", "delete")


Script = Callable[[Call], Fault | None]
"""Decides for each call what goes wrong."""


def only(number: int, fault: Fault) -> Script:
    """Call `number` fails, all others work."""
    return lambda call: fault if call.number == number else None


def every(count: int, fault: Fault, *methods: str) -> Script:
    """Every `count`-th call of `methods` (default: create, write, delete) fails."""
    seen = 0
    lock = threading.Lock()

    def script(call: Call) -> Fault | None:
        nonlocal seen
        if call.method not in (methods or ("create", "write", "delete")):
            return None
        with lock:
            seen += 1
            return fault if seen % count == 0 else None

    return script


def randomly(seed: int, share: float, *faults: Fault) -> Script:
    """A `share` of all calls fails, by one of `faults` (default: any)."""
    chance = random.Random(seed)
    choices = faults or tuple(Fault)
    return lambda call: chance.choice(choices) if chance.random() < share else None


class FaultyStore(Store):
    """`inner`, but `script` says which calls fail. `calls` lists what was asked.

    Batch transfers count as one call per file.
    """

    def __init__(self, inner: Store, script: Script = lambda call: None) -> None:
        self.inner = inner
        self.url = inner.url
        self.script = script
        self.calls: list[Call] = []
        self._lock = threading.Lock()

    def _fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            call = Call(len(self.calls) + 1, method, path)
            self.calls.append(call)
            return self.script(call)

    @staticmethod
    def _failure(fault: Fault, path: str) -> ProviderUnavailable:
        return ProviderUnavailable(f"{path}: {fault.value}", next_step="this is a test")

    def _before(self, method: str, path: str) -> Fault | None:
        """Fails now unless the fault lets the call be carried out."""
        fault = self._fault(method, path)
        if fault in (Fault.ERROR, Fault.TIMEOUT):
            raise self._failure(fault, path)
        if fault is Fault.PARTIAL and method not in ("create", "write"):
            raise self._failure(fault, path)
        return fault

    def _after(self, fault: Fault | None, path: str) -> None:
        if fault in (Fault.LOST_ANSWER, Fault.PARTIAL):
            raise self._failure(fault, path)

    def read(self, path: str) -> bytes:
        fault = self._before("read", path)
        data = self.inner.read(path)
        self._after(fault, path)
        return data

    def read_range(self, path: str, start: int, end: int) -> bytes:
        fault = self._before("read_range", path)
        data = self.inner.read_range(path, start, end)
        self._after(fault, path)
        return data

    def create(self, path: str, data: bytes) -> bool:
        fault = self._before("create", path)
        created = self.inner.create(path, data[: len(data) // 2] if fault is Fault.PARTIAL else data)
        self._after(fault, path)
        return created and fault is not Fault.REPEATED

    def write(self, path: str, data: bytes | Path) -> None:
        fault = self._before("write", path)
        if fault is Fault.PARTIAL:
            whole = data.read_bytes() if isinstance(data, Path) else data
            data = whole[: len(whole) // 2]
        self.inner.write(path, data)
        self._after(fault, path)

    def download(self, path: str, target: Path) -> None:
        fault = self._fault("download", path)
        if fault is not None:
            if fault is Fault.PARTIAL:
                whole = self.inner.read(path)
                target.write_bytes(whole[: len(whole) // 2])
            raise self._failure(fault, path)
        self.inner.download(path, target)

    def size(self, path: str) -> int | None:
        fault = self._before("size", path)
        size = self.inner.size(path)
        self._after(fault, path)
        return size

    def list(self, prefix: str = "") -> Iterator[Entry]:
        fault = self._before("list", prefix)
        entries = list(self.inner.list(prefix))
        self._after(fault, prefix)
        return iter(entries)

    def delete(self, path: str) -> None:
        fault = self._before("delete", path)
        self.inner.delete(path)
        self._after(fault, path)

    def now(self) -> float:
        fault = self._before("now", "")
        time = self.inner.now()
        self._after(fault, "")
        return time

    def local_path(self, path: str) -> Path | None:
        return self.inner.local_path(path)


class CarelessStore(FaultyStore):
    """A store that ignores put-if-absent: every create overwrites and says that it won."""

    def create(self, path: str, data: bytes) -> bool:
        self._before("create", path)
        self.inner.write(path, data)
        return True
