"""What the gates on collections share: a look at everything that is kept, a store that lets things happen, processes.

As a process of its own, for G1: `python collecting.py reader|writer URL NAME`. It says "ready", works until a line
comes in, and prints what it did.
"""

from __future__ import annotations

import random
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from support.faulty import Call, Fault, FaultyStore
from support.histories import model_of, synthetic_change
from tychora_format import leases
from tychora_format.leases import hold
from tychora_format.objects import object_path
from tychora_format.staging import Collected, Staged
from tychora_format.store import Store
from tychora_format.workspace import Workspace
from tychora_functions.publish import publish
from tychora_schemas.errors import NotFound

__all__ = ["interrupted_by", "missing", "paths_below", "quick_leases"]


def missing(workspace: Workspace) -> list[str]:
    """What a reader of any state of the workspace would miss. An empty list is what every test wants."""
    gone = []
    for state in workspace.lineage():
        snapshot = workspace.snapshot(state.snapshot)
        for batch in snapshot.batches:
            gone += [file.path for file in batch.entry.files if workspace.store.size(file.path) != file.size]
        contents = {live.row.content_sha256 for live in snapshot.live_sources() if live.row.content_sha256}
        gone += [path for path in map(object_path, sorted(contents)) if workspace.store.size(path) is None]
    return gone


def paths_below(store: Store, *prefixes: str) -> set[str]:
    return {file.path for prefix in prefixes for file in store.list(prefix)}


def interrupted_by(inner: Store, at: dict[int, Callable[[], object]]) -> FaultyStore:
    """`inner` for somebody whose k-th calls are preceded by what `at` says: others do that to `inner` meanwhile."""

    def script(call: Call) -> Fault | None:
        if call.number in at:
            at[call.number]()
        return None

    return FaultyStore(inner, script)


@contextmanager
def quick_leases(patience: float = 0.05) -> Iterator[None]:
    """A dead collector is taken for dead soon."""
    before = leases.PATIENCE
    leases.PATIENCE = patience
    try:
        yield
    finally:
        leases.PATIENCE = before


def is_over() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def write(workspace: Workspace, name: str) -> None:
    """Publish until told to stop; print how many commits that were."""
    commits = 0
    chance = random.Random(name)
    while not is_over():
        path = f"{name}/{chance.randrange(5)}.txt"
        try:
            staged = Staged(workspace)
            change = synthetic_change(workspace, {path: f"Note {commits} of {name} says {chance.randrange(10**6)}."})
            publish(workspace, change, {}, staged)
        except Collected:
            continue  # without a grace period, what was just staged is garbage like any other
        commits += 1
    print(commits, flush=True)


def read(workspace: Workspace, name: str) -> None:
    """Read the newest and, under a lease, old snapshots until told to stop; print how many were read whole."""
    chance = random.Random(name)
    reads = 0
    while not is_over():
        try:
            with hold(workspace, chosen := choose(workspace, chance)):
                check_whole(workspace, chosen)
        except NotFound as error:
            assert "collection" in error.message
            continue
        reads += 1
    print(reads, flush=True)


def choose(workspace: Workspace, chance: random.Random) -> str:
    """The newest snapshot, or one of the last few."""
    if chance.random() < 0.3:
        return chance.choice(workspace.lineage()[:4]).snapshot
    return workspace.log.head().snapshot or ""


def check_whole(workspace: Workspace, snapshot_id: str) -> None:
    """Read all that a snapshot shows, from the store itself."""
    snapshot = workspace.snapshot(snapshot_id)
    for content in model_of(snapshot).values():
        assert workspace.objects.get(content)
    for batch in snapshot.batches:
        for file in batch.entry.files:
            assert len(workspace.store.read(file.path)) == file.size
        assert not batch.rows or batch.chunks(range(batch.rows))


if __name__ == "__main__":
    role, url, own_name = sys.argv[1:]
    opened = Workspace.open(url)
    print("ready", flush=True)
    {"reader": read, "writer": write}[role](opened, own_name)
