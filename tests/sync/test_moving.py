"""What one copy of a workspace has, another gets: only what is missing, verified, wherever it was cut."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.faulty import FaultyStore
from support.histories import model_of, publish_texts
from support.syncing import FIRST, SECOND, Open, check_copy, files_of, frozen, withdraw
from tychora_format.cache import Cache
from tychora_format.log import Proposal
from tychora_format.objects import object_path
from tychora_format.packed.pack import pack
from tychora_format.sealed import unseal
from tychora_format.store import LocalStore, MemoryStore, open_store
from tychora_format.workspace import MARKER, Workspace
from tychora_functions.copies import last_sync
from tychora_functions.copies.sync import sync
from tychora_functions.maintain.verify import verify
from tychora_functions.progress import Progress
from tychora_schemas.identity import content_sha256


def test_a_clone_holds_the_same_files_history_tags_and_identity(source: Workspace, tmp_path: Path) -> None:
    before = frozen(tmp_path / "source")
    told: list[Progress] = []
    report = sync(source, str(tmp_path / "copy"), progress=told.append)
    assert report.outcome == "created" and report.snapshot_id == source.head().id
    assert (report.snapshots, report.tags, report.conflicts, report.refused) == (2, ["first"], [], [])
    copy = check_copy(source, str(tmp_path / "copy"))
    assert files_of(copy.store) == files_of(source.store)
    assert copy.marker == source.marker
    assert [state.snapshot for state in copy.lineage()] == [state.snapshot for state in source.lineage()]
    assert copy.resolve("first").id == source.resolve("first").id
    assert frozen(tmp_path / "source") == before, "the source is only read"
    moving = [each for each in told if each.stage == "moving"]
    assert moving[-1].done == moving[-1].total == report.files
    assert moving[-1].bytes_done == report.bytes == report.moved_bytes


def test_only_what_is_missing_moves(source: Workspace, tmp_path: Path) -> None:
    sync(source, str(tmp_path / "copy"))
    known = files_of(source.store).keys()
    publish_texts(source, {"new.txt": "Something new."})
    fresh = {path: data for path, data in files_of(source.store).items() if path not in known}
    report = sync(source, str(tmp_path / "copy"))
    assert (report.outcome, report.snapshots) == ("fast_forward", 1)
    assert (report.files, report.bytes) == (len(fresh), sum(map(len, fresh.values())))
    check_copy(source, str(tmp_path / "copy"))


def test_a_dry_run_writes_nothing_and_foretells_what_is_done(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    foretold = sync(source, str(copy), dry_run=True)
    assert foretold.dry_run and not copy.exists()
    done = sync(source, str(copy))
    publish_texts(source, {"new.txt": "Something new."})
    publish_texts(Workspace.open(copy, cache=source.cache), {"other.txt": "Something else."})
    before = frozen(copy)
    foretold_merge = sync(source, str(copy), dry_run=True)
    assert frozen(copy) == before
    done_merge = sync(source, str(copy))
    ignored = {"dry_run", "seconds", "moved_bytes"}
    for one, other in ((foretold, done), (foretold_merge, done_merge)):
        assert one.model_dump(exclude=ignored) == other.model_dump(exclude=ignored)
    assert done_merge.outcome == "merged"


def test_diverged_copies_synced_both_ways_end_with_one_snapshot(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source, str(copy))
    other = Workspace.open(copy, cache=source.cache)
    publish_texts(source, {"fish.txt": "Our fish.", "ours.txt": "Ours."})
    publish_texts(other, {"fish.txt": "Their fish.", "theirs.txt": "Theirs.", "ferry.txt": None})
    there = sync(source, str(copy))
    assert there.outcome == "merged"
    assert {conflict.path for conflict in there.conflicts} == {"fish.txt"}
    back = sync(str(copy), str(tmp_path / "source"))
    assert (back.outcome, back.conflicts) == ("fast_forward", [])
    check_copy(source, str(copy))
    assert set(model_of(source.head())) >= {"ours.txt", "theirs.txt", "harbour.txt"}
    assert "ferry.txt" not in model_of(source.head())
    assert sync(source, str(copy)).outcome == "up_to_date"


def test_a_destination_that_has_more_is_ahead_and_stays(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source, str(copy))
    head = publish_texts(Workspace.open(copy, cache=source.cache), {"more.txt": "More."}).snapshot.id
    for _ in range(2):
        report = sync(source, str(copy))
        assert (report.outcome, report.snapshot_id, report.files) == ("ahead", head, 0)


def test_s3_and_back_and_from_s3_to_s3(source: Workspace, tmp_path: Path, s3_url: str, open_any: Open) -> None:
    assert sync(source, s3_url).outcome == "created"
    check_copy(source, open_any(s3_url))
    other = f"{s3_url}-other"
    assert sync(s3_url, other, cache=Cache(tmp_path / "other")).outcome == "created"
    assert sync(other, str(tmp_path / "back"), cache=Cache(tmp_path / "third")).outcome == "created"
    copy = check_copy(source, str(tmp_path / "back"))
    assert files_of(copy.store) == files_of(source.store)


def test_large_files_move_in_ranges_between_all_kinds_of_places(
    source: Workspace, tmp_path: Path, s3_url: str, open_any: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes several ranges or a part file arrives the same, whichever way it goes."""
    monkeypatch.setattr("tychora_format.transfer.BLOCK", 2_000)
    packed = tmp_path / "source.tychora"
    pack(source, packed)
    steps = [source.store.url, str(tmp_path / "one"), s3_url, f"{s3_url}-other", str(tmp_path / "two")]
    for number, (one, other) in enumerate([*pairwise(steps), (str(packed), str(tmp_path / "three"))]):
        sync(one, other, cache=Cache(tmp_path / f"cache{number}"))
        assert files_of(open_any(other)) == files_of(source.store)
        parts = list(tmp_path.rglob("*.part"))
        assert not parts


def test_what_an_earlier_run_left_is_checked(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole files and parts that a power cut spoiled, and files of another size, are brought again."""
    monkeypatch.setattr("tychora_format.transfer.BLOCK", 300)
    copy = tmp_path / "copy"
    Workspace.create(copy, cache=source.cache).store.write(MARKER, source.store.read(MARKER))
    for number, (path, data) in enumerate(files_of(source.store).items()):
        if path.startswith(("batches/", "objects/", "snapshots/")):
            spoiled = [bytes(len(data)), data[:-1], data][number % 3]
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(spoiled)
            part = copy / "staging" / "sync" / f"{content_sha256(data)}.part"
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes([data[:200], bytes(200), data + b"more", bytes(len(data))][number % 4])
    report = sync(source, str(copy))
    assert report.files < len(files_of(source.store)) - 1
    check_copy(source, str(copy))
    assert files_of(open_store(str(copy))) == files_of(source.store)


def test_a_run_cut_before_its_commit_leaves_word_of_the_snapshots_that_are_coming(
    source: Workspace, tmp_path: Path
) -> None:
    """So that nobody takes them for commits that the log has lost; the next run commits them and removes that."""

    def interrupt(progress: Progress) -> None:
        if progress.stage == "committing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync(source, str(tmp_path / "copy"), progress=interrupt)
    there = LocalStore(tmp_path / "copy")
    [word] = there.list("jobs/sync/")
    assert set(unseal(there.read(word.path), word.path)["snapshots"]) == source.snapshot_ids()
    assert Workspace.open(there, cache=source.cache).head().id == ""
    report = sync(source, str(tmp_path / "copy"))
    assert (report.files, report.snapshots) == (0, 2)
    assert not list(there.list("jobs/"))
    check_copy(source, there)


def test_an_interruption_stops_a_large_transfer_within_a_block(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tychora_format.transfer.BLOCK", 1_000)
    publish_texts(source, {"large.bin": "\0" * 2_000_000})
    told: list[int] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress.bytes_done)
        if progress.bytes_done > 5_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync(source, str(tmp_path / "copy"), progress=interrupt)
    assert told[-1] < 200_000
    assert Workspace.open(tmp_path / "copy", cache=source.cache).head().id == ""
    sync(source, str(tmp_path / "copy"))
    check_copy(source, str(tmp_path / "copy"))


def test_a_packed_file_is_a_source_and_a_destination(source: Workspace, tmp_path: Path) -> None:
    packed = tmp_path / "copy.tychora"
    report = sync(source, str(packed))
    assert (report.outcome, report.snapshot_id) == ("created", source.head().id)
    before = packed.read_bytes()
    assert sync(source, str(packed)).outcome == "up_to_date"
    assert packed.read_bytes() == before
    publish_texts(source, {"new.txt": "Something new."})
    assert sync(source, str(packed)).outcome == "fast_forward"
    assert sync(str(packed), str(tmp_path / "copy")).outcome == "created"
    check_copy(source, str(tmp_path / "copy"))


def test_what_was_packed_without_originals_is_noted_and_filled_in_later(source: Workspace, tmp_path: Path) -> None:
    packed, copy = tmp_path / "light.tychora", str(tmp_path / "copy")
    pack(source, packed, originals=False)
    report = sync(str(packed), copy, cache=source.cache)
    assert {note.path for note in report.notes} == {"ferry.txt", "fish.txt", "harbour.txt"}
    report = sync(source, copy)
    assert (report.outcome, report.files, report.notes) == ("up_to_date", 4, [])
    assert files_of(open_store(copy)) == files_of(source.store)


def test_shallow_histories_are_normal(source: Workspace, tmp_path: Path) -> None:
    packed, copy = tmp_path / "short.tychora", str(tmp_path / "copy")
    pack(source, packed, history=0)
    report = sync(str(packed), copy, cache=source.cache)
    assert (report.outcome, report.snapshots) == ("created", 1)
    report = sync(source, copy)
    assert (report.outcome, report.snapshots, report.tags) == ("up_to_date", 1, ["first"])
    check_copy(source, copy)


def test_tags_are_united_and_move_only_forward(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    source.tags.put("moving", source.resolve("first").id)
    sync(source, str(copy))
    there = Workspace.open(copy, cache=source.cache)
    there.tags.put("own", there.head().id)
    there.tags.put("first", there.head().id)
    source.tags.put("moving", source.head().id)
    report = sync(source, str(copy))
    assert (report.tags, report.notes) == (["moving"], [])
    assert there.tags.all() == {"own": there.head().id, "first": there.head().id, "moving": there.head().id}
    theirs = publish_texts(there, {"theirs.txt": "Theirs."}).snapshot.id
    there.tags.put("moving", theirs)
    source.tags.put("moving", publish_texts(source, {"ours.txt": "Ours."}).snapshot.id)
    report = sync(source, str(copy))
    assert (report.tags, [note.path for note in report.notes]) == ([], ["tags/moving.json"])
    assert there.tags.get("moving") == theirs


SIDES = st.sampled_from(["ours", "theirs"])
TEXTS = st.dictionaries(st.sampled_from("abcd"), st.none() | st.sampled_from(["One.", "Two.", "Three."]), max_size=3)
STEPS = st.lists(
    st.one_of(
        st.tuples(SIDES, TEXTS),
        st.sampled_from([("ours", "theirs"), ("theirs", "ours")]),
        st.tuples(st.just("tag"), SIDES),
    ),
    max_size=7,
)


@settings(max_examples=10)
@given(STEPS)
def test_two_copies_become_one_whatever_was_done_to_them(steps: list[tuple[str, Any]]) -> None:
    """Publishing, removing, tagging and syncing in any order: synced both ways, both hold one snapshot that verifies,
    and nothing that was ever published is lost."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cache = Cache(folder)
        names = {name: f"memory://{secrets.token_hex(8)}" for name in ("ours", "theirs")}
        ours = Workspace.create(open_store(names["ours"]), cache=cache)
        publish_texts(ours, {"a": "Zero."})
        assert sync(ours, names["theirs"]).outcome == "created"
        copies = {"ours": ours, "theirs": Workspace.open(names["theirs"], cache=cache)}
        originals = set()
        for what, rest in steps:
            if what == "tag":
                copies[rest].tags.put("newest", copies[rest].head().id)
            elif isinstance(rest, dict):
                publish_texts(copies[what], rest)
                originals |= {content_sha256(text.encode()) for text in rest.values() if text}
            else:
                sync(copies[what], names[rest])
        sync(copies["ours"], names["theirs"])
        assert sync(copies["theirs"], names["ours"]).outcome in ("fast_forward", "up_to_date")
        assert copies["ours"].head().id == copies["theirs"].head().id
        assert sync(copies["ours"], names["theirs"]).outcome == "up_to_date"
        for copy in copies.values():
            assert verify(copy).ok
            assert {entry.path for entry in copy.store.list("objects/")} >= {object_path(each) for each in originals}


def test_two_syncs_into_one_destination_at_once_both_succeed(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From two sources that diverged, with all files in part files."""
    monkeypatch.setattr("tychora_format.transfer.BLOCK", 200)
    sync(source, str(tmp_path / "other"))
    other = Workspace.open(tmp_path / "other", cache=source.cache)
    publish_texts(source, {"ours.txt": "Ours."})
    publish_texts(other, {"theirs.txt": "Theirs."})
    copy = str(tmp_path / "copy")
    failures: list[BaseException] = []

    def run(name: str) -> None:
        try:
            sync(str(tmp_path / name), copy, cache=Cache(tmp_path / f"cache-{name}"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("source", "other", "source")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    there = Workspace.open(copy, cache=source.cache)
    assert set(model_of(there.head())) == {*FIRST, *SECOND, "ours.txt", "theirs.txt"}
    assert verify(there).ok
    assert not list((tmp_path / "copy").rglob("*.part"))


def remote_store(workspace: Workspace) -> FaultyStore:
    """The bundle in a store that is not on this machine, with its calls listed."""
    store = MemoryStore(secrets.token_hex(8))
    for path, data in [(entry.path, workspace.store.read(entry.path)) for entry in workspace.store.list()]:
        store.write(path, data)
    return FaultyStore(store)


def test_a_sync_with_nothing_to_do_asks_each_place_three_times(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log, the statements, the tags; for a store that counts whole seconds once its tags have settled."""
    origin, target = remote_store(source), FaultyStore(MemoryStore(secrets.token_hex(8)))
    monkeypatch.setattr("tychora_functions.copies.location.open_store", lambda name: target)
    withdraw(source, "source_" + "0" * 64)
    workspace = Workspace.open(origin, cache=source.cache)
    first = sync(workspace, "memory://destination")
    assert first.outcome == "created"
    origin.calls.clear()
    target.calls.clear()
    again = sync(workspace, "memory://destination")
    assert (again.outcome, again.snapshot_id, again.files) == ("up_to_date", first.snapshot_id, 0)
    assert [call.method for call in origin.calls] == ["list"] * 3
    assert [call.method for call in target.calls] == ["list"] * 3
    origin.inner.write("tags/new.json", source.store.read("tags/first.json"))
    assert sync(workspace, "memory://destination").tags == ["new"]
    monkeypatch.setattr(last_sync, "_may_change_unseen", lambda seen: True)
    publish_texts(Workspace.open(target, cache=source.cache), {"more.txt": "More."})
    assert sync(workspace, "memory://destination").outcome == "ahead"


def collected(workspace: Workspace, path: str) -> None:
    """A whole collection that removes one file, by the protocol."""
    digest = workspace.put_doomed([path])
    workspace.commit_snapshot(lambda head: Proposal(head.snapshot or "", opens=digest))
    workspace.store.delete(path)
    workspace.commit_snapshot(lambda head: Proposal(head.snapshot or "", closes=True))


def test_what_a_collection_takes_away_meanwhile_is_brought_again(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = str(tmp_path / "copy")
    sync(source, copy)
    there = Workspace.open(copy, cache=source.cache)
    publish_texts(source, {"new.txt": "Something new."})
    taken: list[str] = []
    put = Workspace.commit_snapshot

    def slowly(self: Workspace, build: Callable[..., object], **named: object) -> object:
        if not taken:
            taken.append(object_path(content_sha256(b"Something new.")))
            assert there.store.size(taken[0]) is not None
            monkeypatch.setattr(Workspace, "commit_snapshot", put)
            collected(there, taken[0])
        return put(self, build, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Workspace, "commit_snapshot", slowly)
    assert sync(source, copy).outcome == "fast_forward"
    assert taken
    check_copy(source, copy)


def test_a_packed_file_may_be_written_like_a_folder(source: Workspace, tmp_path: Path) -> None:
    """A slash that a shell's completion added does not make another place of it."""
    sync(source, str(tmp_path / "copy.tychora"))
    assert sync(source, f"{tmp_path}/copy.tychora/").outcome == "up_to_date"
