"""What a sync does not do, and how it says so: nothing is written to the source, nothing wrong to the destination."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.faulty import FaultyStore
from support.histories import commit, publish_texts
from support.syncing import Open, check_copy, files_of
from tychora_format.cache import Cache
from tychora_format.manifest import FileEntry
from tychora_format.packed.pack import pack
from tychora_format.workspace import Workspace
from tychora_functions.copies.sync import sync
from tychora_schemas.errors import Conflict, CorruptWorkspace, InvalidRequest, UnsupportedContent


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
