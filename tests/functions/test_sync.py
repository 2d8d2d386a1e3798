"""Sync: what one copy of a workspace has, another gets: only what is missing, verified, and nothing that was erased."""

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
from support.histories import commit, model_of, new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.erasure import erase_from_batches
from tychora_format.log import Proposal
from tychora_format.manifest import FileEntry
from tychora_format.objects import object_path
from tychora_format.packed.pack import pack
from tychora_format.sealed import unseal
from tychora_format.statements import Statement
from tychora_format.store import LocalStore, MemoryStore, Store, open_store
from tychora_format.workspace import MARKER, Workspace, utc_now
from tychora_functions.copies import last_sync
from tychora_functions.copies.sync import sync
from tychora_functions.maintain import erase as erasing
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.verify import verify
from tychora_functions.progress import Progress
from tychora_schemas.errors import Conflict, CorruptWorkspace, InvalidRequest, UnsupportedContent
from tychora_schemas.identity import content_sha256

FIRST = {"ferry.txt": "The ferry leaves at seven.", "fish.txt": "There was no fish.\n\nNot for days."}
SECOND = {"harbour.txt": "The harbour is closed.", "fish.txt": "There is fish again."}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def source(tmp_path: Path, cache: Cache) -> Workspace:
    """A directory with two commits and a tag."""
    workspace = Workspace.create(tmp_path / "source", cache=cache)
    publish_texts(workspace, FIRST)
    workspace.tags.put("first", workspace.head().id)
    publish_texts(workspace, SECOND)
    return workspace


Open = Callable[[str], Store]


@pytest.fixture
def open_any(s3_models: Any, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`open_store`, also for sync itself, with what all clients of S3 read from disk read once."""

    def opened(place: str) -> Store:
        return open_store(place, session=s3_models) if place.startswith("s3://") else open_store(place)

    monkeypatch.setattr("tychora_functions.copies.location.open_store", opened)
    return opened


def files_of(store: Store) -> dict[str, bytes]:
    """Everything that travels, and the state of nothing that does not."""
    local = ("log/", "staging/", "leases/", "jobs/", "keys/")
    return {entry.path: store.read(entry.path) for entry in store.list() if not entry.path.startswith(local)}


def check_copy(source: Workspace, destination: str | Store) -> Workspace:
    copy = Workspace.open(destination, cache=source.cache)
    assert copy.head().id == source.head().id
    assert model_of(copy.head()) == model_of(source.head())
    report = verify(copy)
    assert report.ok, report.problems
    return copy


def frozen(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


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


def withdraw(workspace: Workspace, target: str) -> Statement:
    statement = Statement.make("withdrawal", {"target": target, "withdrawn": True}, utc_now())
    workspace.statements.add(statement)
    return statement


def test_statements_are_united(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source, str(copy))
    there = Workspace.open(copy, cache=source.cache)
    ids = {row.row.path: row.row.source_id for row in source.head().live_sources()}
    ours, theirs = withdraw(source, ids["ferry.txt"]), withdraw(there, ids["fish.txt"])
    many = [withdraw(source, f"source_{secrets.token_hex(32)}") for _ in range(30)]
    report = sync(source, str(copy))
    assert (report.outcome, report.statements, report.files) == ("up_to_date", 31, 0)
    assert {each.id for each in there.statements.all()} == {each.id for each in (ours, theirs, *many)}
    assert set(model_of(there.head())) == {"harbour.txt"}
    assert sync(str(copy), str(tmp_path / "source")).statements == 1
    assert sync(source, str(copy)).statements == 0


def erase(workspace: Workspace, path: str) -> str:
    """State the erasure of a source; returns the hash of its content."""
    [row] = [each.row for each in workspace.head().live_sources() if each.row.path == path]
    subject = {"sources": [row.source_id], "revisions": [row.revision_id], "contents": [row.content_sha256]}
    workspace.statements.add(Statement.make("erasure", subject, utc_now()))
    return str(row.content_sha256)


@pytest.mark.parametrize("remote", [False, True])
def test_what_the_destination_erased_is_refused(source: Workspace, tmp_path: Path, remote: bool) -> None:
    """An old clone cannot bring it back: neither its original nor the batch with its text."""
    copy: str = f"memory://{secrets.token_hex(8)}" if remote else str(tmp_path / "copy")
    there = Workspace.create(open_store(copy), cache=source.cache)
    publish_texts(there, {"other.txt": "Another text."})
    there.store.write(MARKER, source.store.read(MARKER))
    there = Workspace.open(copy, cache=source.cache)
    erased = erase(source, "ferry.txt")
    [statement] = source.statements.all()
    there.statements.add(statement)
    source.store.delete("statements/00000000000000000001.json")
    old = Workspace.open(tmp_path / "source", cache=source.cache)
    assert not old.statements.all()
    report = sync(old, copy)
    assert report.outcome == "merged" and [each.path for each in report.refused] == ["ferry.txt"]
    assert set(model_of(there.head())) == {"other.txt", "fish.txt", "harbour.txt"}
    assert not any(b"leaves at seven" in data for data in files_of(there.store).values())
    assert there.store.size(object_path(erased)) is None
    assert {each.kind for each in there.statements.all()} == {"erasure", "replacement"}
    problems = verify(there).problems
    assert not problems
    assert sync(old, copy).files == 0


def test_what_stood_for_an_erased_batch_and_was_collected_is_made_again(source: Workspace, tmp_path: Path) -> None:
    """The destination remembers the statements alone; then an old clone comes with the batch."""
    old = str(tmp_path / "old")
    sync(source, old)
    erase(source, "ferry.txt")
    erase_from_batches(source)
    statements = source.statements.all()
    assert {each.kind for each in statements} == {"erasure", "replacement"}
    for number in range(4):
        there = Workspace.create(tmp_path / f"copy{number}", cache=source.cache)
        for statement in statements:
            there.statements.add(statement)
        report = sync(old, str(tmp_path / f"copy{number}"), cache=source.cache)
        assert (report.statements, [each.path for each in report.refused]) == (1, ["ferry.txt"])
        assert set(model_of(there.head())) == {"fish.txt", "harbour.txt"}
        assert not any(b"leaves at seven" in data for data in files_of(there.store).values())
        assert verify(there).ok


def test_a_statement_about_a_batch_that_only_the_destination_has_is_left_out(source: Workspace, tmp_path: Path) -> None:
    """Where the source has collected what stands for it, old snapshots of the destination stay readable."""
    copy = str(tmp_path / "copy")
    there = Workspace.create(tmp_path / "copy", cache=source.cache)
    sync(source, copy)
    erase(source, "ferry.txt")
    erase_from_batches(source)
    third = Workspace.create(tmp_path / "third", cache=source.cache)
    for statement in source.statements.all():
        third.statements.add(statement)
    report = sync(third, copy)
    assert report.statements == 1 and [note.path.partition("_")[0] for note in report.notes] == ["batch"]
    assert set(model_of(there.head())) == {"fish.txt", "harbour.txt"}
    assert verify(there).ok


def test_an_erasure_of_the_source_hides_at_the_destination_at_once(source: Workspace, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    sync(source, copy)
    erase(source, "ferry.txt")
    report = sync(source, copy)
    assert (report.outcome, report.statements, report.files) == ("up_to_date", 1, 0)
    assert "ferry.txt" not in model_of(Workspace.open(copy, cache=source.cache).head())


def test_a_source_that_cannot_be_written_is_enough(source: Workspace, tmp_path: Path) -> None:
    folders = [tmp_path / "source", *(each for each in (tmp_path / "source").rglob("*") if each.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        sync(str(tmp_path / "source"), str(tmp_path / "copy"), cache=source.cache)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    check_copy(source, str(tmp_path / "copy"))


def test_a_store_that_refuses_all_writes_is_a_source(source: Workspace, tmp_path: Path) -> None:
    watching = FaultyStore(source.store)
    sync(Workspace.open(watching, cache=source.cache), str(tmp_path / "copy"))
    assert not [call for call in watching.calls if call.writes]


def test_a_folder_that_holds_something_else_is_refused(source: Workspace, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("Dear harbour master")
    for dry_run in (True, False):
        with pytest.raises(InvalidRequest, match=r"one\.txt"):
            sync(source, str(tmp_path / "letters"), dry_run=dry_run)
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["one.txt"]


def test_another_workspace_is_refused_but_an_empty_one_is_filled(source: Workspace, tmp_path: Path) -> None:
    other = Workspace.create(tmp_path / "other", cache=source.cache)
    assert sync(source, str(tmp_path / "other")).outcome == "fast_forward"
    assert other.head().id == source.head().id
    third = Workspace.create(tmp_path / "third", cache=source.cache)
    publish_texts(third, {"own.txt": "Its own."})
    with pytest.raises(Conflict, match="another workspace"):
        sync(source, str(tmp_path / "third"))


def test_one_location_is_refused_under_every_name(
    source: Workspace, tmp_path: Path, s3_url: str, open_any: Open
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "source")
    pack(source, tmp_path / "a.tychora")
    sync(source, s3_url)
    here = str(tmp_path / "source")
    for one, other in (
        (here, here + "/"),
        (here, str(tmp_path / "link")),
        (here, str(tmp_path / "source" / "inside")),
        (str(tmp_path / "a.tychora"), str(tmp_path / "x" / ".." / "a.tychora")),
        (s3_url, s3_url + "/"),
    ):
        with pytest.raises(InvalidRequest, match="is the source"):
            sync(one, other)


def test_an_older_format_at_the_destination_is_refused_with_what_to_do(tmp_path: Path, cache: Cache) -> None:
    old = Path(__file__).resolve().parents[1] / "data" / "format-1" / "bundle"
    copy = tmp_path / "copy"
    sync(str(old), str(copy), cache=cache)
    newer = Workspace.create(tmp_path / "newer", cache=cache)
    publish_texts(newer, {"new.txt": "New."})
    with pytest.raises(UnsupportedContent, match="of format 1") as caught:
        sync(newer, str(copy))
    assert f"tychora manage {copy} upgrade" in caught.value.next_step
    assert Workspace.open(copy, cache=cache).format == 1


def damageable(workspace: Workspace) -> list[str]:
    paths = files_of(workspace.store)
    return sorted(path for path in paths if path.startswith(("batches/", "objects/", "snapshots/")))


@pytest.mark.parametrize("change", ["missing", "cut", "altered", "longer"])
def test_a_damaged_file_of_the_source_is_named_and_nothing_is_committed(
    source: Workspace, tmp_path: Path, change: str
) -> None:
    """Of any kind of file, in any way: also of large ones, which move otherwise."""
    sync(source, str(tmp_path / "whole"))
    kinds = {
        path.split("/")[-1] if "tables" in path else path.split("/")[0] + path[-6:]: path for path in damageable(source)
    }
    assert len(kinds) > 6
    for number, path in enumerate(kinds.values()):
        whole = (tmp_path / "source" / path).read_bytes()
        if change == "missing" and path.startswith("objects/"):
            continue  # that is a copy without originals
        broken = {
            "cut": whole[:-1],
            "altered": bytes([whole[0] ^ 1]) + whole[1:],
            "longer": whole + b"\0",
            "missing": b"",
        }
        if change == "missing":
            (tmp_path / "source" / path).unlink()
        else:
            (tmp_path / "source" / path).write_bytes(broken[change])
        copy = tmp_path / f"copy{number}"
        there = Workspace.create(copy, cache=source.cache)
        try:
            sync(str(tmp_path / "source"), str(copy), cache=source.cache)
        except CorruptWorkspace as error:
            assert path.rpartition("/")[2].removesuffix(".json") in str(error)
            assert there.log.head().number == 0
        else:
            assert path.startswith("snapshots/") and change == "missing", "that makes a short history"
        (tmp_path / "source" / path).write_bytes(whole)
    sync(str(tmp_path / "source"), str(copy), cache=source.cache)
    check_copy(source, str(copy))


def test_a_manifest_that_names_files_outside_its_batches_is_refused(
    source: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote it: nothing but batches, originals and manifests is ever moved."""
    head = source.head().manifest
    stolen = FileEntry(path="tychora.json", size=1, sha256="0" * 64)
    lying = [each.model_copy(update={"files": (*each.files, stolen)}) for each in head.batches]
    commit(source, head.model_copy(update={"batches": tuple(lying)}))
    with pytest.raises(CorruptWorkspace, match="does not follow from its files"):
        sync(source, str(tmp_path / "copy"))
    assert Workspace.open(tmp_path / "copy", cache=source.cache).log.head().number == 0


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


@pytest.mark.parametrize("again", [False, True], ids=["nothing more is erased", "more is erased since"])
def test_a_batch_whose_standing_replacement_is_nowhere_comes_as_the_source_has_it(tmp_path: Path, again: bool) -> None:
    """A copy may know by a statement what stands for a batch that it never had: those files may be gone everywhere."""
    cache = Cache(tmp_path / "cache")
    source = new_workspace(cache, LocalStore(tmp_path / "source"))
    publish_texts(source, {"a.txt": "The pump."})
    copy = str(tmp_path / "copy")
    sync(source, copy, cache=cache)
    publish_texts(source, {"b.txt": "The valve.", "c.txt": "The boiler.", "d.txt": "The crane."})
    erasing.erase(source, "c.txt")
    collect(source, grace_hours=0)
    (stated,) = (each for each in source.statements.all() if each.kind == "replacement")
    there = Workspace.open(copy, cache=cache)
    entry, nowhere = stated.subject["entry"], "batch_" + "f" * 64
    files = [{**file, "path": file["path"].replace(entry["id"], nowhere)} for file in entry["files"]]
    lost = {**stated.subject, "entry": {**entry, "id": nowhere, "files": files}}
    there.statements.add(Statement.make("replacement", lost, "2999-01-01T00:00:00.000+00:00"))
    if again:
        erasing.erase(source, "d.txt")
    sync(source, copy, cache=cache)
    there = Workspace.open(copy, cache=cache)
    assert sorted(model_of(there.head())) == sorted(model_of(source.head()))
    assert verify(there).ok
    sync(copy, str(tmp_path / "source"), cache=cache)
    assert verify(Workspace.open(tmp_path / "source", cache=cache)).ok
