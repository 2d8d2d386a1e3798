"""sync, pack, unpack, tag, prove, check-proof, and diff on the command line: what they do, print and exit with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from running import Run

from tychora_client import Client
from tychora_schemas.difference import DifferenceReport
from tychora_schemas.maintenance import TagReport
from tychora_schemas.proof import CitationProof, ProofCheck
from tychora_schemas.receipts import HistoryEntry, VerifyReport
from tychora_schemas.transport import PackReport, SyncReport, UnpackReport


@pytest.fixture
def held(workspace: Path, tmp_path: Path) -> Path:
    """A copy of the library's workspace that a test may change; its name has blanks and an umlaut."""
    place = tmp_path / "Häfen und Kräne"
    shutil.copytree(workspace, place)
    return place


def test_a_sync_says_first_what_it_would_do_then_does_it_then_has_nothing_to_do(tychora: Run, held: Path) -> None:
    planned = SyncReport.model_validate_json(tychora("sync", held, "copy", "--dry-run").out)
    assert planned.dry_run
    assert planned.outcome == "created"
    made = tychora("sync", held, "copy")
    report = SyncReport.model_validate_json(made.out)
    assert made.code == 0
    assert (report.files, report.bytes) == (planned.files, planned.bytes)
    again = SyncReport.model_validate_json(tychora("sync", held, "copy").out)
    assert (again.outcome, again.files) == ("up_to_date", 0)
    assert VerifyReport.model_validate_json(tychora("verify", "copy").out).ok


def test_what_was_erased_is_not_taken_back_and_listed(tychora: Run, held: Path) -> None:
    tychora("sync", held, "copy")
    tychora("manage", held, "delete", "leaflet.pdf", "--yes")
    done = tychora("sync", "copy", held)
    assert done.code == 0
    assert [each.path for each in SyncReport.model_validate_json(done.out).refused] == ["leaflet.pdf"]
    assert not Client(held).search("tide gauge pier seven", filters={"path": "leaflet.pdf"}).segments


def test_a_packed_file_is_a_workspace_that_every_verb_takes(tychora: Run, held: Path, tmp_path: Path) -> None:
    packed = tychora("pack", held, "Ein Paket.tychora")
    report = PackReport.model_validate_json(packed.out)
    assert packed.code == 0
    assert report.bytes == (tmp_path / "Ein Paket.tychora").stat().st_size
    assert b"tide gauge" in tychora("search", "Ein Paket.tychora", "tide gauge", "--format", "text").out
    (tmp_path / "new.txt").write_text("The new pontoon floats.")
    assert tychora("add", "Ein Paket.tychora", "new.txt").code == 0
    assert b"pontoon" in tychora("search", "Ein Paket.tychora", "pontoon", "--format", "text").out
    assert tychora("manage", "Ein Paket.tychora", "compact").code == 0
    assert tychora("verify", "Ein Paket.tychora").code == 0
    unpacked = UnpackReport.model_validate_json(tychora("unpack", "Ein Paket.tychora", "out").out)
    assert unpacked.snapshot_id == Client(tmp_path / "Ein Paket.tychora").inspect().snapshot_id
    assert tychora("unpack", "Ein Paket.tychora", "out").code == 6
    assert tychora("init", "fresh.tychora").code == 0
    assert tychora("init", "fresh.tychora").code == 6
    assert tychora("pack", held, "fresh.tychora").code == 6, "another workspace's file is not written over"
    assert tychora("pack", held, "fresh.tychora", "--replace").code == 0


def test_a_copy_without_originals_says_so_once_and_is_intact(tychora: Run, held: Path) -> None:
    tychora("pack", held, "slim.tychora", "--without", "originals")
    tychora("unpack", "slim.tychora", "slim")
    for place in ("slim.tychora", "slim"):
        done = tychora("verify", place)
        report = VerifyReport.model_validate_json(done.out)
        assert (done.code, report.ok) == (0, True)
        assert [each.path for each in report.notes] == ["left-out.json"]
    assert tychora("pack", "slim", "again.tychora").code == 0
    assert VerifyReport.model_validate_json(tychora("verify", "again.tychora").out).notes
    repaired = VerifyReport.model_validate_json(tychora("verify", "again.tychora", "--repair", "--from", held).out)
    assert (len(repaired.repaired), repaired.notes) == (9, []), "eight originals, and the file that said it"
    assert not VerifyReport.model_validate_json(tychora("verify", "again.tychora").out).notes


def test_a_damaged_packed_file_is_repaired_or_left_as_it_is(tychora: Run, held: Path, tmp_path: Path) -> None:
    tychora("pack", held, "p.tychora")
    place = tmp_path / "p.tychora"
    text = next((held / "batches").rglob("chunks.arrow")).read_bytes()
    data = place.read_bytes()
    at = data.index(text) + len(text) // 2
    damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    place.write_bytes(damaged)
    done = tychora("verify", "p.tychora", "--repair")
    report = VerifyReport.model_validate_json(done.out)
    assert (done.code, report.ok, report.repaired) == (7, False, [])
    assert place.read_bytes() == damaged
    assert tychora("verify", "p.tychora", "--repair", "--from", held).code == 0
    assert place.read_bytes() == data


def test_a_tag_is_a_reference_until_it_is_forgotten(tychora: Run, held: Path) -> None:
    made = TagReport.model_validate_json(tychora("tag", held, "v1").out)
    assert tychora("search", held, "berth", "--at", "v1").code == 0
    assert HistoryEntry.model_validate(json.loads(tychora("inspect", held, "log").out)[0]).tags == ["v1"]
    gone = TagReport.model_validate_json(tychora("tag", held, "v1", "--delete").out)
    assert (gone.snapshot_id, gone.before) == ("", made.snapshot_id)
    assert tychora("search", held, "berth", "--at", "v1").code == 3


def test_a_proof_goes_through_pipes_and_is_checked_without_the_workspace(
    process: Run, workspace: Path, tmp_path: Path
) -> None:
    found = process("search", workspace, "Who confirms the berth?")
    proof = process("prove", workspace, "-", stdin=found.out)
    assert proof.code == 0, proof.err
    assert CitationProof.model_validate_json(proof.out).quote == json.loads(found.out)["citations"][0]["quote"]
    snapshot = json.loads(found.out)["snapshot_id"]
    checked = process("check-proof", "-", "--snapshot", snapshot, stdin=proof.out)
    check = ProofCheck.model_validate_json(checked.out)
    assert (checked.code, check.holds) == (0, True)
    refused = process("check-proof", "-", "--snapshot", "ab" * 32, stdin=proof.out)
    assert (refused.code, ProofCheck.model_validate_json(refused.out).holds) == (4, False)


def test_a_citation_is_named_by_its_run_or_its_unit_or_lies_in_a_file(
    tychora: Run, workspace: Path, tmp_path: Path
) -> None:
    found = json.loads(tychora("search", workspace, "tide gauge", "-k", "1").out)
    citation = found["citations"][0]
    (tmp_path / "citation.json").write_text(json.dumps(citation))
    words = [f"{found['run_id']}#{citation['id']}", json.dumps(citation), "citation.json", citation["unit_ids"][0]]
    quotes = [CitationProof.model_validate_json(tychora("prove", workspace, word).out).quote for word in words]
    assert quotes[0] == quotes[1] == quotes[2] == citation["quote"]
    assert quotes[3] in citation["quote"]
    (tmp_path / "empty.json").write_text('{"citations": []}')
    assert tychora("prove", workspace, "empty.json").code == 3


def test_diff_shows_what_changed_and_how_answers_drift(tychora: Run, held: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("The tide gauge was moved to pier nine.")
    tychora("add", held, "new.txt")
    (tmp_path / "questions.jsonl").write_text('{"question": "tide gauge"}\n\nlighthouse keeper\n')
    done = tychora("inspect", held, "diff", "main~1", "--questions", "questions.jsonl", "--question", "NQ-2 depth")
    report = DifferenceReport.model_validate_json(done.out)
    assert done.code == 0
    assert [(each.change, each.path) for each in report.sources] == [("added", "new.txt")]
    assert [each.question for each in report.answers] == ["NQ-2 depth", "tide gauge", "lighthouse keeper"]
    assert [each.same for each in report.answers][1] is False
