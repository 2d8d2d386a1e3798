"""Leases: who works here at the moment. They save work from being done twice or taken away, and prove nothing by time.

A `Lease` is exclusive: its holders are numbered, and whoever creates the next number holds it from then on, so of
several who take it over at once one succeeds. A `hold` is shared: it keeps a snapshot from being dropped.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from tychora_format.manifest import snapshot_path
from tychora_format.sealed import seal, unseal
from tychora_format.sequence import Sequence
from tychora_format.store import Store
from tychora_schemas.errors import Busy, CorruptWorkspace, NotFound, TychoraError

if TYPE_CHECKING:
    from tychora_format.workspace import Workspace

__all__ = ["READERS", "Lease", "held", "hold"]

PATIENCE = 30.0
"""Seconds without a sign of life after which a lease is taken over, by the clock of the one who waits."""

BEATS = 6
"""Signs of life that a holder gives in that time."""

READERS = "leases/readers/"
"""Where readers' leases lie."""

EXPIRY = 3600.0
"""Seconds by the store's own clock after which a reader's lease counts no more, unless it was renewed."""


class Lease:
    """The right to do something alone, as a context manager that gives signs of life while it is held.

    Raises Busy on entry while another holder gives signs of life. Nobody's wall clock takes part.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        patience: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self.name = name
        self.patience = PATIENCE if patience is None else patience
        self._clock = clock
        self._pause = pause
        self._sequence = Sequence(store, f"leases/{name}")
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._number = self._beat = 0
        self._seen = 0.0

    def __enter__(self) -> Lease:
        number = self._sequence.newest()
        if number and not self._is_released(number):
            self._wait(number)
        self._number = number + 1
        self._seen = self._clock()
        if not self._sequence.create(self._number, self._state()):
            raise self._busy()
        with suppress(TychoraError):
            for past in self._sequence.numbers():
                if past < self._number:
                    self._sequence.store.delete(self._sequence.path(past))
        threading.Thread(target=self._live, name=f"lease {self.name}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._writing, suppress(TychoraError):
            # The number stays taken: a holder that was presumed dead must never meet its own number again.
            self._sequence.store.write(self._sequence.path(self._number), self._state(released=True))

    def require(self) -> None:
        """Make sure that the lease is still ours. Raises Busy when it was, or may have been, taken over."""
        began = self._clock()
        if self._sequence.newest() != self._number or self._clock() - min(began, self._seen) > self.patience / 2:
            raise self._busy()

    def _live(self) -> None:
        while not self._ended.wait(self.patience / BEATS):
            with self._writing, suppress(TychoraError):
                if self._ended.is_set() or self._sequence.newest() != self._number:
                    return
                began = self._clock()
                self._beat += 1
                self._sequence.store.write(self._sequence.path(self._number), self._state())
                self._seen = began

    def _state(self, released: bool = False) -> bytes:
        return seal({"beat": self._beat, "released": released, "token": secrets.token_hex(8)})

    def _is_released(self, number: int) -> bool:
        with suppress(NotFound, CorruptWorkspace):
            path = self._sequence.path(number)
            return bool(unseal(self._sequence.store.read(path), path).get("released"))
        return False

    def _wait(self, number: int) -> None:
        """Until holder `number` has given no sign of life for so long that it is taken for dead."""
        before = self._look(number)
        began = self._clock()
        while self._clock() - began < self.patience:
            self._pause(self.patience / BEATS / 2)
            if self._look(number) != before:
                if self._is_released(number):
                    return
                raise self._busy()

    def _look(self, number: int) -> bytes | None:
        with suppress(NotFound):
            return self._sequence.read(number)
        return None

    def _busy(self) -> Busy:
        return Busy(
            f"another process holds {self.name} of {self._sequence.store.url}",
            next_step="let it finish, then run the same command again",
        )


@contextmanager
def hold(workspace: Workspace, snapshot_id: str) -> Iterator[None]:
    """Keep a snapshot from being dropped by collections while it is read: for readers of the past.

    Raises NotFound when it is gone, or a collection that began before removes it. Where nothing can be written no lease
    is taken: such a place has its collections elsewhere, and a read that loses a file says so.
    """
    path = f"{READERS}{secrets.token_hex(16)}.json"
    store = workspace.store
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(EXPIRY / 4):
            with suppress(TychoraError):
                store.write(path, data)

    data = seal({"snapshot": snapshot_id})
    try:
        store.write(path, data)
    except TychoraError:
        yield
        return
    try:
        _require_present(workspace, snapshot_id)
        threading.Thread(target=renew, name=f"lease of {snapshot_id[:12]}", daemon=True).start()
        yield
    finally:
        ended.set()
        with suppress(TychoraError):
            store.delete(path)


def _require_present(workspace: Workspace, snapshot_id: str) -> None:
    """Look after the lease was written: a collector looks at leases after it has said what it removes."""
    path = snapshot_path(snapshot_id)
    if snapshot_id and (
        path in workspace.doomed(workspace.log.head().collecting) or workspace.store.size(path) is None
    ):
        raise NotFound(
            f"the snapshot {snapshot_id[:12]}… is not here any more: a collection removed it",
            next_step="tychora inspect WORKSPACE log lists the snapshots that there are",
        )


def held(store: Store) -> dict[str, str]:
    """The leases of readers that count, by path, each with its snapshot. One that was not renewed in time, or is
    damaged, counts no more."""
    leases = list(store.list(READERS))
    oldest = store.now() - EXPIRY if leases else 0.0
    found = {}
    for lease in leases:
        if lease.modified >= oldest:
            with suppress(NotFound, CorruptWorkspace):
                found[lease.path] = str(unseal(store.read(lease.path), lease.path).get("snapshot"))
    return found
