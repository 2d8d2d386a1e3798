"""Every failure of a store is a typed error with a next step, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import s3
from tychora_format.store import LocalStore, MemoryStore, Store, open_store
from tychora_format.store.failures import typed_failures
from tychora_schemas.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    TychoraError,
)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOENT, NotFound),
        (errno.ENOTDIR, NotFound),
        (errno.EACCES, AccessDenied),
        (errno.EPERM, AccessDenied),
        (errno.EROFS, AccessDenied),
        (errno.ENOSPC, BudgetExceeded),
        (errno.EDQUOT, BudgetExceeded),
        (errno.ENAMETOOLONG, InvalidRequest),
        (errno.EIO, ProviderUnavailable),
        (errno.ESTALE, ProviderUnavailable),
        (errno.ETIMEDOUT, ProviderUnavailable),
    ],
)
def test_errors_of_the_system_become_typed_errors(number: int, expected: type[TychoraError]) -> None:
    with pytest.raises(expected) as caught, typed_failures("read a file"):
        raise OSError(number, os.strerror(number), "/somewhere")
    assert type(caught.value) is expected
    assert caught.value.next_step
    assert "read a file" in caught.value.message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("method", ["create", "write"])
def test_a_full_disk_is_said_and_leaves_no_file(
    local_store: LocalStore, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    temporary = local_store._temporary

    def on_full_device() -> Path:
        path = temporary()
        path.symlink_to("/dev/full")
        return path

    monkeypatch.setattr(local_store, "_temporary", on_full_device)
    with pytest.raises(BudgetExceeded, match="No space left"):
        getattr(local_store, method)("log/1", b"x" * 100_000)
    assert [path for path in local_store.root.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("method", ["create", "write"])
@pytest.mark.parametrize("call", ["fsync", "replace", "link"])
def test_a_failing_disk_leaves_no_temporary_file(
    local_store: LocalStore, monkeypatch: pytest.MonkeyPatch, method: str, call: str
) -> None:
    if (method, call) in {("create", "replace"), ("write", "link")}:
        return  # not a call of that method

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(*((Path, "replace") if call == "replace" else (os, call)), fail)
    with pytest.raises(ProviderUnavailable):
        getattr(local_store, method)("log/1", b"data")
    monkeypatch.undo()
    assert [path for path in local_store.root.rglob("*") if path.is_file()] == []


def test_a_created_file_that_could_not_be_made_durable_is_a_doubt(
    local_store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name exists, so the writer must read back: "created nothing" would be a lie."""
    synced = os.fsync

    def fail_for_directories(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").is_dir():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced(handle)

    monkeypatch.setattr(os, "fsync", fail_for_directories)
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    with pytest.raises(ProviderUnavailable, match="may not survive"):
        local_store.create("log/1", b"mine")
    assert local_store.read("log/1") == b"mine"


def test_a_batch_that_fails_midway_leaves_no_temporary_file(local_store: LocalStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        local_store.write_many([("a", b"x"), ("b", tmp_path / "absent"), ("c", b"x")])
    assert [path for path in local_store.root.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may do all")
def test_a_directory_without_rights_is_access_denied(local_store: LocalStore) -> None:
    local_store.write("a/b", b"x")
    local_store.root.chmod(0)
    try:
        with pytest.raises(AccessDenied):
            local_store.read("a/b")
        with pytest.raises(AccessDenied):
            list(local_store.list())
    finally:
        local_store.root.chmod(0o700)


def test_links_do_not_lead_out_of_the_directory(local_store: LocalStore, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    local_store.write("inside/file", b"x")
    (local_store.root / "folder").symlink_to(tmp_path / "outside")
    (local_store.root / "file").symlink_to(tmp_path / "outside" / "secret")
    for ask in (
        lambda: local_store.read("folder/secret"),
        lambda: local_store.read("file"),
        lambda: local_store.write("folder/new", b"x"),
        lambda: local_store.create("folder/new", b"x"),
        lambda: local_store.delete("folder/secret"),
        lambda: list(local_store.list("folder/")),
    ):
        with pytest.raises(InvalidRequest, match="link"):
            ask()
    assert [entry.path for entry in local_store.list()] == ["inside/file"]
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]


def test_reading_makes_no_directory(tmp_path: Path) -> None:
    store = open_store(tmp_path / "absent")
    assert list(store.list()) == []
    assert store.size("a") is None
    store.delete("a")
    with pytest.raises(NotFound):
        store.read("a")
    assert not (tmp_path / "absent").exists()


def test_a_missing_bucket_is_not_found(s3_url: str) -> None:
    store = open_store("s3://no-such-bucket-here/prefix")
    for ask in (
        lambda: store.read("a"),
        lambda: store.create("a", b"x"),
        lambda: store.write("a", b"x"),
        lambda: store.size("a"),
        lambda: list(store.list()),
        lambda: list(store.list("log/")),
    ):
        with pytest.raises(NotFound) as caught:
            ask()
        assert "bucket" in caught.value.next_step


def test_an_unreachable_endpoint_is_unavailable(s3_url: str) -> None:
    store = open_store(s3_url, endpoint_url="http://127.0.0.1:9")
    with pytest.raises(ProviderUnavailable) as caught:
        store.create("log/1", b"x")
    assert "endpoint" in caught.value.next_step


def test_missing_credentials_are_access_denied(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(AccessDenied) as caught:
        open_store(s3_url).read("a")
    assert "AWS_ACCESS_KEY_ID" in caught.value.next_step


def test_the_endpoint_may_be_given_as_an_option(s3_url: str, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    store = open_store(s3_url, endpoint_url=s3_endpoint)
    store.write("a", b"x")
    assert store.read("a") == b"x"


def test_a_bucket_without_prefix_is_a_store(s3_url: str, s3_endpoint: str) -> None:
    s3.make_bucket(s3_endpoint, "whole-bucket")
    store = open_store("s3://whole-bucket/")
    assert store.create("log/1", b"x")
    assert [entry.path for entry in store.list()] == ["log/1"]
    assert [entry.path for entry in store.list("lo")] == ["log/1"]


def run_python(code: str) -> str:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def test_a_directory_needs_no_heavy_import(tmp_path: Path) -> None:
    heavy = "{'fsspec', 's3fs', 'botocore', 'pyarrow', 'asyncio', 'pydantic', 'numpy'}"
    code = (
        "import sys\nfrom tychora_format.store import open_store\n"
        f"store = open_store({str(tmp_path / 'bundle')!r})\nstore.write('a', b'x')\nassert store.create('b', b'y')\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


def test_a_missing_s3_package_is_named() -> None:
    code = (
        "import sys\nsys.modules['s3fs'] = None\nfrom tychora_format.store import open_store\n"
        "from tychora_schemas.errors import InvalidRequest\n"
        "try:\n    open_store('s3://bucket/prefix')\nexcept InvalidRequest as error:\n    print(error.next_step)"
    )
    assert "tychora[s3]" in run_python(code)


def test_places_are_opened_by_what_people_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "a b%20#c?d"
    for place in (odd, str(odd), "a b%20#c?d", "~/a b%20#c?d", odd.as_uri(), LocalStore(odd).url):
        store = open_store(place)
        assert isinstance(store, LocalStore)
        assert store.root == odd.resolve()
        assert open_store(store.url).local_path("x") == odd.resolve() / "x"


def test_memory_is_shared_by_name() -> None:
    store = open_store("memory://shared-by-name")
    store.write("a", b"x")
    again = open_store("memory://shared-by-name")
    assert isinstance(again, MemoryStore)
    assert again.read("a") == b"x"
    assert list(open_store("memory://another").list()) == []


@pytest.mark.parametrize("place", ["", "  ", "nonsense://bucket/x", "s4://bucket"])
def test_an_address_of_no_known_kind_is_refused(place: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_store(place)
    assert caught.value.next_step


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InvalidRequest, match="is a file"):
        open_store(tmp_path / "file")


def test_a_store_that_tells_no_times_has_no_clock(memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryStore, "now", Store.now)
    monkeypatch.setattr(memory_store, "_clock", lambda: 0.0)
    with pytest.raises(InvalidRequest, match="does not say when"):
        memory_store.now()
    assert list(memory_store.list()) == []


def test_other_fsspec_file_systems_keep_the_same_promises(tmp_path: Path) -> None:
    """fsspec's own local file system stands for all that are not S3."""
    store: Store = open_store(f"local://{tmp_path}/bundle", auto_mkdir=True)
    store.write("a/b", b"0123")
    assert store.create("log/1", b"x")
    assert not store.create("log/1", b"y")
    assert store.read_range("a/b", 1, 3) == b"12"
    assert store.read_range("a/b", 8, 9) == b""
    assert [entry.path for entry in store.list()] == ["a/b", "log/1"]
    assert [entry.path for entry in store.list("lo")] == ["log/1"]
    assert store.size("absent") is None
    before = store.now()
    store.write("late", b"x")
    assert [entry.modified >= before for entry in store.list("late")] == [True]
    store.delete("a/b")
    store.delete("a/b")
    with pytest.raises(NotFound):
        store.read("a/b")
