"""What a collection keeps, what it removes, and what it says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.faulty import Fault, FaultyStore
from support.histories import model_of, new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.collection import Collection, close_collection, open_collection, remove
from tychora_format.erasure import erasure_statement
from tychora_format.leases import hold
from tychora_format.manifest import snapshot_path
from tychora_format.objects import object_path
from tychora_format.store import MemoryStore
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.compact import compact
from tychora_functions.maintain.verify import verify
from tychora_schemas.errors import Busy, CorruptWorkspace, InvalidRequest, ProviderUnavailable
from tychora_schemas.identity import content_sha256

HOUR = 3600.0


class Place:
    """A bundle whose store has a clock that the test sets."""

    def __init__(self, folder: Path) -> None:
        self.time = 1_800_000_000.0
        self.store = MemoryStore("place", clock=lambda: self.time)
        self.workspace = new_workspace(Cache(folder), self.store)

    def put(self, *paths: str) -> None:
        for path in paths:
            self.store.write(path, b"x")

    def paths(self) -> set[str]:
        return {file.path for file in self.store.list()}

    def states(self) -> list[str]:
        return [state.snapshot for state in self.workspace.lineage()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Three states of two sources: `a` changes twice, `b` stays. Everything is two days old."""
    place = Place(tmp_path)
    publish_texts(place.workspace, {"a.txt": "One.", "b.txt": "Bee."})
    publish_texts(place.workspace, {"a.txt": "Two."})
    publish_texts(place.workspace, {"a.txt": "Three."})
    place.time += 48 * HOUR
    return place


ORPHANS = (
    f"objects/ab/{'ab' * 32}",
    f"batches/batch_{'0' * 64}/tables/sources.parquet",
    f"snapshots/{'0' * 64}.json",
    "staging/write-1.part",
    "jobs/old.json",
)


def test_orphans_go_and_everything_that_history_reaches_stays(place: Place) -> None:
    before = place.paths()
    place.put(*ORPHANS)
    place.time += 25 * HOUR
    report = collect(place.workspace)
    assert {each.path for each in report.removed} == set(ORPHANS)
    assert report.removed_bytes == len(ORPHANS)
    assert report.snapshots_removed == ["0" * 64]
    added = {path for path in place.paths() - before if not path.startswith("log/")}
    assert {path.split("/")[0] for path in added} <= {"leases"}
    assert before <= place.paths()
    assert verify(place.workspace).ok


def test_young_files_stay_and_are_counted(place: Place) -> None:
    place.put(*ORPHANS)
    place.time += 23 * HOUR
    report = collect(place.workspace)
    assert not report.removed
    assert report.young == len(ORPHANS)
    assert len(place.workspace.log.history()) == 3, "without anything to remove no entry is made"


def test_names_that_the_format_does_not_know_are_left_alone(place: Place) -> None:
    place.put("notes/readme", "statements/readme", "keys/own", "readme")
    before = place.paths()
    collect(place.workspace, grace_hours=0)
    assert before <= place.paths()


def test_a_dry_run_says_what_would_go_and_changes_nothing(place: Place) -> None:
    place.put(*ORPHANS)
    before = place.paths()
    report = collect(place.workspace, dry_run=True, grace_hours=0, history=0)
    assert place.paths() == before
    real = collect(place.workspace, grace_hours=0, history=0)
    assert report.dry_run and not real.dry_run
    assert report.removed == real.removed
    assert report.snapshots_removed == real.snapshots_removed


def test_an_empty_workspace_is_collected_too(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.put(*ORPHANS)
    assert len(collect(place.workspace, grace_hours=0).removed) == len(ORPHANS)
    publish_texts(place.workspace, {"a.txt": "One."})
    assert model_of(place.workspace.head()).keys() == {"a.txt"}
    assert verify(place.workspace).ok


def test_a_shorter_history_keeps_the_newest_states_with_all_that_they_need(place: Place) -> None:
    states = place.states()
    report = collect(place.workspace, history=1)
    assert report.snapshots_removed == [states[2]]
    assert place.states() == states[:2]
    assert object_path(content_sha256(b"Bee.")) in place.paths()
    assert object_path(content_sha256(b"One.")) in place.paths(), "a past row of a batch that stays names it"
    assert verify(place.workspace).ok
    assert not collect(place.workspace, history=1).removed


def test_tags_and_readers_keep_their_snapshots(place: Place) -> None:
    newest, middle, oldest = place.states()
    place.workspace.tags.put("kept", oldest)
    with hold(place.workspace, middle):
        assert not collect(place.workspace, history=0).snapshots_removed
    assert collect(place.workspace, history=0).snapshots_removed == [middle]
    assert model_of(place.workspace.resolve("kept")) != model_of(place.workspace.snapshot(newest))
    assert verify(place.workspace).ok


def test_a_tag_or_lease_made_while_a_collection_opens_is_heeded(place: Place) -> None:
    """Who makes one looks afterwards whether its snapshot is being removed; the collection looks at them afterwards."""
    newest, middle, oldest = place.states()
    collection = Collection(place.workspace, grace=0, history=0)
    opened = open_collection(place.workspace, collection)
    assert opened is not None
    digest, garbage = opened
    assert {*garbage.snapshots} == {middle, oldest}
    place.workspace.tags.put("late", middle)
    doomed = place.workspace.doomed(digest)
    spared = collection.spared(place.workspace.log.head(), doomed)
    assert snapshot_path(middle) in spared
    remove(place.workspace, doomed - spared, lambda done: None)
    close_collection(place.workspace, digest)
    assert place.states() == [newest, middle]
    assert verify(place.workspace).ok


def test_a_state_dropped_while_young_stays_whole(tmp_path: Path) -> None:
    """A manifest younger than the grace period keeps its older files: what is there can be read."""
    place = Place(tmp_path)
    publish_texts(place.workspace, {"a.txt": "One."})
    for file in place.store.list("batches/"):
        place.store._modified[file.path] -= 30 * HOUR
    publish_texts(place.workspace, {"a.txt": "Two."})
    compact(place.workspace)
    report = collect(place.workspace, history=0)
    assert not report.removed
    assert report.young > 2
    assert len(place.states()) == 3
    assert verify(place.workspace).ok
    place.time += 25 * HOUR
    removed = {each.path.split("/")[0] for each in collect(place.workspace, history=0).removed}
    assert removed == {"snapshots", "batches", "objects"}
    assert verify(place.workspace).ok


def test_a_state_dropped_after_the_files_were_listed_stays_whole(place: Place) -> None:
    """A rival's commits after the look at the files: the manifest that is not listed keeps what it names."""
    place.store.write(object_path(content_sha256(b"Four.")), b"Four.")
    collection = Collection(place.workspace, grace=0, history=0)
    middle = publish_texts(place.workspace, {"a.txt": "Four."}).snapshot.id
    publish_texts(place.workspace, {"a.txt": "Five."})
    compact(place.workspace)
    opened = open_collection(place.workspace, collection)
    assert opened is not None
    assert object_path(content_sha256(b"Four.")) not in place.workspace.doomed(opened[0])
    collect(place.workspace)
    assert middle in place.states()
    assert verify(place.workspace).ok
    assert not collect(place.workspace, dry_run=True, grace_hours=0).removed


def test_an_interrupted_collection_is_finished_by_the_next(place: Place) -> None:
    place.put(*ORPHANS)
    opened = open_collection(place.workspace, Collection(place.workspace, grace=0))
    assert opened is not None
    place.store.delete(ORPHANS[0])
    foreseen = collect(place.workspace, dry_run=True)
    report = collect(place.workspace)
    assert foreseen.finished and report.finished
    assert {each.path for each in report.removed} == {*ORPHANS[1:]} == {each.path for each in foreseen.removed}
    assert place.workspace.log.head().collecting is None
    assert place.workspace.collected() == {*ORPHANS}


def test_what_is_erased_goes_whatever_its_age(place: Place) -> None:
    """The original, the old batch and, after another erasure, the batch that stood for it: their bytes are gone."""
    for text in ("Secret.", "Open."):
        publish_texts(place.workspace, {f"{text}txt": text})
    secret = content_sha256(b"Secret.")
    statement = erasure_statement(frozenset({secret}), "a test", utc_now())
    place.workspace.statements.add(statement)
    report = collect(place.workspace)
    assert report.batches_rewritten == 1
    assert object_path(secret) not in place.paths()
    assert not any(b"Secret." in place.store.read(path) for path in place.paths())
    publish_texts(place.workspace, {"c.txt": "Sea."})
    assert not collect(place.workspace).removed
    assert verify(place.workspace).ok


@pytest.mark.parametrize("kind", ["snapshot", "batch", "log", "tag"])
def test_a_missing_reference_stops_it_before_anything_is_removed(place: Place, kind: str) -> None:
    oldest = place.workspace.manifest(place.states()[2])
    entry = place.workspace.log.sequence.path(2)
    lost = {
        "snapshot": snapshot_path(place.states()[1]),
        "batch": oldest.batches[0].files[0].path,
        "log": entry,
        "tag": f"snapshots/{'1' * 64}.json",
    }[kind]
    place.workspace.tags.put("odd", "1" * 64) if kind == "tag" else place.store.delete(lost)
    place.put(*ORPHANS)
    before = place.paths()
    with pytest.raises(CorruptWorkspace) as caught:
        collect(Workspace.open(place.store, cache=place.workspace.cache), grace_hours=0)
    assert caught.value.next_step
    assert before <= place.paths()


def test_originals_that_were_never_here_are_only_noted(place: Place) -> None:
    """A workspace from one that was packed without originals can be collected."""
    lost = object_path(content_sha256(b"Bee."))
    place.store.delete(lost)
    report = collect(place.workspace, grace_hours=0)
    assert [each.path for each in report.notes] == [lost]


def test_a_store_that_does_not_answer_stops_it(place: Place) -> None:
    place.put(*ORPHANS)
    store = FaultyStore(place.store, lambda call: Fault.ERROR if call.path.startswith("snapshots/") else None)
    with pytest.raises(ProviderUnavailable):
        collect(Workspace(store, place.workspace.marker, place.workspace.cache), grace_hours=0)
    assert {*ORPHANS} <= place.paths()


@pytest.mark.parametrize("wrong", [{"grace_hours": -1}, {"grace_hours": float("nan")}, {"history": -1}])
def test_nonsense_is_refused(place: Place, wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest):
        collect(place.workspace, **wrong)  # type: ignore[arg-type]


def test_who_lost_the_lease_removes_nothing_more(place: Place) -> None:
    place.put(*ORPHANS)

    def taken_over(done: int) -> None:
        if done:
            raise Busy("another collector took over")

    with pytest.raises(Busy):
        remove(place.workspace, ORPHANS, taken_over)
    assert place.paths() & {*ORPHANS} == {*ORPHANS} - {f"snapshots/{'0' * 64}.json"}
