"""Gates C9, G1, G2, and K3 for collections: what is reachable stays, whoever sleeps, dies or has a wrong clock."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collecting import interrupted_by, missing, paths_below, quick_leases
from support.faulty import Call, Fault, FaultyStore, only
from support.histories import clone, model_of, new_workspace, publish_texts, synthetic_change
from tychora_format.cache import Cache
from tychora_format.collection import Collection, open_collection
from tychora_format.leases import Lease
from tychora_format.log import Log, LogEntry
from tychora_format.manifest import snapshot_path
from tychora_format.objects import object_path
from tychora_format.staging import Collected, Staged
from tychora_format.store import LocalStore, MemoryStore, Store
from tychora_format.workspace import Workspace, utc_now
from tychora_functions import publish as publishing
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.compact import compact
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import publish
from tychora_schemas.errors import Busy, CorruptWorkspace, TychoraError
from tychora_schemas.identity import content_sha256

PROCESS = Path(__file__).with_name("collecting.py")
TIMINGS = 50


def bare(text: str) -> str:
    """A text that is retained and not indexed: it costs no lexical index, which takes most of a commit's time."""
    return f"\0{text}"


def orphan(workspace: Workspace, text: str) -> tuple[str, set[str]]:
    """Write all files of a commit and no log entry; returns the snapshot and the files that only it needs."""
    before = paths_below(workspace.store, "")
    aside = clone(workspace)
    snapshot = publish_texts(aside, {f"{content_sha256(text.encode())[:9]}.txt": bare(text)}).snapshot
    for path in paths_below(aside.store, "objects/", "batches/", "snapshots/") - before:
        workspace.store.write(path, aside.store.read(path))
    return snapshot.id, paths_below(workspace.store, "") - before


class Sleeper:
    """A writer that has done everything but create its log entry."""

    def __init__(self, workspace: Workspace, text: str) -> None:
        self.workspace = workspace
        self.head = workspace.log.head()
        self.snapshot, self.files = orphan(workspace, text)

    def entry(self, number: int, previous: str | None) -> LogEntry:
        return LogEntry(
            number=number,
            snapshot=self.snapshot,
            previous=previous,
            base=self.head.number,
            boundary=self.head.boundary,
            collecting=self.head.collecting,
            write_id=f"sleeper on {self.head.number}",
            time=utc_now(),
        )

    def wakes_at_its_number(self) -> bool:
        entry = self.entry(self.head.newest + 1, self.head.digest)
        return self.workspace.log.sequence.create(entry.number, entry.encode())

    def wakes_at_a_fresh_number(self) -> LogEntry:
        head = Log(self.workspace.store).head()
        entry = self.entry(head.newest + 1, head.digest)
        assert self.workspace.log.sequence.create(entry.number, entry.encode())
        return entry


def test_c9_a_sleeper_is_void_for_everybody(tmp_path: Path, seed: int) -> None:
    """C9: 50 times a writer sleeps through a collection, and rivals' commits at random around it. At its number it is
    beaten, at a fresh number with its old base void: for its own log and for everybody's, head and history. What it
    counted on is gone, and nobody misses it."""
    chance = random.Random(seed)
    cache = Cache(tmp_path)
    for number in range(TIMINGS // 5):
        workspace = new_workspace(cache)
        publish_texts(workspace, {"0.txt": bare("Nothing yet.")})
        for timing in range(5):
            oversleep(workspace, f"{number} {timing}", chance)
        assert not missing(workspace)
    report = verify(workspace)
    assert report.ok, report.problems


def oversleep(workspace: Workspace, name: str, chance: random.Random) -> None:
    sleeper = Sleeper(workspace, f"Sleeper {name}")
    if chance.random() < 0.5:
        publish_texts(workspace, {f"{chance.randrange(3)}.txt": bare(f"Before {name}.")})
    garbage = {each.path for each in collect(workspace, grace_hours=0).removed}
    assert sleeper.files <= garbage
    if chance.random() < 0.5:
        publish_texts(workspace, {f"{chance.randrange(3)}.txt": bare(f"After {name}.")})
    expected, history = workspace.head().id, len(workspace.log.history())
    assert not sleeper.wakes_at_its_number()
    entry = sleeper.wakes_at_a_fresh_number()
    for log in (workspace.log, Log(workspace.store)):
        assert log.is_void(entry)
        assert log.head().snapshot == expected
        assert len(log.history()) == history


def test_c9_void_entries_cost_readers_little(tmp_path: Path) -> None:
    """Sleepers wake one after another: reading the history asks for each entry a few times, not thousands."""
    workspace = new_workspace(Cache(tmp_path))
    publish_texts(workspace, {"0.txt": bare("Nothing yet.")})
    for number in range(8):
        sleeper = Sleeper(workspace, f"Sleeper {number}")
        collect(workspace, grace_hours=0)
        sleeper.wakes_at_a_fresh_number()
    store = FaultyStore(workspace.store)
    assert len(Log(store).history()) == 1 + 2 * 8
    assert len(store.calls) < 300


def test_c9_a_writer_that_sleeps_inside_publish(tmp_path: Path, seed: int) -> None:
    """C9: 50 times a collection runs whole, opens only, or is finished, at random moments of a publish. It ends with
    its content live and complete, or says that it was collected, and then succeeds when it is begun again."""
    chance = random.Random(seed)
    cache = Cache(tmp_path)
    refused = 0
    base = MemoryStore("asleep")
    begun = new_workspace(cache, base)
    publish_texts(begun, {"0.txt": bare("The first."), "1.txt": bare("The second.")})
    publish_texts(begun, {"0.txt": bare("The third.")})
    orphan(begun, "left behind")
    for timing in range(TIMINGS):
        inner = MemoryStore(f"sleeping {timing}")
        inner.write_many((file.path, base.read(file.path)) for file in base.list())
        workspace = Workspace.open(inner, cache=cache)
        rivals = Rivals(workspace, chance)
        moments = sorted(chance.sample(range(1, 60), 2))
        store = interrupted_by(inner, dict(zip(moments, chance.choice(rivals.plans), strict=True)))
        writer = Workspace.open(store, cache=cache)
        for attempt in range(3):
            try:
                staged = Staged(writer)
                change = synthetic_change(writer, {"new.txt": "Brand new.", "back.txt": bare("left behind")})
                published = publish(writer, change, {}, staged)
                break
            except Collected:
                refused += 1
                assert attempt < 2
                rivals.run()
        assert published.snapshot.id in {entry.snapshot for entry in Log(inner).history()}
        head = Workspace.open(inner, cache=cache).head()
        assert {"new.txt", "back.txt"} <= model_of(head).keys()
        assert not missing(workspace)
        collect(workspace, grace_hours=0)
        assert not missing(workspace)
    assert refused, "no collection ever met the writer"


class Rivals:
    """What others do to a bundle while a writer sleeps."""

    def __init__(self, workspace: Workspace, chance: random.Random) -> None:
        self.workspace = workspace
        self.plans: list[tuple[Callable[[], object], Callable[[], object]]] = [
            (self.run, lambda: None),
            (self.open, self.run),
            (self.open, lambda: None),
            (self.run, self.run),
            (self.open, self.commit),
            (self.commit, self.run),
        ]

    def run(self) -> None:
        """A whole collection; it also finishes one that was only opened."""
        collect(self.workspace, grace_hours=0)

    def open(self) -> None:
        """A collector is killed before it removes the first file."""
        open_collection(self.workspace, Collection(self.workspace, grace=0))

    def commit(self) -> None:
        publish_texts(self.workspace, {"1.txt": bare("A rival's.")})


def test_c9_staging_begun_while_a_collection_is_open(tmp_path: Path) -> None:
    """A file found while a collection that removes it is open is looked for again when that is closed, though the
    boundary is the same then."""
    workspace = new_workspace(Cache(tmp_path))
    publish_texts(workspace, {"a.txt": "One."})
    workspace.store.write(object_path(content_sha256(b"Two.")), b"Two.")
    opened = open_collection(workspace, Collection(workspace, grace=0))
    assert opened is not None
    staged = Staged(workspace)
    change = synthetic_change(workspace, {"b.txt": "Two."})
    collect(workspace, grace_hours=0)
    with pytest.raises(Collected):
        publish(workspace, change, {}, staged)
    assert not missing(workspace)


def test_g2_wrong_clocks(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: 50 times writers' clocks and the files' times are up to 26 hours wrong, either way. Collections with any
    grace period and any length of history remove nothing that is reachable."""
    chance = random.Random(seed)
    monkeypatch.setattr(publishing, "utc_now", lambda: wrong_time(chance))
    monkeypatch.setattr("tychora_format.workspace.utc_now", lambda: wrong_time(chance))
    cache = Cache(tmp_path / "cache")
    removed = 0
    for number in range(5):
        store = MemoryStore(f"clocks {number}") if number else LocalStore(tmp_path / "bundle")
        workspace = new_workspace(cache, store)
        publish_texts(workspace, {"0.txt": bare("Zero."), "1.txt": bare("One.")})
        for case in range(10):
            publish_texts(workspace, {f"{chance.randrange(3)}.txt": bare(f"Case {case} is {chance.random()}.")})
            orphan(workspace, f"Orphan {case}")
            if case % 4 == 3:
                compact(workspace)
            if chance.random() < 0.3:
                workspace.tags.put(f"tag{case}", workspace.head().id)
            for file in store.list(""):
                if chance.random() < 0.7:
                    set_time(store, file.path, time.time() + chance.uniform(-26, 26) * 3600)
            history = chance.choice([None, None, 0, 1, 3])
            states = [state.snapshot for state in workspace.lineage()]
            kept = {*(states if history is None else states[: history + 1]), *workspace.tags.all().values()}
            shown = model_of(workspace.head())
            removed += len(collect(workspace, grace_hours=chance.choice([0, 1, 24, 25.9]), history=history).removed)
            assert kept <= {state.snapshot for state in workspace.lineage()}
            assert not missing(workspace)
            assert model_of(workspace.head()) == shown
        report = verify(workspace)
        assert report.ok, report.problems
    assert removed


def set_time(store: LocalStore | MemoryStore, path: str, moment: float) -> None:
    if isinstance(store, LocalStore):
        os.utime(store.local_path(path), (moment, moment))
    else:
        store._modified[path] = moment


def wrong_time(chance: random.Random) -> str:
    return (datetime.now(UTC) + timedelta(hours=chance.uniform(-26, 26))).isoformat(timespec="milliseconds")


class Trial:
    """A bundle with garbage of every kind, in a store that can be told to fail."""

    def __init__(self, cache: Cache, like: Trial | None = None) -> None:
        self.cache = cache
        self.inner = MemoryStore(os.urandom(8).hex())
        if like is None:
            workspace = new_workspace(cache, self.inner)
            for number in range(3):
                publish_texts(workspace, {"0.txt": f"Text {number}.", "1.txt": "Stays."})
            compact(workspace)
            publish_texts(workspace, {"0.txt": bare("The newest.")})
            orphan(workspace, "orphan")
            self.inner.write("staging/left/part", b"half of it")
        else:
            self.inner.write_many((file.path, like.inner.read(file.path)) for file in like.inner.list())
        self.shown = model_of(Workspace.open(self.inner, cache=cache).head())
        self.store = FaultyStore(self.inner)

    def collect(self) -> None:
        collect(Workspace.open(self.store, cache=self.cache), grace_hours=0, history=1)

    def calls(self) -> list[Call]:
        """The calls that a collection of such a bundle makes."""
        counted = Trial(self.cache, self)
        counted.collect()
        return counted.store.calls

    def check(self) -> Workspace:
        """Everybody else finds a valid bundle that shows what it showed."""
        workspace = Workspace.open(self.inner, cache=self.cache)
        assert model_of(workspace.head()) == self.shown
        assert not missing(workspace)
        return workspace

    def finish(self) -> None:
        """The next collection ends with nothing left over, and a writer can go on."""
        workspace = self.check()
        for lease in list(self.inner.list("leases/collect/")):
            self.inner.delete(lease.path)  # as if the time had passed after which its holder is taken for dead
        collect(workspace, grace_hours=0, history=1)
        self.check()
        assert workspace.log.head().collecting is None
        assert len(workspace.lineage()) == 2
        assert not collect(workspace, dry_run=True, grace_hours=0, history=1).removed


class Killed(BaseException):
    """The process is gone: nothing that it would do afterwards happens."""


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.LOST_ANSWER])
def test_k3_the_kth_call_of_a_collection_fails(tmp_path: Path, fault: Fault) -> None:
    """K3: for every k the k-th storage call of a collection fails: the bundle stays valid, and the next collection
    removes the rest."""
    cache = Cache(tmp_path)
    base = Trial(cache)
    for call in base.calls():
        if fault is Fault.LOST_ANSWER and not call.writes:
            continue  # nothing happens there: it is like an error
        trial = Trial(cache, base)
        trial.store.script = only(call.number, fault)
        try:
            trial.collect()
        except TychoraError as error:
            assert error.next_step
        trial.finish()


def test_k3_a_collector_is_killed_at_any_call(tmp_path: Path) -> None:
    """K3: a collector dies before its k-th storage call, for every k: the bundle stays valid, and the next collector
    takes over and finishes."""
    cache = Cache(tmp_path)
    base = Trial(cache)
    for number in range(1, len(base.calls()) + 1):
        trial = Trial(cache, base)

        def script(call: Call, number: int = number) -> Fault | None:
            if call.number == number:
                raise Killed
            return Fault.ERROR if call.number > number else None

        trial.store.script = script
        with pytest.raises(Killed):
            trial.collect()
        trial.finish()


def test_k3_the_successor_of_a_dead_collector_waits_takes_over_and_finishes(tmp_path: Path) -> None:
    """A collector dies after its collection was opened. The next one sees no sign of life, and ends what it began; what
    the dead one would still do, it does not do when it wakes."""
    trial = Trial(Cache(tmp_path))
    with quick_leases(1.0):
        dead = Lease(trial.inner, "collect").__enter__()
        dead._ended.set()
        workspace = trial.check()
        open_collection(workspace, Collection(workspace, grace=0, history=1))
        report = collect(workspace, grace_hours=0, history=1)
    assert report.finished and report.removed
    trial.check()
    with pytest.raises(Busy):
        dead.require()
    publish_texts(workspace, {"2.txt": "orphan"})
    assert not missing(workspace)


def test_two_collectors_are_not_at_work_at_once(tmp_path: Path) -> None:
    trial = Trial(Cache(tmp_path))
    with quick_leases(1.0), Lease(trial.inner, "collect"), pytest.raises(Busy):
        trial.collect()
    trial.finish()


def test_k3_a_damaged_reference_stops_a_collection_before_it_removes_anything(tmp_path: Path) -> None:
    """A manifest or a batch's file that is needed and missing: a typed error names it, and every file stays."""
    cache = Cache(tmp_path)
    for kind in ("snapshots/", "batches/"):
        trial = Trial(cache)
        workspace = trial.check()
        head = workspace.head()
        lost = snapshot_path(workspace.lineage()[1].snapshot)
        if kind == "batches/":
            files = [file.path for batch in head.batches for file in batch.entry.files]
            lost = next(path for path in files if "sources" not in path)
        trial.inner.delete(lost)
        before = paths_below(trial.inner, "snapshots/", "batches/", "objects/")
        with pytest.raises(CorruptWorkspace, match=lost):
            collect(Workspace.open(trial.inner, cache=cache), grace_hours=0)
        assert paths_below(trial.inner, "snapshots/", "batches/", "objects/") == before


def collect_beside(folder: Path, seconds: float) -> None:
    """G1: four readers and two writers, each a process of its own, while collections follow each other."""
    store: Store = LocalStore(folder / "bundle")
    cache = Cache(folder / "cache")
    workspace = new_workspace(cache, store)
    publish_texts(workspace, {"0.txt": bare("The first.")})
    roles = [("reader", f"reader{n}") for n in range(4)] + [("writer", f"writer{n}") for n in range(2)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROCESS.parent), str(PROCESS.parents[1])])}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROCESS), role, store.url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for role, name in roles
    ]
    try:
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "ready\n", process.communicate()
        removed = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            orphan(workspace, f"orphan {removed}")
            compact(workspace)
            removed += len(collect(workspace, grace_hours=0, history=4).removed)
        outputs = [process.communicate("stop\n", timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert removed
    for (role, name), process, (output, errors) in zip(roles, processes, outputs, strict=True):
        assert process.returncode == 0, f"{name}: {errors}"
        assert int(output) > 0, f"the {role} {name} did nothing"
    assert not missing(workspace)
    report = verify(workspace)
    assert report.ok, report.problems


def test_g1_beside_readers_and_writers(tmp_path: Path) -> None:
    """G1: no reader meets an error, nothing reachable is removed, the bundle verifies at the end."""
    collect_beside(tmp_path, seconds=3)


@pytest.mark.nightly
def test_g1_beside_readers_and_writers_for_longer(tmp_path: Path) -> None:
    """G1: the same for 30 seconds."""
    collect_beside(tmp_path, seconds=30)
