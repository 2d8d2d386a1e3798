"""Old bundles are read for ever; an upgrade happens when it is asked for, and says what it did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tychora_format.manifest import FORMAT_VERSION
from tychora_format.sealed import unseal
from tychora_format.store import LocalStore
from tychora_format.versions import MIGRATIONS, VERSIONS, Migration, require_format, upgrade
from tychora_format.workspace import MARKER, Workspace
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_functions.query.query import query, replay
from tychora_schemas.errors import UnsupportedContent
from tychora_schemas.identity import content_sha256
from tychora_schemas.requests import QueryRequest
from tychora_schemas.settings import resolve_settings

DATA = Path(__file__).resolve().parents[1] / "data"
OLD = DATA / "format-1"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A bundle as the first version wrote it."""
    return Path(shutil.copytree(OLD / "bundle", tmp_path / "bundle"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_version_of_the_format_has_a_row_and_a_bundle_that_is_kept() -> None:
    """The table has no gap, each step leads to the next, and each version before the newest has a bundle here."""
    assert list(VERSIONS) == list(range(1, FORMAT_VERSION + 1))
    assert [migration.target for migration in MIGRATIONS] == list(VERSIONS)[1:]
    for version in list(VERSIONS)[:-1]:
        marker = unseal((DATA / f"format-{version}" / "bundle" / MARKER).read_bytes(), MARKER)
        assert marker["format"] == version


@pytest.mark.parametrize(("name", "reference"), [("head", "main"), ("first", "first")])
def test_an_old_bundle_gives_the_answers_that_it_gave(old: Path, name: str, reference: str) -> None:
    """The segments, places and citations of a bundle of format 1 are those of the version that made it."""
    before = json.loads((OLD / f"{name}.json").read_text("utf-8"))
    now = query(Workspace.open(old), QueryRequest(question="What does a berth cost?", at=reference))
    assert now.snapshot_id == before["snapshot_id"]
    assert [segment.text for segment in now.segments] == [segment["text"] for segment in before["segments"]]
    assert [each.id for each in now.citations] == [each["id"] for each in before["citations"]]
    again = replay(Workspace.open(old), before["run_id"])
    assert [segment.id for segment in again.segments] == [segment["id"] for segment in before["segments"]]


def test_reading_an_old_bundle_changes_nothing_in_it(old: Path) -> None:
    """No migration runs on open, on a question, or on verify."""
    before = files_of(old)
    workspace = Workspace.open(old)
    query(workspace, QueryRequest(question="ferry"))
    assert verify(workspace).ok
    assert files_of(old) == before


def test_adding_to_an_old_bundle_keeps_to_its_format(old: Path, tmp_path: Path) -> None:
    """Whoever wrote it goes on reading it: a new commit's manifest is of the bundle's own version."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "crane.md").write_text("# Crane\n\nThe crane lifts 40 tonnes.\n", "utf-8")
    workspace = Workspace.open(old)
    add(workspace, [folder], settings=resolve_settings(environment={}))
    assert Workspace.open(old).head().manifest.format == 1
    assert verify(Workspace.open(old)).ok


def test_an_upgrade_replaces_the_marker_and_nothing_else(old: Path) -> None:
    """It records the step with the marker's hash before, and a second one finds nothing to do."""
    before = files_of(old)
    steps = upgrade(Workspace.open(old))
    assert steps == [{"from": 1, "to": 2, "marker": content_sha256(before[MARKER])}]
    after = files_of(old)
    assert {path for path in after if after[path] != before.get(path)} == {MARKER}
    workspace = Workspace.open(old)
    assert workspace.format == FORMAT_VERSION
    assert upgrade(workspace) == []
    assert verify(workspace).ok
    assert workspace.marker.workspace_id == unseal(before[MARKER], MARKER)["workspace_id"]


def test_what_an_old_reader_would_not_heed_needs_the_upgrade(old: Path) -> None:
    """The refusal says which command makes it possible."""
    with pytest.raises(UnsupportedContent, match="upgrade"):
        require_format(Workspace.open(old), 2, "withdrawals")
    upgrade(Workspace.open(old))
    require_format(Workspace.open(old), 2, "withdrawals")


def test_an_upgrade_goes_on_where_it_was_interrupted(old: Path) -> None:
    """Each step is one replacement of one file: what was done stays done, the rest follows."""

    def interrupted(marker: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    def step(target: int, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda marker: marker) -> Migration:
        return Migration(target, change)

    workspace = Workspace.open(old)
    with pytest.raises(KeyboardInterrupt):
        upgrade(workspace, [step(2), step(3, interrupted)])
    assert unseal(LocalStore(old).read(MARKER), MARKER)["format"] == 2
    assert [taken["to"] for taken in upgrade(workspace, [step(2), step(3)])] == [3]
