"""`tychora manage`: each action through the command line, with its report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from running import Run

from tychora_client import Client
from tychora_client.render.ansi import Style
from tychora_client.render.reports import attention
from tychora_schemas.maintenance import (
    CollectReport,
    CompactReport,
    ErasureReport,
    ExpiryReport,
    PolicyEntry,
    RollbackReport,
    StatementReport,
    UpgradeReport,
)
from tychora_schemas.receipts import AddReport, StatementEntry, VerifyReport, WorkspaceOverview


@pytest.fixture
def held(workspace: Path, tmp_path: Path) -> Path:
    """A copy of the library's workspace that a test may change."""
    shutil.copytree(workspace, tmp_path / "held")
    return tmp_path / "held"


def test_what_is_withdrawn_is_hidden_until_it_is_restored(tychora: Run, held: Path) -> None:
    done = tychora("manage", held, "withdraw", "leaflet.pdf", "--reason", "under review")
    report = StatementReport.model_validate_json(done.out)
    assert (report.kind, report.made, [each.path for each in report.sources]) == ("withdrawal", True, ["leaflet.pdf"])
    assert not Client(held).search("lighthouse keeper").segments
    listed = [StatementEntry.model_validate(each) for each in json.loads(tychora("inspect", held, "statements").out)]
    assert [(each.kind, each.subject["reason"]) for each in listed] == [("withdrawal", "under review")]
    assert not StatementReport.model_validate_json(tychora("manage", held, "withdraw", "leaflet.pdf").out).made
    assert StatementReport.model_validate_json(tychora("manage", held, "restore", "leaflet.pdf").out).made
    assert not StatementReport.model_validate_json(tychora("manage", held, "restore", "leaflet.pdf").out).made
    assert Client(held).search("lighthouse keeper").segments


def test_adding_again_says_what_is_withdrawn(tmp_path: Path) -> None:
    """Whoever looks at the report learns why a file that is up to date is found by nobody."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "rates.md").write_text("# Rates\n\nA berth costs 12 crowns.\n", "utf-8")
    with Client.create(tmp_path / "made") as client:
        client.add(folder)
        client.manage.withdraw("rates.md")
        report = client.add(folder)
    assert [each.path for each in report.unchanged] == ["rates.md"]
    assert "it is withdrawn" in attention(report, Style(False))
    with Client(tmp_path / "made") as client:
        client.manage.restore("rates.md")
        assert "withdrawn" not in attention(client.add(folder), Style(False))


def test_an_erasure_is_confirmed_done_at_once_and_collected_later(tychora: Run, held: Path) -> None:
    refused = tychora("manage", held, "delete", "leaflet.pdf")
    assert refused.code == 2
    assert json.loads(refused.out)["error"]["next_step"] == "add --yes"
    report = ErasureReport.model_validate_json(tychora("manage", held, "delete", "leaflet.pdf", "--yes").out)
    assert [each.path for each in report.sources] == ["leaflet.pdf"]
    assert not Client(held).search("lighthouse keeper").segments
    planned = CollectReport.model_validate_json(tychora("manage", held, "collect", "--dry-run").out)
    assert planned.dry_run
    collected = CollectReport.model_validate_json(tychora("manage", held, "collect").out)
    assert any(each.path.startswith("objects/") for each in collected.removed)
    assert tychora("verify", held).code == 0


def test_policies_are_set_listed_and_lifted(tychora: Run, held: Path) -> None:
    rules: list[tuple[str, ...]] = [
        ("--collection", "default", "--retain-days", "30"),
        ("--collection", "default", "--classification", "internal", "--reason", "by the board"),
        ("--source", "handbook.md", "--grant", "group:board"),
        ("--source", "handbook.md", "--revoke", "user:anna"),
    ]
    for rule in rules:
        assert StatementReport.model_validate_json(tychora("manage", held, "policy", *rule).out).kind == "policy"
    listed = [PolicyEntry.model_validate(each) for each in json.loads(tychora("manage", held, "policy").out)]
    assert [each.subject["rule"] for each in listed] == ["retention", "classification", "access", "access"]
    for about, lifted in (("--collection", "retention"), ("--collection", "classification"), ("--source", "user:anna")):
        subject = "default" if about == "--collection" else "handbook.md"
        assert tychora("manage", held, "policy", about, subject, "--lift", lifted).code == 0
    (left,) = [PolicyEntry.model_validate(each) for each in json.loads(tychora("manage", held, "policy").out)]
    assert left.subject["principal"] == "group:board"
    due = ExpiryReport.model_validate_json(tychora("manage", held, "expire", "--dry-run").out)
    assert (due.dry_run, due.due) == (True, [])


def test_a_rollback_brings_an_old_state_back(tychora: Run, held: Path, tmp_path: Path) -> None:
    before = Client(held).inspect().snapshot_id
    (tmp_path / "new.txt").write_text("A mistake.")
    tychora("add", held, "new.txt")
    report = RollbackReport.model_validate_json(tychora("manage", held, "rollback", "main~1").out)
    assert (report.restored, report.sources) == (before, 8)
    assert "new.txt" not in {each.path for each in Client(held).sources()}


def test_the_newest_format_needs_no_upgrade(tychora: Run, held: Path) -> None:
    report = UpgradeReport.model_validate_json(tychora("manage", held, "upgrade").out)
    assert (report.format, report.brings) == (report.newest, [])


def test_many_batches_are_noted_until_they_are_compacted(
    tychora: Run, held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered here: with the real one this would take forty runs."""
    monkeypatch.setattr("tychora_functions.maintain.compact.MANY_BATCHES", 1)
    (tmp_path / "new.txt").write_text("One more batch.")
    added = AddReport.model_validate_json(tychora("add", held, "new.txt").out)
    seen = WorkspaceOverview.model_validate_json(tychora("inspect", held).out)
    checked = VerifyReport.model_validate_json(tychora("verify", held).out)
    assert checked.ok
    for notes in (added.notes, seen.notes, checked.notes):
        assert [each.note for each in notes] == [
            "2 batches slow every search down: tychora manage WORKSPACE compact joins them"
        ]
    compacted = CompactReport.model_validate_json(tychora("manage", held, "compact").out)
    assert (compacted.batches_before, compacted.batches_after) == (2, 1)
    assert WorkspaceOverview.model_validate_json(tychora("inspect", held).out).notes == []


@pytest.mark.parametrize("words", [("--json", "upgrade"), ("upgrade", "--json")])
def test_json_may_be_asked_for_before_and_behind_the_action(words: tuple[str, str], tychora: Run, held: Path) -> None:
    assert UpgradeReport.model_validate_json(tychora("manage", held, *words).out)
