"""What the port promises, asked of every store."""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tychora_format.store import Entry, LocalStore, MemoryStore, Store, checked_path
from tychora_schemas.errors import InvalidRequest, NotFound

ODD_NAMES = [
    "with blank/and two  blanks",
    "plus+plus",
    "per%cent%20",
    "hash#tag",
    "question?mark",
    "amper&sand=1;2",
    "star*[a]{b}",
    "Straße/日本語/مرحبا",
    "combining/e\u0301 and \u00e9",
    "quotes/'\"`$HOME",
    "trailing.dot./x",
    "~tilde",
    ".hidden/.file",
]

ESCAPES = [
    "",
    "/etc/passwd",
    "..",
    "../outside",
    "a/../../outside",
    "a/..",
    "./a",
    "a/./b",
    "a//b",
    "a/",
    "C:/windows",
    "c:x",
    "..\\outside",
    "a\\b",
    "nul\0byte",
    "line\nbreak",
    "lone\ud800surrogate",
    "object?versionId=1",
]


def test_what_was_written_is_read(any_store: Store, reopen: Callable[[], Store]) -> None:
    any_store.write("objects/ab/abc", b"bytes")
    assert any_store.read("objects/ab/abc") == b"bytes"
    assert any_store.size("objects/ab/abc") == 5
    assert reopen().read("objects/ab/abc") == b"bytes"


def test_an_absent_file_is_not_found(any_store: Store, tmp_path: Path) -> None:
    any_store.write("folder/file", b"x")
    for path in ("absent", "folder", "folder/file/below", "folder/fil"):
        assert any_store.size(path) is None
        for ask in (
            lambda path=path: any_store.read(path),
            lambda path=path: any_store.read_range(path, 0, 1),
            lambda path=path: any_store.read_range(path, 3, 3),
            lambda path=path: any_store.download(path, tmp_path / "target"),
            lambda path=path: list(any_store.read_many([path])),
        ):
            with pytest.raises(NotFound) as caught:
                ask()
            assert caught.value.next_step


def test_writing_again_replaces_and_is_no_error(any_store: Store) -> None:
    for data in (b"first", b"first", b"second, longer", b""):
        any_store.write("a/b", data)
        assert any_store.read("a/b") == data
    assert list(any_store.list()) == [Entry("a/b", 0)]


def test_create_makes_a_file_once(any_store: Store, reopen: Callable[[], Store]) -> None:
    assert any_store.create("log/main/1", b"mine") is True
    assert any_store.create("log/main/1", b"mine") is False
    assert reopen().create("log/main/1", b"theirs") is False
    assert any_store.read("log/main/1") == b"mine"
    any_store.write("objects/1", b"written")
    assert any_store.create("objects/1", b"created") is False
    any_store.delete("log/main/1")
    assert any_store.create("log/main/1", b"after deletion") is True


def test_deleting_is_idempotent(any_store: Store) -> None:
    any_store.write("a/b", b"x")
    any_store.delete("a/b")
    any_store.delete("a/b")
    any_store.delete("never/was")
    assert any_store.size("a/b") is None
    assert list(any_store.list()) == []


def test_a_listing_is_sorted_by_path_and_filtered_by_prefix(any_store: Store) -> None:
    paths = [
        "b",
        "a",
        "a-b",
        "a.b",
        "a/b",
        "a/a",
        "a/a/c",
        "a0",
        "ab/c",
        "é",
        "Z",
        "a/b.c",
        "\U0001f600",
        "\uffee",
    ]
    if any_store.local_path("x") is not None:
        paths.remove("a/a")  # a directory cannot be a file as well
        paths.remove("a")
        paths.append("a/é")
    any_store.write_many((path, path.encode()) for path in paths)
    for prefix in ("", "a", "a/", "a/a", "a/b", "a/a/", "ab", "ab/", "b", "absent", "absent/"):
        expected = sorted(path for path in paths if path.startswith(prefix))
        found = list(any_store.list(prefix))
        assert found == [Entry(path, len(path.encode())) for path in expected]


def test_a_new_file_is_listed_at_once(any_store: Store, reopen: Callable[[], Store]) -> None:
    rival = reopen()
    for number in range(3):
        assert len(list(any_store.list("log/"))) == number
        assert rival.create(f"log/{number}", b"x")
    assert len(list(any_store.list("log/"))) == 3


def test_a_file_is_as_old_as_the_store_says_whatever_this_machine_believes(
    any_store: Store, reopen: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = reopen()
    for hours in (-26, 0, 26):
        if not isinstance(any_store, MemoryStore):  # whose own clock is this machine's
            true = time.time
            monkeypatch.setattr(time, "time", lambda hours=hours, true=true: true() + hours * 3600)
        before = any_store.now()
        assert any_store.create(f"a/{hours}", b"x")
        rival.write(f"b/{hours}", b"x")
        after = rival.now()
        monkeypatch.undo()
        times = [entry.modified for entry in any_store.list() if entry.path.endswith(f"/{hours}")]
        assert len(times) == 2
        assert all(before <= written <= after for written in times)
    assert list(any_store.list("staging/")) == []


def test_a_file_written_again_is_as_new_as_its_last_bytes(tmp_path: Path) -> None:
    times = iter(range(100, 200, 10))
    memory = MemoryStore("written again", clock=lambda: next(times))
    for store in (memory, LocalStore(tmp_path / "bundle")):
        store.write("a", b"first")
        if (file := store.local_path("a")) is not None:
            os.utime(file, (100, 100))
        assert [entry.modified for entry in store.list()] == [100]
        store.write("a", b"second")
        assert [entry.modified > 100 for entry in store.list()] == [True]


def test_a_copied_file_is_as_new_as_the_copy(any_store: Store, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"x")
    os.utime(tmp_path / "old", (1_000_000_000, 1_000_000_000))
    before = any_store.now()
    any_store.write("copied", tmp_path / "old")
    assert all(entry.modified >= before for entry in any_store.list())


def test_odd_names_are_kept_apart_and_unchanged(any_store: Store) -> None:
    for name in ODD_NAMES:
        assert any_store.create(f"odd/{name}", name.encode())
    assert [entry.path for entry in any_store.list("odd/")] == sorted(f"odd/{name}" for name in ODD_NAMES)
    for name in ODD_NAMES:
        assert any_store.read(f"odd/{name}") == name.encode()
        assert any_store.size(f"odd/{name}") == len(name.encode())
        assert any_store.read_range(f"odd/{name}", 1, 4) == name.encode()[1:4]
        any_store.delete(f"odd/{name}")
    assert list(any_store.list()) == []


@pytest.mark.parametrize(("start", "end"), [(0, 10), (3, 7), (9, 10), (5, 5), (0, 99), (9, 11), (10, 12), (50, 60)])
def test_a_range_is_what_a_slice_is(memory_store: Store, local_store: Store, start: int, end: int) -> None:
    for store in (memory_store, local_store):
        store.write("digits", b"0123456789")
        assert store.read_range("digits", start, end) == b"0123456789"[start:end]


def test_a_range_on_s3_is_what_a_slice_is(s3_store: Store) -> None:
    s3_store.write("digits", b"0123456789")
    for start, end in [(0, 10), (3, 7), (9, 10), (5, 5), (0, 99), (9, 11), (10, 12), (50, 60)]:
        assert s3_store.read_range("digits", start, end) == b"0123456789"[start:end]


def test_an_empty_file_is_a_file(any_store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    any_store.write("empty/written", b"")
    any_store.write("empty/copied", tmp_path / "empty")
    assert any_store.create("empty/created", b"")
    assert not any_store.create("empty/created", b"x")
    for name in ("written", "copied", "created"):
        assert any_store.read(f"empty/{name}") == b""
        assert any_store.read_range(f"empty/{name}", 0, 10) == b""
        assert any_store.size(f"empty/{name}") == 0
        any_store.download(f"empty/{name}", tmp_path / name)
        assert (tmp_path / name).read_bytes() == b""
    assert len(list(any_store.list("empty/"))) == 3


def test_large_files_travel_whole(any_store: Store, tmp_path: Path, seed: int) -> None:
    data = random.Random(seed).randbytes(12 * 2**20 + 7)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(data)
    any_store.write("large/copied", source)
    any_store.write("large/written", data)
    for name in ("large/copied", "large/written"):
        assert any_store.size(name) == len(data)
        any_store.download(name, target)
        assert target.read_bytes() == data
    assert any_store.read("large/written") == data
    assert any_store.read_range("large/copied", 6_000_000, 6_000_100) == data[6_000_000:6_000_100]
    assert source.read_bytes() == data


def test_batches_of_files_travel_in_order(any_store: Store, tmp_path: Path) -> None:
    (tmp_path / "local").write_bytes(b"from a file")
    expected = {f"many/{number:03}": b"number %d" % number for number in range(99)}
    any_store.write_many([*expected.items(), ("many/local", tmp_path / "local")])
    expected["many/local"] = b"from a file"
    backwards = sorted(expected, reverse=True)
    assert list(any_store.read_many(backwards)) == [(path, expected[path]) for path in backwards]
    assert [entry.path for entry in any_store.list("many/")] == sorted(expected)
    assert list(any_store.read_many([])) == []
    any_store.write_many([])


@pytest.mark.parametrize("path", ESCAPES)
def test_a_name_that_leaves_the_store_is_refused_by_every_call(
    memory_store: Store, local_store: Store, path: str
) -> None:
    for store in (memory_store, local_store):
        assert_refused(store, path)


def test_a_name_that_leaves_the_store_is_refused_on_s3(s3_store: Store) -> None:
    for path in ESCAPES:
        assert_refused(s3_store, path)


def assert_refused(store: Store, path: str) -> None:
    for ask in (
        lambda: store.read(path),
        lambda: store.read_range(path, 0, 1),
        lambda: store.create(path, b"x"),
        lambda: store.write(path, b"x"),
        lambda: store.write_many([("fine", b"x"), (path, b"x")]),
        lambda: store.download(path, Path("never")),
        lambda: store.size(path),
        lambda: store.delete(path),
        lambda: store.local_path(path),
        lambda: list(store.list(path)) if path and not path.endswith("/") else checked_path(path),
    ):
        with pytest.raises(InvalidRequest) as caught:
            ask()
        assert caught.value.next_step


def test_readers_beside_writers_see_only_whole_files(any_store: Store) -> None:
    versions = {b"a" * 200_000, b"b" * 300_000}
    any_store.write("busy/file", b"a" * 200_000)
    seen: list[bytes] = []
    failures: list[Exception] = []

    def work(action: Callable[[], object]) -> None:
        try:
            for _ in range(15):
                action()
        except Exception as failure:
            failures.append(failure)

    actions = [lambda data=data: any_store.write("busy/file", data) for data in versions]
    actions += [lambda: seen.append(any_store.read("busy/file"))] * 2
    actions += [lambda: list(any_store.list("busy/"))]
    threads = [threading.Thread(target=work, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(seen) == 30
    assert set(seen) <= versions


NAMES = st.text(st.sampled_from("ab.é /"), min_size=1, max_size=6)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["write", "create", "delete"]), NAMES, st.binary(max_size=3)), max_size=8))
def test_directory_and_memory_behave_alike(calls: list[tuple[str, str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        stores = [LocalStore(Path(directory) / "bundle"), MemoryStore("alike")]
        for method, path, data in calls:
            # What is a directory in one store is only a prefix in the other.
            if any(e.path.startswith(f"{path}/") or path.startswith(f"{e.path}/") for e in stores[1].list()):
                continue
            arguments = (path,) if method == "delete" else (path, data)
            answers = []
            for store in stores:
                try:
                    answers.append(getattr(store, method)(*arguments))
                except InvalidRequest as refused:
                    answers.append(refused.message)
            assert answers[0] == answers[1]
            assert list(stores[0].list()) == list(stores[1].list())


@given(st.text(st.characters(), max_size=30) | st.text(st.sampled_from("./\\:aC~"), max_size=12))
def test_an_accepted_name_always_lies_below_the_root(path: str) -> None:
    root = Path(tempfile.gettempdir()).resolve() / "no" / "such" / "folder"
    try:
        checked_path(path)
    except InvalidRequest:
        return
    file = LocalStore(root).local_path(path)
    assert file.resolve().is_relative_to(root)
    assert file.relative_to(root).as_posix() == path
