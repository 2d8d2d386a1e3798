"""History: tags, going back, what differs between two states, and how answers drift."""

from __future__ import annotations

from pathlib import Path

import pytest

from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.history.comparison import compare
from tychora_functions.history.rollback import rollback
from tychora_functions.history.tag import tag, untag
from tychora_functions.inspection import history
from tychora_functions.maintain.verify import verify
from tychora_functions.query.query import query
from tychora_schemas.errors import InvalidRequest, NotFound
from tychora_schemas.requests import QueryRequest
from tychora_schemas.settings import resolve_settings

QUESTION = "What does a berth cost?"


def put(workspace: Workspace, folder: Path, **files: str | None) -> None:
    """Write, change or remove `NAME.md` files of the folder, and add it again."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        place = folder / f"{name}.md"
        if text is None:
            place.unlink()
        else:
            place.write_text(text, "utf-8")
    add(workspace, [folder], settings=resolve_settings(environment={}, flags={"families": [], "parse_workers": 1}))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Three commits: two notes; one changed and one added; one moved and one removed."""
    made = Workspace.create(tmp_path / "bundle")
    folder = tmp_path / "notes"
    put(
        made,
        folder,
        dues="# Dues\n\nA berth costs 12 crowns.\n\nPay at the office.\n",
        ferry="The ferry leaves at 7.\n",
    )
    put(
        made, folder, dues="# Dues\n\nA berth costs 14 crowns.\n\nPay at the office.\n", crane="The crane lifts 40 t.\n"
    )
    put(made, folder, ferry=None, boat="The ferry leaves at 7.\n", crane=None)
    return made


def test_a_tag_names_a_snapshot_until_it_is_moved_or_removed(workspace: Workspace) -> None:
    """`--at TAG` answers from the tagged snapshot, whatever is committed after it."""
    first = workspace.lineage()[-1].snapshot
    assert tag(workspace, "v1", "main~2").snapshot_id == first
    assert workspace.resolve("v1").id == first
    moved = tag(workspace, "v1")
    assert (moved.before, moved.snapshot_id) == (first, workspace.head().id)
    assert [entry.tags for entry in history(workspace)] == [["v1"], [], []]
    untag(workspace, "v1")
    with pytest.raises(NotFound):
        workspace.resolve("v1")
    with pytest.raises(NotFound):
        untag(workspace, "v1")


@pytest.mark.parametrize(
    "name", ["main", "2026-05-01", "20260501", "abcdef", "../x", "", "a b", "con", "x" * 120, "-v"]
)
def test_a_tag_cannot_take_the_place_of_another_reference(workspace: Workspace, name: str) -> None:
    """Nor be a name that some system refuses."""
    with pytest.raises(InvalidRequest):
        tag(workspace, name)


def test_an_empty_workspace_has_nothing_to_tag(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        tag(Workspace.create(tmp_path / "empty"), "v1")


def test_a_rollback_is_a_new_snapshot_with_the_old_content(workspace: Workspace) -> None:
    """The history grows by one, nothing is lost, and answers are those of the old state again."""
    old = workspace.resolve("main~2")
    before = query(workspace, QueryRequest(question=QUESTION, at="main~2"))
    report = rollback(workspace, "main~2")
    head = workspace.head()
    assert report.snapshot_id == head.id != old.id
    assert head.manifest.parents == (report.before,)
    assert head.manifest.content_root == old.manifest.content_root
    assert len(workspace.lineage()) == 4
    after = query(workspace, QueryRequest(question=QUESTION))
    assert [segment.id for segment in after.segments] == [segment.id for segment in before.segments]
    assert verify(workspace).ok


def test_a_rollback_to_what_is_there_commits_nothing(workspace: Workspace) -> None:
    head = workspace.head().id
    assert rollback(workspace, "main").snapshot_id == head
    assert len(workspace.lineage()) == 3


def test_a_folder_added_after_a_rollback_is_compared_with_the_old_state(workspace: Workspace, tmp_path: Path) -> None:
    """So the rolled-back changes come again when their files are still there."""
    root = workspace.head().manifest.content_root
    rollback(workspace, "main~2")
    put(workspace, tmp_path / "notes")
    now = {live.row.path for live in workspace.head().live_sources()}
    assert now == {"dues.md", "boat.md"}
    assert workspace.head().manifest.content_root == root


def test_a_difference_tells_sources_and_units_apart(workspace: Workspace) -> None:
    """Changed, added, moved and removed sources, and of each the units that differ; the rest is counted."""
    found = compare(workspace, "main~2", "main~1")
    assert [(each.change, each.path) for each in found.sources] == [("added", "crane.md"), ("changed", "dues.md")]
    dues = found.sources[1]
    assert (dues.units_kept, dues.units_added, dues.units_removed) == (2, 1, 1)
    assert [(unit.change, unit.text) for unit in dues.units] == [
        ("removed", "A berth costs 12 crowns."),
        ("added", "A berth costs 14 crowns."),
    ]
    assert dues.units[1].locator.lines == (3, 3)
    assert found.unchanged == 1
    later = compare(workspace, "main~1")
    assert [(each.change, each.path, each.was) for each in later.sources] == [
        ("moved", "boat.md", "ferry.md"),
        ("removed", "crane.md", None),
    ]
    assert later.sources[0].units_kept == 1


def test_a_difference_of_a_snapshot_to_itself_is_empty(workspace: Workspace) -> None:
    found = compare(workspace, "main", "main", [QUESTION])
    assert found.same_content
    assert found.sources == []
    assert found.answers[0].same


def test_answers_drift_where_their_evidence_changed(workspace: Workspace) -> None:
    """The same questions asked of both: what left, what came, and at which rank."""
    changed, same = compare(workspace, "main~2", "main~1", [QUESTION, "When does the ferry leave?"]).answers
    assert not changed.same
    assert {(each.rank_before > 0, each.rank_after > 0, "12 crowns" in each.text) for each in changed.segments} >= {
        (True, False, True),
        (False, True, False),
    }
    assert [each.path for each in same.segments if each.rank_before == 1 or each.rank_after == 1] == []


def test_the_state_before_the_first_commit_is_told_from_one_without_evidence(workspace: Workspace) -> None:
    """Who goes back too far is not left to believe that the sources said nothing then."""
    result = query(workspace, QueryRequest(question=QUESTION, at="main~3"))
    assert result.segments == ()
    assert "before the first commit" in " ".join(result.warnings)
    assert query(workspace, QueryRequest(question=QUESTION, at="main~2")).warnings == ()
