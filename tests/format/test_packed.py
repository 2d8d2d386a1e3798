"""The store in one packed file: the port's promises for reading, and the store that changes are gathered in."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tychora_format.packed.archive import ALIGNMENT, Member, place, write_archive
from tychora_format.packed.exclusive import exclusive
from tychora_format.store import LocalStore, MemoryStore, Store
from tychora_format.store.overlay import OverlayStore
from tychora_format.store.packed import PackedStore
from tychora_schemas.errors import Busy, CorruptWorkspace, InvalidRequest, NotFound

FILES = {
    "tychora.json": b"{}",
    "objects/ab/one": b"",
    "objects/ab/two": bytes(range(256)) * 64,
    "batches/batch_1/tables/sources.parquet": b"table",
    "batches/batch_1/text/chunks.arrow": b"x" * 4097,
    "log/main/00000000000000000001.json": b"entry",
}

NAMES = st.from_regex(r"(objects|batches|tags)/[a-c]{1,3}/[a-z0-9]{1,8}", fullmatch=True)


def members(files: dict[str, bytes]) -> list[Member]:
    return [Member(path, len(data), data) for path, data in files.items()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_archive(tmp_path / "bundle.tychora", members(FILES))
    return tmp_path / "bundle.tychora"


def paths(store: Store, prefix: str = "") -> list[str]:
    return [entry.path for entry in store.list(prefix)]


def test_reads_as_every_store_does(file: Path, tmp_path: Path) -> None:
    store = PackedStore(file)
    assert paths(store) == sorted(FILES)
    assert paths(store, "objects/ab/t") == ["objects/ab/two"]
    assert paths(store, "nothing") == []
    for path, data in FILES.items():
        assert store.read(path) == data
        assert store.size(path) == len(data)
        store.download(path, tmp_path / "downloaded")
        assert (tmp_path / "downloaded").read_bytes() == data
        for start, end in ((0, 3), (2, 2), (5, 1), (1, 10**9), (10**9, 10**10)):
            assert store.read_range(path, start, end) == data[start : max(start, end)]
    assert dict(store.read_many(FILES)) == FILES
    assert {entry.modified for entry in store.list()} == {file.stat().st_mtime}
    assert store.size("objects/ab/none") is None
    assert store.local_path("tychora.json") is None
    assert store.url == str(file)
    for call in (
        store.read,
        lambda path: store.read_range(path, 0, 1),
        lambda path: store.download(path, tmp_path / "x"),
    ):
        with pytest.raises(NotFound):
            call("objects/ab/none")


@pytest.mark.parametrize("path", ["", "..", "../x", "/x", "a\\b", "C:/x"])
def test_names_outside_are_refused(file: Path, path: str) -> None:
    store = PackedStore(file)
    for call in (store.read, store.size, store.local_path):
        with pytest.raises(InvalidRequest):
            call(path)


def test_it_is_written_as_a_whole(file: Path) -> None:
    """Each way to write says so, and what to do."""
    store = PackedStore(file)
    before = file.read_bytes()
    for attempt in (
        lambda: store.create("tags/x.json", b""),
        lambda: store.write("tags/x.json", b""),
        lambda: store.write_many([("tags/x.json", b"")]),
        lambda: store.delete("tychora.json"),
    ):
        with pytest.raises(InvalidRequest, match="written as a whole") as caught:
            attempt()
        assert caught.value.next_step
    assert file.read_bytes() == before


def test_goes_on_serving_the_version_that_it_opened(file: Path) -> None:
    """Replaced by a newer file, an open store still gives the old one, says so, and a new one gives the new."""
    store = PackedStore(file)
    assert not store.replaced
    write_archive(file, members({"tychora.json": b"{}", "objects/ab/new": b"new"}))
    assert store.replaced
    assert paths(store) == sorted(FILES) and store.read("objects/ab/two") == FILES["objects/ab/two"]
    assert paths(PackedStore(file)) == ["objects/ab/new", "tychora.json"]
    file.unlink()
    assert store.replaced and store.read("tychora.json") == b"{}"


def test_cut_while_it_is_open(file: Path) -> None:
    store = PackedStore(file)
    os.truncate(file, 5000)
    assert store.replaced
    with pytest.raises(CorruptWorkspace, match="cut"):
        store.read("tychora.json")


def test_what_is_no_packed_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        PackedStore(tmp_path / "absent.tychora")
    with pytest.raises(InvalidRequest):
        PackedStore(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.tychora")
        with pytest.raises(InvalidRequest):
            PackedStore(tmp_path / "pipe.tychora")


def test_the_form_of_the_file(file: Path) -> None:
    """Stored, sorted, aligned, without dates, readable by Python's own zipfile and by unzip."""
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(FILES)
        for info in archive.infolist():
            assert archive.read(info) == FILES[info.filename]
            assert info.compress_type == zipfile.ZIP_STORED and info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.create_system == 3 and info.external_attr >> 16 == 0o100644
            start = place(info.filename, info.file_size, info.header_offset).start
            assert start % ALIGNMENT == 0
            assert file.read_bytes()[start : start + info.file_size] == FILES[info.filename]


def test_unzip_reads_it(file: Path) -> None:
    import shutil

    if (unzip := shutil.which("unzip")) is None:
        pytest.skip("unzip is not installed")
    assert subprocess.run([unzip, "-tq", file], capture_output=True).returncode == 0
    two = subprocess.run([unzip, "-p", file, "objects/ab/two"], capture_output=True)
    assert two.stdout == FILES["objects/ab/two"]


@given(st.dictionaries(NAMES, st.binary(max_size=9000), max_size=8), st.randoms())
@hypothesis_settings(max_examples=25)
def test_same_members_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], chance: object
) -> None:
    """In any order, from memory, from local files or from a store: one file, from which each is read back."""
    folder = tmp_path_factory.mktemp("same")
    files = {**files, "tychora.json": b"{}"}
    local, memory = LocalStore(folder / "local"), MemoryStore()
    for store in (local, memory):
        store.write_many(files.items())
    order = list(files)
    chance.shuffle(order)  # type: ignore[attr-defined]
    made = set()
    for number, source in enumerate((lambda path: files[path], lambda path: folder / "local" / path,
                                     lambda path: local, lambda path: memory)):  # fmt: skip
        target = folder / f"{number}.tychora"
        archive = write_archive(target, [Member(path, len(files[path]), source(path)) for path in order])
        assert archive.size == target.stat().st_size and archive.files == len(files)
        made.add(target.read_bytes())
    (data,) = made
    store = PackedStore(target)
    assert {entry.path: store.read(entry.path) for entry in store.list()} == files
    with zipfile.ZipFile(io.BytesIO(data)) as archive_of_python:
        assert archive_of_python.testzip() is None


def test_beyond_four_gigabytes(tmp_path: Path) -> None:
    """Sizes and places of more than 32 bits: the form is the same, and stock tools find the members."""
    large = (1 << 32) + 5
    first, second = place("objects/large", large, 0), place("tychora.json", 2, place("objects/large", large, 0).end)
    from tychora_format.packed.archive import central_header, end_records, local_header

    file = tmp_path / "large.tychora"
    with file.open("wb") as stream:  # with a hole: it takes no room on the disk
        stream.write(local_header(first, 1))
        stream.seek(second.header)
        stream.write(local_header(second, 2) + b"{}")
        directory = central_header(first, 1) + central_header(second, 2)
        stream.write(directory + end_records(2, second.end, len(directory)))
    store = PackedStore(file)
    assert store.size("objects/large") == large and store.read("tychora.json") == b"{}"
    assert store.read_range("objects/large", large - 3, large + 9) == bytes(3)
    with zipfile.ZipFile(file) as archive:
        assert archive.getinfo("objects/large").file_size == large
        assert archive.getinfo("tychora.json").header_offset == second.header


@pytest.mark.parametrize(
    "member",
    [
        Member("objects/a", 9, b"short"),
        Member("objects/a", 1, b"longer"),
        Member("objects/a", 4, b"data", "0" * 64),
        Member("objects/a", 4, MemoryStore("nothing in it")),
        Member("objects/a", 4, Path("absent")),
    ],
    ids=["too short", "too long", "altered", "missing in its store", "missing"],
)
def test_a_damaged_member_leaves_the_target_as_it_was(file: Path, member: Member) -> None:
    before = file.read_bytes()
    with pytest.raises(CorruptWorkspace, match="objects/a"):
        write_archive(file, [*members(FILES), member])
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "names", [["objects/a", "objects/A"], ["jobs/x"], ["log/x"], ["objects/con"], ["../x"], ["a", "a/b"]]
)
def test_what_no_packed_file_may_hold_is_not_packed(file: Path, names: Sequence[str]) -> None:
    """The writer refuses what the reader would."""
    before = file.read_bytes()
    with pytest.raises(InvalidRequest):
        write_archive(file, members(dict.fromkeys(names, b"")))
    assert file.read_bytes() == before


def test_one_holds_a_lock(tmp_path: Path) -> None:
    """A second taker hears Busy at once, in this process and in another; when it is free the next one has it."""
    lock = tmp_path / "folder" / "lock"
    script = "import sys; from pathlib import Path; from tychora_format.packed.exclusive import exclusive\n"
    script += "with exclusive(Path(sys.argv[1]), 'it'): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(Busy) as caught, exclusive(lock, "the file"):
            pass
        assert "the file" in caught.value.message and caught.value.next_step
        process.kill()
    with exclusive(lock, "the file"), pytest.raises(Busy), exclusive(lock, "the file"):
        pass
    assert not lock.exists()


@pytest.fixture
def overlay(file: Path, tmp_path: Path) -> OverlayStore:
    return OverlayStore(PackedStore(file), tmp_path / "changes")


def test_changes_cover_what_is_below(overlay: OverlayStore, file: Path) -> None:
    before = file.read_bytes()
    assert not overlay.changed and paths(overlay) == sorted(FILES)
    overlay.write("staging/x", b"of this place")
    assert not overlay.changed
    overlay.write("tags/x.json", b"one")
    overlay.write("objects/ab/two", b"another two")
    overlay.delete("objects/ab/one")
    assert overlay.changed
    assert overlay.read("objects/ab/two") == b"another two" and overlay.read_range("tags/x.json", 0, 1) == b"o"
    assert overlay.size("objects/ab/one") is None
    with pytest.raises(NotFound):
        overlay.read("objects/ab/one")
    assert paths(overlay, "objects/") == ["objects/ab/two"]
    assert paths(overlay) == sorted({*FILES, "staging/x", "tags/x.json"} - {"objects/ab/one"})
    assert {entry.size for entry in overlay.list("objects/ab/two")} == {11}
    assert file.read_bytes() == before


def test_creating_in_an_overlay(overlay: OverlayStore) -> None:
    """Put-if-absent minds what is below, and what was deleted from it."""
    path = "log/main/00000000000000000001.json"
    assert not overlay.create(path, b"mine") and overlay.read(path) == b"entry"
    assert overlay.create("log/main/00000000000000000002.json", b"mine")
    assert not overlay.create("log/main/00000000000000000002.json", b"again")
    overlay.delete(path)
    assert overlay.create(path, b"mine") and overlay.read(path) == b"mine"
    overlay.delete(path)
    assert overlay.size(path) is None


def test_local_places_of_an_overlay(overlay: OverlayStore, tmp_path: Path) -> None:
    """A file or folder has a local place only if all of it is there: a cache opens what such a place holds."""
    assert overlay.local_path("tychora.json") is None
    assert overlay.local_path("batches/batch_2/lexical") is None
    overlay.write("batches/batch_2/lexical/one", b"1")
    overlay.write("batches/batch_1/text/chunks.arrow", b"again")
    changes = (tmp_path / "changes").resolve()
    assert overlay.local_path("batches/batch_2/lexical") == changes / "batches/batch_2/lexical"
    assert overlay.local_path("batches/batch_2/lexical/one") == changes / "batches/batch_2/lexical/one"
    assert overlay.local_path("batches/batch_1/text/chunks.arrow") == changes / "batches/batch_1/text/chunks.arrow"
    assert overlay.local_path("batches/batch_1") is None
    assert overlay.local_path("staging") == changes / "staging"
