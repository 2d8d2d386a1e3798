"""Leases: exclusive ones pass from holder to holder, a reader's keeps a snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from support.faulty import Fault, FaultyStore
from support.histories import new_workspace, publish_texts
from tychora_format import leases
from tychora_format.cache import Cache
from tychora_format.leases import Lease, held, hold
from tychora_format.log import Proposal
from tychora_format.manifest import snapshot_path
from tychora_format.store import MemoryStore, Store
from tychora_schemas.errors import Busy, NotFound


class Clock:
    """A clock that moves only when somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self) -> float:
        return self.time

    def pause(self, seconds: float) -> None:
        self.time += seconds
        self.meanwhile()


def lease(store: Store, clock: Clock | None = None, patience: float = 60.0) -> Lease:
    clock = clock or Clock()
    return Lease(store, "work", patience=patience, clock=clock, pause=clock.pause)


def test_a_released_lease_is_taken_at_once(memory_store: MemoryStore) -> None:
    clock = Clock()
    for _ in range(3):
        with lease(memory_store, clock) as held_now:
            held_now.require()
    assert clock.time == 0
    assert len(list(memory_store.list("leases/"))) == 1


def test_a_lease_is_released_after_an_error_too(memory_store: MemoryStore) -> None:
    with pytest.raises(ZeroDivisionError), lease(memory_store):
        raise ZeroDivisionError
    with lease(memory_store, clock := Clock()):
        assert clock.time == 0


def test_who_gives_signs_of_life_keeps_the_lease(memory_store: MemoryStore) -> None:
    with Lease(memory_store, "work", patience=0.06) as first:
        with pytest.raises(Busy) as caught, Lease(memory_store, "work", patience=5.0):
            pytest.fail("two hold the lease")
        assert caught.value.next_step
        first.require()


def test_a_silent_holder_is_taken_for_dead_and_learns_of_it(memory_store: MemoryStore) -> None:
    """The first holder's next look at its lease raises Busy, whatever its own clock says."""
    silent = lease(memory_store)
    with silent, lease(memory_store, clock := Clock()) as second:
        assert clock.time >= 60
        with pytest.raises(Busy):
            silent.require()
        second.require()


def test_a_silent_holder_that_ends_does_not_release_its_successor(memory_store: MemoryStore) -> None:
    silent = lease(memory_store).__enter__()
    with lease(memory_store) as second:
        silent.__exit__(None, None, None)
        second.require()
        with pytest.raises(Busy):
            silent.require()


def test_of_two_who_wait_for_a_dead_holder_one_takes_over(memory_store: MemoryStore) -> None:
    lease(memory_store).__enter__()
    won: list[int] = []
    gate = threading.Barrier(4)

    def take(number: int) -> None:
        clock = Clock()
        clock.meanwhile = lambda: gate.wait(10) if clock.time >= 60 else None
        try:
            lease(memory_store, clock).__enter__()
            won.append(number)
        except Busy:
            pass

    threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_a_holder_whose_signs_of_life_fail_gives_up(memory_store: MemoryStore) -> None:
    """A store that answers no more may already have another holder: half the patience is the limit."""
    store = FaultyStore(memory_store)
    clock = Clock()
    with lease(store, clock) as cut_off:
        store.script = lambda call: Fault.ERROR if call.method == "write" else None
        clock.time += 29
        cut_off.require()
        clock.time += 2
        with pytest.raises(Busy):
            cut_off.require()


def test_a_read_holds_its_snapshot_and_lets_go(tmp_path: Path) -> None:
    workspace = new_workspace(Cache(tmp_path))
    snapshot = publish_texts(workspace, {"a.txt": "One."}).snapshot
    with hold(workspace, snapshot.id), hold(workspace, snapshot.id):
        assert list(held(workspace.store).values()) == [snapshot.id] * 2
    assert not held(workspace.store)
    assert not list(workspace.store.list("leases/"))


def test_a_lease_that_was_not_renewed_expires_by_the_clock_of_the_store(tmp_path: Path) -> None:
    time = [1_000_000.0]
    workspace = new_workspace(Cache(tmp_path), MemoryStore("clocked", clock=lambda: time[0]))
    snapshot = publish_texts(workspace, {"a.txt": "One."}).snapshot
    with hold(workspace, snapshot.id):
        time[0] += leases.EXPIRY - 1
        assert held(workspace.store)
        time[0] += 2
        assert not held(workspace.store)


def test_a_damaged_lease_holds_nothing(tmp_path: Path) -> None:
    workspace = new_workspace(Cache(tmp_path))
    workspace.store.write("leases/readers/0.json", b"{}")
    assert not held(workspace.store)


def test_where_nothing_can_be_written_reading_goes_on_without_a_lease(tmp_path: Path) -> None:
    workspace = new_workspace(Cache(tmp_path))
    snapshot = publish_texts(workspace, {"a.txt": "One."}).snapshot
    workspace.store = FaultyStore(workspace.store, lambda call: Fault.ERROR if call.writes else None)
    with hold(workspace, snapshot.id):
        assert snapshot.live_sources()


def test_what_an_open_collection_removes_cannot_be_held_any_more(tmp_path: Path) -> None:
    workspace = new_workspace(Cache(tmp_path))
    snapshot = publish_texts(workspace, {"a.txt": "One."}).snapshot
    newer = publish_texts(workspace, {"a.txt": "Two."}).snapshot
    digest = workspace.put_doomed([snapshot_path(snapshot.id)])
    workspace.commit_snapshot(lambda head: Proposal(newer.id, opens=digest))
    with pytest.raises(NotFound, match="collection"), hold(workspace, snapshot.id):
        pytest.fail("it is held")
    assert not held(workspace.store)
