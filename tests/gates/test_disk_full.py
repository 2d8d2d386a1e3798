"""Gate K5: a disk that is full."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundles import contents, read_everything, settings, write_corpus
from tychora_format.cache import Cache
from tychora_format.store import LocalStore, MemoryStore
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.copies.packing import pack, unpack
from tychora_functions.copies.sync import sync
from tychora_functions.maintain.verify import verify
from tychora_functions.query.query import query
from tychora_schemas.errors import BudgetExceeded, TychoraError
from tychora_schemas.requests import QueryRequest

SIZE = 3 << 20
QUESTION = QueryRequest(question="Which article number has the pump?", strict=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB of its own; the test is skipped where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def leave(disk: Path, room: int) -> Path:
    """Fill the disk until `room` bytes are free."""
    state = os.statvfs(disk)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(max(0, state.f_bavail * state.f_frsize - room)))
    return ballast


def fill_then_free(bundle: Path, ballast: Path, corpus: Path) -> None:
    """An add that the disk may stop: it says so, leaves a valid bundle and no scratch, and can be repeated later."""
    try:
        add(Workspace.open(bundle), [corpus], settings=settings(parse_workers=1, publish_chunks=15))
    except TychoraError as error:
        assert isinstance(error, BudgetExceeded), repr(error)
        assert "free space" in error.next_step
    scratch = [path.name for path in (bundle / "staging").rglob("*")]
    ballast.unlink()
    assert not scratch
    report = verify(Workspace.open(bundle))
    assert report.ok, report.problems
    assert list(read_everything(Workspace.open(bundle)))


@pytest.mark.parametrize("room", [4, 40, 120, 250, 500])
def test_k5_the_bundles_disk_is_full(small_disk: Path, tmp_path: Path, room: int) -> None:
    """K5: the bundle's disk is full during an add, wherever that hits (capture, index building, upload, commit): a
    BudgetExceeded that says what to do, nothing corrupted, scratch space freed; the next add ends as if undisturbed."""
    corpus = write_corpus(tmp_path / "corpus", files=25)
    bundle = small_disk / "bundle"
    Workspace.create(bundle)
    add(Workspace.open(bundle), [corpus / "part0"], settings=settings(parse_workers=1))
    fill_then_free(bundle, leave(small_disk, room << 10), corpus)
    add(Workspace.open(bundle), [corpus], settings=settings(parse_workers=1))
    other = Workspace.create(tmp_path / "elsewhere")
    add(other, [corpus / "part0"], settings=settings(parse_workers=1))
    add(other, [corpus], settings=settings(parse_workers=1))
    assert contents(Workspace.open(bundle).head()) == contents(other.head())


@pytest.mark.parametrize("size", [100_000, 4 << 20, 12 << 20])
def test_k5_a_file_that_does_not_fit(small_disk: Path, tmp_path: Path, size: int) -> None:
    """K5: a file that the disk cannot hold, small or streamed, ends the add with a BudgetExceeded, and the part that
    was copied is gone."""
    bundle = small_disk / "bundle"
    workspace = Workspace.create(bundle)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "large.txt").write_bytes(random.Random(size).randbytes(size // 2).hex().encode())
    leave(small_disk, min(size // 2, SIZE // 2))
    with pytest.raises(BudgetExceeded):
        add(workspace, [tmp_path / "corpus"], settings=settings(parse_workers=1))
    assert list((bundle / "staging").rglob("*")) == []
    assert verify(Workspace.open(bundle)).ok


@pytest.mark.parametrize("room", [0, 8, 32, 64, 128])
def test_k5_the_caches_disk_is_full_for_a_remote_bundle(small_disk: Path, tmp_path: Path, room: int) -> None:
    """K5: the cache's disk is full while a remote bundle is asked: a BudgetExceeded, or the right answer; no part of a
    download stays, and with space the same question is answered."""
    store = MemoryStore("full cache")
    corpus = write_corpus(tmp_path / "corpus", files=10)
    add(Workspace.create(store), [corpus], settings=settings(parse_workers=1))
    expected = query(Workspace.open(store), QUESTION).segments
    ballast = leave(small_disk, room << 10)
    try:
        answer = query(Workspace.open(store, cache=Cache(small_disk / "cache")), QUESTION)
        assert answer.segments == expected
    except TychoraError as error:
        assert isinstance(error, BudgetExceeded), repr(error)
    assert not list(small_disk.rglob("*.part"))
    ballast.unlink()
    assert query(Workspace.open(store, cache=Cache(small_disk / "cache")), QUESTION).segments == expected


@pytest.mark.parametrize("room", [0, 8, 32, 64, 128])
def test_k5_the_caches_disk_is_full_for_a_local_bundle(small_disk: Path, tmp_path: Path, room: int) -> None:
    """K5: the same for a bundle on this machine, whose views and matrices are what the cache holds."""
    corpus = write_corpus(tmp_path / "corpus", files=10)
    add(Workspace.create(tmp_path / "bundle"), [corpus], settings=settings(parse_workers=1))
    expected = query(Workspace.open(tmp_path / "bundle"), QUESTION).segments
    ballast = leave(small_disk, room << 10)
    try:
        answer = query(Workspace.open(tmp_path / "bundle", cache=Cache(small_disk / "cache")), QUESTION)
        assert answer.segments == expected
    except TychoraError as error:
        assert isinstance(error, BudgetExceeded), repr(error)
    ballast.unlink()
    assert query(Workspace.open(tmp_path / "bundle", cache=Cache(small_disk / "cache")), QUESTION).segments == expected


@pytest.mark.parametrize("room", [0, 8, 40, 120, 200])
def test_k5_the_packed_files_disk_is_full(small_disk: Path, tmp_path: Path, room: int) -> None:
    """K5: the disk is full while a workspace is packed, unpacked, or brought there by a sync: a BudgetExceeded, nothing
    of it stays but what a sync can go on with, and what was there before is as it was."""
    corpus = write_corpus(tmp_path / "corpus", files=25)
    workspace = Workspace.create(tmp_path / "bundle")
    add(workspace, [corpus], settings=settings(parse_workers=1))
    before = {path: path.read_bytes() for path in [small_disk / "older.tychora"] if pack(workspace, path, history=0)}
    elsewhere = tmp_path / "all.tychora"
    pack(workspace, elsewhere)
    ballast = leave(small_disk, room << 10)
    for work in (
        lambda: pack(workspace, small_disk / "new.tychora"),
        lambda: pack(workspace, small_disk / "older.tychora"),
        lambda: unpack(elsewhere, small_disk / "unpacked"),
        lambda: sync(str(tmp_path / "bundle"), str(small_disk / "copy")),
    ):
        with pytest.raises(BudgetExceeded):
            work()
    left = {path.name for path in small_disk.iterdir()} - {"copy"}
    assert left <= {"ballast", "older.tychora", "older.tychora.lock", "new.tychora.lock"}
    assert {path: path.read_bytes() for path in before} == before
    ballast.unlink()
    sync(str(tmp_path / "bundle"), str(small_disk / "copy"))
    assert verify(Workspace.open(small_disk / "copy")).ok


def test_k5_the_state_folders_disk_is_full(small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K5: where not even the registered roots can be remembered, an add says so before it does anything."""
    corpus = write_corpus(tmp_path / "corpus", files=3)
    workspace = Workspace.create(tmp_path / "bundle")
    monkeypatch.setenv("TYCHORA_STATE", str(small_disk / "state"))
    leave(small_disk, 0)
    with pytest.raises(BudgetExceeded):
        add(workspace, [corpus], settings=settings(parse_workers=1))
    assert not workspace.log.history()


LIMITED = """
import resource, signal, sys
from bundles import settings
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_schemas.errors import BudgetExceeded
workspace = Workspace.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    add(workspace, [sys.argv[2]], settings=settings(parse_workers=1))
    print("done")
except BudgetExceeded as error:
    print("budget exceeded")
"""


@pytest.mark.parametrize("limit", [100, 3_000, 6_000, 20_000])
def test_k5_files_may_not_grow(tmp_path: Path, limit: int) -> None:
    """K5: where the system limits the size of files (a quota behaves alike), an add that meets the limit ends with a
    BudgetExceeded, corrupts nothing and leaves no scratch."""
    corpus = write_corpus(tmp_path / "corpus", files=25)
    bundle = tmp_path / "bundle"
    Workspace.create(bundle)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(bundle), str(corpus), str(limit)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "budget exceeded", done.stdout + done.stderr
    assert not list((bundle / "staging").rglob("*"))
    assert verify(Workspace.open(bundle)).ok
    assert LocalStore(bundle).size("tychora.json")
