"""The verified cache: right bytes or a named error, and nothing is hashed or downloaded twice."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.faulty import Fault, FaultyStore, every, only
from tychora_format.cache import Cache, cache_directory, hash_file, state_directory
from tychora_format.stamps import MOST_LINES, Stamps
from tychora_format.store import LocalStore, MemoryStore, Store
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, ProviderUnavailable, TychoraError

DATA = b"the bytes of an immutable file"
SHA256 = hashlib.sha256(DATA).hexdigest()


@dataclass(frozen=True)
class File:
    path: str
    size: int
    sha256: str


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were hashed so far."""
    names: list[str] = []
    digest = hashlib.file_digest

    def noted(stream: Any, algorithm: Any) -> Any:
        names.append(stream.name)
        return digest(stream, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", noted)
    return names


def put(store: Store, path: str, data: bytes = DATA) -> File:
    store.write(path, data)
    return File(path, len(data), hashlib.sha256(data).hexdigest())


def settle() -> None:
    """Wait until the clock of the file system has moved on from the last change."""
    time.sleep(0.05)


def test_a_file_of_any_store_is_handed_out_with_its_exact_bytes(any_store: Store, cache: Cache) -> None:
    file = put(any_store, "objects/ab/abc")
    for _ in range(2):
        assert cache.fetch(any_store, file.path, file.size, file.sha256).read_bytes() == DATA


def test_a_local_file_is_not_copied(local_store: LocalStore, cache: Cache) -> None:
    file = put(local_store, "objects/ab/abc")
    assert cache.fetch(local_store, file.path, file.size, file.sha256) == local_store.local_path(file.path)


def test_an_unchanged_local_file_is_hashed_once_also_by_later_processes(
    local_store: LocalStore, cache: Cache, hashed: list[str]
) -> None:
    file = put(local_store, "objects/ab/abc")
    settle()
    for each in (cache, cache, Cache(cache.directory)):
        each.fetch(local_store, file.path, file.size, file.sha256)
    assert len(hashed) == 1


def test_a_file_checked_right_after_its_last_change_is_checked_again(
    local_store: LocalStore, cache: Cache, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more change within the same clock tick would not show in its times."""
    file = put(local_store, "objects/ab/abc")
    changed = local_store.local_path(file.path).stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: changed + 1_000_000)
    for _ in range(2):
        cache.fetch(local_store, file.path, file.size, file.sha256)
    assert len(hashed) == 2


def test_a_remembered_file_is_not_hashed(local_store: LocalStore, cache: Cache, hashed: list[str]) -> None:
    file = put(local_store, "objects/ab/abc")
    cache.remember(local_store.local_path(file.path), file.sha256)
    Cache(cache.directory).fetch(local_store, file.path, file.size, file.sha256)
    assert hashed == []


@pytest.mark.parametrize("length", [0, 1, len(DATA) // 2, len(DATA) - 1])
def test_a_cut_file_is_corrupt(any_store: Store, cache: Cache, length: int) -> None:
    any_store.write("objects/cut", DATA[:length])
    with pytest.raises(CorruptWorkspace, match=rf"objects/cut .*{length} bytes instead of {len(DATA)}") as caught:
        cache.fetch(any_store, "objects/cut", len(DATA), SHA256)
    assert "tychora verify" in caught.value.next_step
    assert_nothing_kept(cache)


def test_an_altered_file_is_corrupt(any_store: Store, cache: Cache) -> None:
    any_store.write("objects/altered", DATA[::-1])
    with pytest.raises(CorruptWorkspace, match=r"objects/altered .*altered"):
        cache.fetch(any_store, "objects/altered", len(DATA), SHA256)
    assert_nothing_kept(cache)


def test_a_missing_file_is_corrupt(any_store: Store, cache: Cache) -> None:
    with pytest.raises(CorruptWorkspace, match=r"objects/gone .*missing"):
        cache.fetch(any_store, "objects/gone", len(DATA), SHA256)
    assert_nothing_kept(cache)


def assert_nothing_kept(cache: Cache) -> None:
    assert [path for path in cache.directory.rglob("*") if path.is_file() and path.suffix != ".used"] == []


def test_a_file_altered_after_it_was_verified_is_found_out(local_store: LocalStore, cache: Cache) -> None:
    file = put(local_store, "objects/ab/abc")
    settle()
    place = cache.fetch(local_store, file.path, file.size, file.sha256)
    times = place.stat()
    place.write_bytes(DATA[::-1])
    os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(CorruptWorkspace):
        cache.fetch(local_store, file.path, file.size, file.sha256)


def test_a_download_happens_once_and_without_hashing_it_again(
    memory_store: MemoryStore, cache: Cache, hashed: list[str]
) -> None:
    file, store = put(memory_store, "objects/ab/abc"), FaultyStore(memory_store)
    places = {each.fetch(store, file.path, file.size, file.sha256) for each in (cache, cache, Cache(cache.directory))}
    assert len(places) == 1
    assert [call.method for call in store.calls] == ["download"]
    assert len(hashed) == 1


def test_a_damaged_download_in_the_cache_is_downloaded_again(memory_store: MemoryStore, cache: Cache) -> None:
    file = put(memory_store, "objects/ab/abc")
    place = cache.fetch(memory_store, file.path, file.size, file.sha256)
    for damage in (DATA[::-1], DATA[:5], b""):
        place.write_bytes(damage)
        assert cache.fetch(memory_store, file.path, file.size, file.sha256).read_bytes() == DATA


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.PARTIAL])
def test_a_broken_download_leaves_nothing_and_works_the_next_time(
    memory_store: MemoryStore, cache: Cache, fault: Fault
) -> None:
    file, store = put(memory_store, "objects/ab/abc"), FaultyStore(memory_store, only(1, fault))
    with pytest.raises(ProviderUnavailable):
        cache.fetch(store, file.path, file.size, file.sha256)
    assert_nothing_kept(cache)
    assert cache.fetch(store, file.path, file.size, file.sha256).read_bytes() == DATA


def test_a_folder_holds_its_files_under_their_own_names(any_store: Store, cache: Cache) -> None:
    files = [put(any_store, f"batches/b1/vectors/f/{name}", name.encode()) for name in ("a.txt", "data/b.lance", "c")]
    folder = cache.fetch_folder(any_store, "batches/b1/vectors/f", files)
    assert {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == {
        name: name.encode() for name in ("a.txt", "data/b.lance", "c")
    }
    assert cache.fetch_folder(any_store, "batches/b1/vectors/f", files) == folder


def test_a_folder_with_a_damaged_file_is_corrupt(any_store: Store, cache: Cache) -> None:
    files = [put(any_store, f"batches/b1/lexical/{name}") for name in "abc"]
    any_store.write("batches/b1/lexical/b", DATA[::-1])
    with pytest.raises(CorruptWorkspace, match="batches/b1/lexical/b"):
        cache.fetch_folder(any_store, "batches/b1/lexical", files)


def test_threads_that_want_the_same_file_all_get_it(memory_store: MemoryStore, cache: Cache) -> None:
    data = os.urandom(300_000)
    file = put(memory_store, "objects/ab/abc", data)
    found: list[bytes] = []

    def want() -> None:
        found.append(cache.fetch(memory_store, file.path, file.size, file.sha256).read_bytes())

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [data] * 8


FETCH = """
import sys
from tychora_format.cache import Cache
from tychora_format.store import open_store
cache, store = Cache(sys.argv[1]), open_store(sys.argv[2])
for line in sys.argv[3:]:
    path, size, sha256 = line.split()
    cache.remember(cache.fetch(store, path, int(size), sha256), sha256)
"""


def test_processes_that_share_a_cache_keep_each_others_stamps(
    local_store: LocalStore, cache: Cache, hashed: list[str]
) -> None:
    files = [put(local_store, f"objects/{number}", b"%d" % number) for number in range(60)]
    settle()
    lines = [f"{file.path} {file.size} {file.sha256}" for file in files]
    processes = [
        subprocess.Popen([sys.executable, "-c", FETCH, str(cache.directory), local_store.url, *lines[part::3]])
        for part in range(3)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    for file in files:
        cache.fetch(local_store, file.path, file.size, file.sha256)
    assert hashed == []


@pytest.mark.parametrize("damage", [b"\xff\x00 garbage", b"x" * 10_000, b"\n\n\n", b"0" * 97 + b"\n", None])
def test_a_damaged_stamp_file_is_ignored_and_replaced(
    local_store: LocalStore, cache: Cache, hashed: list[str], damage: bytes | None
) -> None:
    file = put(local_store, "objects/ab/abc")
    settle()
    cache.fetch(local_store, file.path, file.size, file.sha256)
    stamps = cache.directory / "stamps"
    intact = stamps.read_bytes()
    stamps.write_bytes(intact + damage if damage else intact[: len(intact) // 2])
    for _ in range(3):
        assert Cache(cache.directory).fetch(local_store, file.path, file.size, file.sha256).read_bytes() == DATA
    assert len(hashed) <= 3  # a torn end may spoil one more line
    stamps.unlink()
    stamps.mkdir()  # cannot be written at all
    assert Cache(cache.directory).fetch(local_store, file.path, file.size, file.sha256).read_bytes() == DATA


@given(st.binary(max_size=400))
def test_no_content_of_a_stamp_file_is_an_error_or_vouches_for_a_file(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "stamps"
        file.write_bytes(content)
        assert Stamps(file).find(file.stat()) is None


def test_old_stamps_are_dropped_beyond_a_limit(tmp_path: Path) -> None:
    lines = b"".join(b"%032x %064x\n" % (number, number) for number in range(MOST_LINES + 10))
    (tmp_path / "stamps").write_bytes(lines)
    stamps = Stamps(tmp_path / "stamps")
    (tmp_path / "file").write_bytes(b"x")
    assert stamps.find((tmp_path / "file").stat()) is None
    stamps.add((tmp_path / "file").stat(), SHA256)
    assert (tmp_path / "stamps").stat().st_size < len(lines) * 0.6
    assert Stamps(tmp_path / "stamps").find((tmp_path / "file").stat()) == SHA256


def age(cache: Cache, hours: float, sha256: str = "*") -> None:
    """As if the downloads had been used so many hours ago."""
    for used in cache.directory.glob(f"downloads/{sha256}.used"):
        os.utime(used, (time.time() - hours * 3600,) * 2)


def test_the_least_recently_used_downloads_go_beyond_the_limit(memory_store: MemoryStore, tmp_path: Path) -> None:
    files = [put(memory_store, f"objects/{number}", b"%d" % number * 1000) for number in range(10)]
    places = []
    for number, file in enumerate(files):  # each by a process of its own, the first the longest ago
        cache = Cache(tmp_path / "cache", limit=5500)
        places.append(cache.fetch(memory_store, file.path, file.size, file.sha256))
        age(cache, 20 - number, file.sha256)
    assert [place.exists() for place in places] == [False] * 6 + [True] * 4
    assert len(list((tmp_path / "cache" / "downloads").glob("*.used"))) <= 5


def test_downloads_in_use_stay_beyond_the_limit(memory_store: MemoryStore, tmp_path: Path) -> None:
    mine, theirs = Cache(tmp_path / "cache", limit=1500), Cache(tmp_path / "cache", limit=1500)
    files = [put(memory_store, f"objects/{number}", b"%d" % number * 1000) for number in range(4)]
    old = mine.fetch(memory_store, files[0].path, files[0].size, files[0].sha256)
    age(mine, 2)
    recent = theirs.fetch(memory_store, files[1].path, files[1].size, files[1].sha256)
    assert not old.exists()  # two hours unused, and another process needs the room
    places = [mine.fetch(memory_store, file.path, file.size, file.sha256) for file in files[2:]]
    age(mine, 2)
    last = mine.fetch(memory_store, files[0].path, files[0].size, files[0].sha256)
    assert all(place.exists() for place in [*places, last])
    assert not recent.exists()


@pytest.mark.parametrize(("written", "limit"), [("1000", 1000), ("500M", 5 * 10**8), ("20 gb", 2 * 10**10)])
def test_the_limit_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: str, limit: int) -> None:
    monkeypatch.setenv("TYCHORA_CACHE_LIMIT", written)
    assert Cache(tmp_path).limit == limit


def test_a_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TYCHORA_CACHE_LIMIT", "plenty")
    with pytest.raises(InvalidRequest, match="TYCHORA_CACHE_LIMIT"):
        Cache(tmp_path)


def test_a_hash_is_that_of_the_exact_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(DATA)
    assert hash_file(tmp_path / "file") == SHA256


def test_many_faults_never_hand_out_wrong_bytes(memory_store: MemoryStore, cache: Cache) -> None:
    files = [put(memory_store, f"objects/{number}", b"%d" % number * 50) for number in range(30)]
    store = FaultyStore(memory_store, every(3, Fault.PARTIAL, "download"))
    for file in files:
        for _ in range(3):
            try:
                place = cache.fetch(store, file.path, file.size, file.sha256)
            except ProviderUnavailable:
                continue
            assert hash_file(place) == file.sha256


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the rules of Linux")
def test_folders_follow_the_platform_and_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TYCHORA_CACHE", "TYCHORA_STATE", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_directory() == tmp_path / ".cache/tychora"
    assert state_directory() == tmp_path / ".local/state/tychora"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg/tychora"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the XDG rule
    assert cache_directory() == tmp_path / ".cache/tychora"
    monkeypatch.setenv("TYCHORA_CACHE", str(tmp_path / "chosen"))
    assert cache_directory() == tmp_path / "chosen"


def test_without_a_writable_home_a_private_folder_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tempfile

    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("TYCHORA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    first, again = cache_directory(), cache_directory()
    assert first == again
    assert first.parent == tmp_path
    if os.name == "posix":
        assert first.stat().st_mode & 0o777 == 0o700
        first.chmod(0o777)  # as if somebody else had made it
        assert cache_directory() != first


def test_a_chosen_folder_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TYCHORA_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(TychoraError, match="TYCHORA_CACHE"):
        cache_directory()
