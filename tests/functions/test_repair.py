"""A repair puts back what can be had, byte for byte, says from where, names what is lost, and touches nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from library_files import write_library

from tychora_client import Client
from tychora_format.left_out import LEFT_OUT
from tychora_schemas.errors import CorruptWorkspace
from tychora_schemas.receipts import VerifyReport


@dataclass(frozen=True, slots=True)
class Held:
    """A workspace with two batches, a tag and two statements; the folder that it was read from; this user's state."""

    workspace: Path
    library: Path
    state: Path


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Held:
    home = tmp_path_factory.mktemp("whole")
    held = Held(home / "workspace", write_library(home / "library"), home / "state")
    with pytest.MonkeyPatch.context() as patch, Client.create(held.workspace) as client:
        patch.setenv("TYCHORA_PARSE_WORKERS", "1")
        patch.setenv("TYCHORA_CACHE", str(home / "cache"))
        patch.setenv("TYCHORA_STATE", str(held.state))
        client.add(held.library)
        (held.library / "later.txt").write_text("The pontoon came later.")
        client.add(held.library)
        client.tag("v1")
        client.manage.withdraw("leaflet.pdf")
        client.manage.withdraw("minutes.docx")
    return held


@pytest.fixture
def damaged(whole: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to be damaged. Its roots are registered on this machine."""
    monkeypatch.setenv("TYCHORA_STATE", str(whole.state))
    shutil.copytree(whole.workspace, tmp_path / "damaged")
    return tmp_path / "damaged"


def files_of(bundle: Path) -> dict[str, bytes]:
    return {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}


def delete(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = path.read_bytes()
    at = len(data) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


Harm = Callable[[Path], None]


def harmed(bundle: Path, kind: str, harm: Harm) -> str:
    """Do harm to the first file of a kind; returns its path in the bundle."""
    victim = min(bundle.glob(kind))
    harm(victim)
    return victim.relative_to(bundle).as_posix()


def sources_of(report: VerifyReport) -> dict[str, str]:
    return {each.path: each.note for each in report.repaired}


ANEW = [
    "batches/*/lexical/*.idx",
    "batches/*/lexical/*.store",
    "batches/*/lexical/lexical.json",
    "batches/*/tables/units.parquet",
    "batches/*/tables/symbols.parquet",
]
ONLY_FROM_A_COPY = [
    "batches/*/text/chunks.arrow",
    "batches/*/tables/extractions.parquet",
    "batches/*/tables/sources.parquet",
    "batches/*/vectors/*/data/*.lance",
    "batches/*/vectors/*/_versions/*.manifest",
    "snapshots/*.json",
]


@pytest.mark.parametrize("harm", [delete, truncate, flip])
@pytest.mark.parametrize("kind", [*ANEW, "objects/*/*"])
def test_what_is_derived_and_what_was_captured_needs_no_copy(kind: str, harm: Harm, damaged: Path, whole: Held) -> None:
    path = harmed(damaged, kind, harm)
    report = Client(damaged).verify(repair=True)
    assert report.ok, report.problems
    said = "captured again from " if kind.startswith("objects/") else "made anew"
    assert sources_of(report).keys() == {path}
    assert sources_of(report)[path].startswith(said)
    assert files_of(damaged) == files_of(whole.workspace)


@pytest.mark.parametrize("harm", [delete, flip])
@pytest.mark.parametrize("kind", ONLY_FROM_A_COPY)
def test_what_nothing_here_yields_is_named_as_lost_until_a_copy_gives_it(
    kind: str, harm: Harm, damaged: Path, whole: Held
) -> None:
    path = harmed(damaged, kind, harm)
    before = files_of(damaged)
    alone = Client(damaged).verify(repair=True)
    assert not alone.ok
    assert not alone.repaired
    assert path in {each.path for each in alone.problems}
    assert files_of(damaged) == before
    report = Client(damaged).verify(repair=True, other=whole.workspace)
    assert report.ok, report.problems
    assert sources_of(report) == {path: f"taken from file://{whole.workspace}"}
    assert files_of(damaged) == files_of(whole.workspace)


def test_everything_at_once_comes_back_from_a_packed_copy(damaged: Path, whole: Held, tmp_path: Path) -> None:
    Client(whole.workspace).pack(tmp_path / "copy.tychora")
    for kind in (*ANEW, *ONLY_FROM_A_COPY, "objects/*/*", "tags/*.json"):
        harmed(damaged, kind, flip)
    report = Client(damaged).verify(repair=True, other=tmp_path / "copy.tychora")
    assert report.ok, report.problems
    assert files_of(damaged) == files_of(whole.workspace)


def test_a_damaged_tag_comes_from_a_copy_with_what_it_names_there(damaged: Path, whole: Held) -> None:
    path = harmed(damaged, "tags/*.json", flip)
    assert not Client(damaged).verify(repair=True).ok
    report = Client(damaged).verify(repair=True, other=whole.workspace)
    assert report.ok
    assert report.snapshot_id[:16] in sources_of(report)[path]


def test_without_a_damaged_statement_nothing_is_decided(damaged: Path, whole: Held) -> None:
    """It may say that something is erased, which a repair must not bring back."""
    harmed(damaged, "statements/*.json", flip)
    before = files_of(damaged)
    with pytest.raises(CorruptWorkspace):
        Client(damaged).verify(repair=True)
    assert files_of(damaged) == before
    assert Client(damaged).verify(repair=True, other=whole.workspace).ok
    assert files_of(damaged) == files_of(whole.workspace)


def test_a_statement_is_not_taken_from_a_copy_that_numbers_others_differently(
    damaged: Path, whole: Held, tmp_path: Path
) -> None:
    shutil.copytree(whole.workspace, tmp_path / "other")
    one, two = sorted((tmp_path / "other" / "statements").iterdir())
    one.rename(one.with_name("kept"))
    two.rename(one)
    one.with_name("kept").rename(two)
    harmed(damaged, "statements/*.json", flip)
    with pytest.raises(CorruptWorkspace):
        Client(damaged).verify(repair=True, other=tmp_path / "other")


def test_a_log_entry_comes_from_no_copy(damaged: Path, whole: Held) -> None:
    harmed(damaged, "log/main/*.json", flip)
    before = files_of(damaged)
    report = Client(damaged).verify(repair=True, other=whole.workspace)
    assert not report.ok
    assert "log/" in {each.path for each in report.notes}
    assert files_of(damaged) == before


def test_a_healthy_bundle_is_not_touched(damaged: Path, whole: Held) -> None:
    stamps = {path: path.stat().st_mtime_ns for path in damaged.rglob("*") if path.is_file()}
    report = Client(damaged).verify(repair=True, other=whole.workspace)
    assert (report.ok, report.repaired) == (True, [])
    assert {path: path.stat().st_mtime_ns for path in damaged.rglob("*") if path.is_file()} == stamps


def test_a_compacted_batch_is_made_anew_byte_for_byte(damaged: Path) -> None:
    client = Client(damaged)
    assert client.manage.compact().batches_after == 1
    before = files_of(damaged)
    for path in damaged.glob("batches/*/lexical/*"):
        path.unlink()
    report = Client(damaged).verify(repair=True)
    assert report.ok, report.problems
    assert files_of(damaged) == before


def test_a_batch_that_something_was_erased_from_is_made_anew_byte_for_byte(damaged: Path) -> None:
    """Also where an extraction has no source any more: what is left of it has a place in the index, and no name."""
    with Client(damaged) as client:
        client.manage.delete("handbook.md")
        client.manage.collect(grace_hours=0)
    before = files_of(damaged)
    for path in damaged.rglob("lexical/*"):
        path.unlink()
    for path in damaged.rglob("units.parquet"):
        truncate(path)
    with Client(damaged) as client:
        report = client.verify(repair=True)
    assert report.ok, report.problems
    assert {path: data for path, data in files_of(damaged).items() if path in before} == before


def test_what_was_erased_does_not_come_back_from_an_older_copy(damaged: Path, whole: Held) -> None:
    client = Client(damaged)
    (content,) = client.manage.delete("handbook.md").contents
    client.manage.collect()
    before = files_of(damaged)
    harmed(damaged, "batches/*/lexical/*.idx", delete)
    report = Client(damaged).verify(repair=True, other=whole.workspace)
    assert report.ok, report.problems
    assert files_of(damaged) == before
    assert not any(content in path for path in before)


def test_originals_that_were_left_out_come_back_from_a_copy(
    whole: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "slim.tychora"
    Client(whole.workspace).pack(place, originals=False)
    slim = Client(place).verify()
    assert slim.ok
    assert [each.path for each in slim.notes] == [LEFT_OUT]
    monkeypatch.setenv("TYCHORA_STATE", str(tmp_path / "nobody's"))
    assert not Client(place).verify(repair=True).repaired
    report = Client(place).verify(repair=True, other=whole.workspace)
    assert (report.ok, report.notes) == (True, [])
    assert len([path for path in sources_of(report) if path.startswith("objects/")]) == 9
    Client(whole.workspace).pack(tmp_path / "full.tychora")
    assert place.read_bytes() == (tmp_path / "full.tychora").read_bytes()


def test_a_lost_original_stays_a_problem_where_none_was_left_out(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYCHORA_STATE", str(tmp_path / "nobody's"))
    path = harmed(damaged, "objects/*/*", delete)
    assert [each.path for each in Client(damaged).verify().problems] == [path]
    assert [each.path for each in Client(damaged).verify(repair=True).problems] == [path]


def test_a_cut_original_is_a_problem_also_where_others_were_left_out(whole: Held, tmp_path: Path) -> None:
    Client(whole.workspace).pack(tmp_path / "slim.tychora", originals=False)
    from tychora_client import unpack

    unpack(tmp_path / "slim.tychora", tmp_path / "slim")
    kept = min((whole.workspace / "objects").glob("*/*"))
    cut = tmp_path / "slim" / kept.relative_to(whole.workspace)
    cut.parent.mkdir(parents=True)
    cut.write_bytes(kept.read_bytes()[:-1])
    assert not Client(tmp_path / "slim").verify().ok
