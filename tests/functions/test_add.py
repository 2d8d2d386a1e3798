"""Adding is syncing: new, changed, moved, gone and refused paths, each told apart and each reported once."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tychora_format.workspace import Workspace
from tychora_functions.add import add, inventory
from tychora_functions.maintain.verify import verify
from tychora_functions.query import query
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.receipts import AddReport
from tychora_schemas.requests import QueryRequest
from tychora_schemas.settings import ResolvedSettings, resolve_settings

MOVES = Path(__file__).parent.parent / "data" / "moves"
LISTS = ("added", "changed", "moved", "removed", "unchanged", "held", "quarantined", "skipped")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


def settings(**flags: object) -> ResolvedSettings:
    return resolve_settings(flags={"parse_workers": 1, **flags}, environment={})


def paths(report: AddReport) -> dict[str, list[str]]:
    """The report's lists that are not empty, as sorted paths; no path may be in two of them."""
    lists = {name: sorted(entry.path for entry in getattr(report, name)) for name in LISTS}
    counts = Counter(path for found in lists.values() for path in found)
    assert max(counts.values(), default=1) == 1, counts
    return {name: found for name, found in lists.items() if found}


def ask(workspace: Workspace, question: str, at: str = "main") -> list[tuple[str, str, tuple[str, ...]]]:
    result = query(workspace, QueryRequest(question=question, at=at))
    return [(segment.source.path, segment.text, segment.also_at) for segment in result.segments]


def become(root: Path, state: str) -> None:
    shutil.rmtree(root)
    shutil.copytree(MOVES / state, root)


def test_moves_and_duplicates_keep_identity_and_cost_no_parse(workspace: Workspace, root: Path) -> None:
    """Case 21: a moved file keeps its source, a copy is a second path of one hit, an old version stays citable."""
    become(root, "v1")
    first = add(workspace, [root], settings=settings())
    assert paths(first) == {"added": ["papers/ferry.md", "papers/tariff.md"]}
    before = {row.path: row for row in (each.row for each in workspace.head().live_sources())}

    become(root, "v2")
    second = add(workspace, [root], settings=settings())
    assert paths(second) == {
        "added": ["archive/copy of ferry.md"],
        "moved": ["archive/ferry.md", "archive/tariff-2026.md"],
    }
    assert second.chunks == 0
    assert second.added[0].same_as == "papers/ferry.md"
    after = {row.path: row for row in (each.row for each in workspace.head().live_sources())}
    assert after["archive/ferry.md"].source_id == before["papers/ferry.md"].source_id
    assert after["archive/ferry.md"].paths == ["papers/ferry.md", "archive/ferry.md"]
    hits = [(path, also) for path, text, also in ask(workspace, "ferry leaves at seven") if "seven" in text]
    assert len(hits) == 1
    assert sorted([hits[0][0], *hits[0][1]]) == ["archive/copy of ferry.md", "archive/ferry.md"]

    become(root, "v3")
    third = add(workspace, [root], settings=settings())
    assert paths(third) == {
        "changed": ["archive/tariff-2026.md"],
        "removed": ["archive/copy of ferry.md"],
        "unchanged": ["archive/ferry.md"],
    }
    assert any("ten pence" in text for _, text, _ in ask(workspace, "bridge toll"))
    assert not any("nine pence" in text for _, text, _ in ask(workspace, "bridge toll"))
    assert any("nine pence" in text for _, text, _ in ask(workspace, "bridge toll", at="main~1"))

    again = add(workspace, [root], settings=settings())
    assert again.snapshot_id == third.snapshot_id
    assert verify(workspace).ok


def test_gone_files_leave_the_head_and_stay_in_history(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# Anchor\n\nThe anchor weighs nine stone.\n")
    (root / "b.md").write_text("# Buoy\n\nThe buoy is red.\n")
    add(workspace, [root], settings=settings())
    (root / "a.md").unlink()
    assert paths(add(workspace, [root], settings=settings())) == {"removed": ["a.md"], "unchanged": ["b.md"]}
    assert not any(path == "a.md" for path, *_ in ask(workspace, "anchor weighs"))
    assert any(path == "a.md" for path, *_ in ask(workspace, "anchor weighs", at="main~1"))
    (root / "a.md").write_text("# Anchor\n\nThe anchor weighs nine stone.\n")
    restored = add(workspace, [root], settings=settings())
    assert paths(restored) == {"added": ["a.md"], "unchanged": ["b.md"]}
    assert restored.chunks == 0


def test_a_part_of_a_root_syncs_that_part_only(workspace: Workspace, root: Path) -> None:
    for name in ("one/a.md", "two/b.md"):
        (root / name).parent.mkdir()
        (root / name).write_text(f"# {name}\n\nText of {name}.\n")
    add(workspace, [root], settings=settings())
    (root / "one/a.md").unlink()
    (root / "two/b.md").unlink()
    assert paths(add(workspace, [root / "two"], settings=settings())) == {"removed": ["two/b.md"]}
    assert [each.row.path for each in workspace.head().live_sources()] == ["one/a.md"]
    assert paths(add(workspace, [root / "one" / "a.md"], settings=settings())) == {"removed": ["one/a.md"]}


def test_two_roots_of_one_collection_never_touch_each_other(workspace: Workspace, tmp_path: Path) -> None:
    first, second = tmp_path / "x" / "docs", tmp_path / "y" / "docs"
    for folder in (first, second):
        folder.mkdir(parents=True)
        (folder / "readme.md").write_text(f"# Readme\n\nThis one lies in {folder.parent.name}.\n")
    assert paths(add(workspace, [first], settings=settings())) == {"added": ["readme.md"]}
    assert paths(add(workspace, [second], settings=settings())) == {"added": ["docs-2/readme.md"]}
    assert paths(add(workspace, [first], settings=settings())) == {"unchanged": ["readme.md"]}
    (second / "readme.md").unlink()
    assert paths(add(workspace, [second], settings=settings())) == {"removed": ["docs-2/readme.md"]}
    assert [each.row.path for each in workspace.head().live_sources()] == ["readme.md"]


def test_files_added_one_by_one_are_sources_of_their_own(workspace: Workspace, tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "note.md").write_text(f"# Note\n\nFrom folder {folder}.\n")
    files = [tmp_path / "x" / "note.md", tmp_path / "y" / "note.md"]
    assert paths(add(workspace, files, settings=settings())) == {"added": ["note.md", "y/note.md"]}
    assert paths(add(workspace, files, settings=settings())) == {"unchanged": ["note.md", "y/note.md"]}


def test_collections_share_content_but_never_a_hit(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# Kelp\n\nKelp grows half a metre a day.\n")
    add(workspace, [root], collection="sea", settings=settings())
    report = add(workspace, [root], collection="garden", settings=settings())
    assert report.chunks == 0
    result = query(workspace, QueryRequest(question="kelp grows"))
    assert sorted(segment.source.collection for segment in result.segments) == ["garden", "sea"]
    assert all(segment.also_at == () for segment in result.segments)
    only = query(workspace, QueryRequest(question="kelp grows", filters={"collection": ("sea",)}))
    assert [segment.source.collection for segment in only.segments] == ["sea"]


def test_links_folders_of_tools_and_ignored_files_are_skipped_with_their_reason(
    workspace: Workspace, root: Path, tmp_path: Path
) -> None:
    (root / "real.md").write_text("# Real\n\nA real file.\n")
    (root / "build").mkdir()
    (root / "build" / "out.md").write_text("made")
    (root / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (root / "a.log").write_text("ignored")
    (root / "keep.log").write_text("kept")
    (root / ".hidden").write_text("hidden")
    (root / ".git").mkdir()
    (root / "link.md").symlink_to("real.md")
    (root / "broken.md").symlink_to("nowhere.md")
    (root / "loop").symlink_to(root)
    (tmp_path / "outside.md").write_text("outside")
    (root / "outside.md").symlink_to(tmp_path / "outside.md")
    report = add(workspace, [root], settings=settings())
    assert paths(report) == {
        "added": ["keep.log", "real.md"],
        "quarantined": ["broken.md", "loop", "outside.md"],
        "skipped": [".git", ".gitignore", ".hidden", "a.log", "build", "link.md"],
    }
    reasons = {entry.path: entry.reason or "" for entry in [*report.skipped, *report.quarantined]}
    assert "real.md" in reasons["link.md"] and "loop" in reasons["loop"] and "missing" in reasons["broken.md"]
    assert "outside" in reasons["outside.md"] and ".gitignore" in reasons["a.log"]


def test_a_quarantined_file_is_tried_again_when_its_parser_changes(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "broken.docx").write_bytes(b"PK\x03\x04 no more than a promise")
    first = add(workspace, [root], settings=settings())
    assert paths(first) == {"quarantined": ["broken.docx"]}
    second = add(workspace, [root], settings=settings())
    assert paths(second) == {"quarantined": ["broken.docx"]}
    assert second.snapshot_id == first.snapshot_id
    (root / "broken.docx").write_bytes(b"PK\x03\x04 another promise")
    assert paths(add(workspace, [root], settings=settings())) == {"quarantined": ["broken.docx"]}


def test_changed_settings_read_everything_again(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# A\n\n" + "\n\n".join(f"Sentence number {n} about ships." for n in range(60)))
    add(workspace, [root], settings=settings())
    report = add(workspace, [root], settings=settings(chunk_target_tokens=64, chunk_ceiling_tokens=64))
    assert paths(report) == {"changed": ["a.md"]}
    assert "settings" in (report.changed[0].reason or "")
    assert report.chunks > 4
    assert verify(workspace).ok


def test_a_changed_file_that_cannot_be_read_any_more_is_not_served_from_its_past(
    workspace: Workspace, root: Path
) -> None:
    (root / "a.md").write_text("# Price\n\nThe price is nine crowns.\n")
    add(workspace, [root], settings=settings())
    (root / "a.md").write_bytes(b"\x00\x01\x02" * 500)
    report = add(workspace, [root], settings=settings())
    assert paths(report) == {"quarantined": ["a.md"]}
    assert not ask(workspace, "price crowns")
    assert any("nine crowns" in text for _, text, _ in ask(workspace, "price crowns", at="main~1"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_now_stays_as_it_was_last_read(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# Price\n\nThe price is nine crowns.\n")
    add(workspace, [root], settings=settings())
    (root / "a.md").chmod(0)
    report = add(workspace, [root], settings=settings())
    assert paths(report) == {"quarantined": ["a.md"]}
    assert ask(workspace, "price crowns")


def test_inventory_tells_everything_and_writes_nothing(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# A\n\nSame bytes.\n")
    (root / "copy.md").write_text("# A\n\nSame bytes.\n")
    (root / "Readme.md").write_text("# One\n")
    (root / "README.md").write_text("# Two\n")
    (root / "con.txt").write_text("A device on Windows.")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    report = inventory(workspace, [root], settings=settings())
    assert sorted(entry.path for entry in report.captured) == ["README.md", "Readme.md", "a.md", "con.txt", "copy.md"]
    assert [entry.path for entry in report.cannot] == ["picture.png"] and "image" in (report.cannot[0].reason or "")
    assert report.duplicates == [["a.md", "copy.md"]]
    assert report.colliding == [["README.md", "Readme.md"]]
    assert [entry.path for entry in report.reserved] == ["con.txt"]
    assert workspace.log.head().number == 0
    assert not list(workspace.store.list("objects/"))


def test_nothing_at_a_path_is_an_error_that_names_it(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        add(workspace, [tmp_path / "nowhere"], settings=settings())


def test_a_root_name_with_a_slash_is_refused(workspace: Workspace, root: Path) -> None:
    with pytest.raises(InvalidRequest, match="a/b"):
        add(workspace, [root], settings=settings(), name="a/b")


def test_a_folder_of_the_same_name_continues_the_root_on_another_machine(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roots are machine configuration: where they are unknown, the label in the bundle says what a folder continues."""
    for place in ("here", "there"):
        folder = tmp_path / place / "docs"
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("# A\n\nText.\n")
    add(workspace, [tmp_path / "here" / "docs"], settings=settings())
    monkeypatch.setenv("TYCHORA_STATE", str(tmp_path / "another machine"))
    report = add(workspace, [tmp_path / "there" / "docs"], settings=settings())
    assert paths(report) == {"unchanged": ["a.md"]}


def test_a_workspace_inside_the_root_is_left_alone(root: Path) -> None:
    inside = Workspace.create(root / "evidence")
    (root / "a.md").write_text("# A\n\nText.\n")
    assert paths(add(inside, [root], settings=settings())) == {"added": ["a.md"], "skipped": ["evidence"]}


def test_a_file_that_passed_a_limit_is_tried_again_when_the_limit_is_raised(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# A\n\n" + "Some words to read. " * 100_000)
    first = add(workspace, [root], settings=settings(parse_seconds=0.001))
    assert paths(first) == {"quarantined": ["a.md"]} and "longer than" in (first.quarantined[0].reason or "")
    same = add(workspace, [root], settings=settings(parse_seconds=0.001))
    assert paths(same) == {"quarantined": ["a.md"]} and same.snapshot_id == first.snapshot_id
    assert same.quarantined[0].next_step == first.quarantined[0].next_step
    assert paths(add(workspace, [root], settings=settings())) == {"changed": ["a.md"]}


def test_an_unrelated_folder_of_the_same_name_removes_nothing_on_another_machine(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, name in (("here", "a.md"), ("there", "b.md")):
        folder = tmp_path / place / "docs"
        folder.mkdir(parents=True)
        (folder / name).write_text(f"# {name}\n\nText.\n")
    add(workspace, [tmp_path / "here" / "docs"], settings=settings())
    monkeypatch.setenv("TYCHORA_STATE", str(tmp_path / "another machine"))
    report = add(workspace, [tmp_path / "there" / "docs"], settings=settings())
    assert paths(report) == {"added": ["docs-2/b.md"]}


def test_a_workspace_is_no_root_and_a_collection_has_a_name(workspace: Workspace, tmp_path: Path, root: Path) -> None:
    assert paths(add(workspace, [tmp_path / "workspace"], settings=settings())) == {"skipped": ["workspace"]}
    with pytest.raises(InvalidRequest, match="needs a name"):
        add(workspace, [root], collection=" ", settings=settings())


def test_verify_tells_a_cut_log_from_an_interrupted_writer(workspace: Workspace, root: Path) -> None:
    for text in ("one", "two", "three"):
        (root / "a.md").write_text(f"# A\n\nText {text}.\n")
        add(workspace, [root], settings=settings())
    for number in (2, 3):
        workspace.store.delete(workspace.log.sequence.path(number))
    report = verify(Workspace.open(workspace.store))
    assert [problem.note for problem in report.problems] == ["no commit leads to it: a later snapshot continues it"]
    assert len(report.notes) == 1


def test_a_workspace_without_its_marker_is_called_damaged(workspace: Workspace, root: Path) -> None:
    (root / "a.md").write_text("# A\n")
    add(workspace, [root], settings=settings())
    workspace.store.delete("tychora.json")
    with pytest.raises(CorruptWorkspace, match=r"tychora\.json is missing"):
        Workspace.open(workspace.store)


def test_a_new_file_where_a_moved_one_was_is_another_source(tmp_path: Path) -> None:
    """The moved source keeps its id and stays; the newcomer of its old name gets an id of its own."""
    folder = tmp_path / "docs"
    folder.mkdir()
    workspace = Workspace.create(tmp_path / "bundle")
    (folder / "a.txt").write_text("The pump has the article number 4.\n", "utf-8")
    add(workspace, [folder], settings=settings())
    (folder / "a.txt").rename(folder / "b.txt")
    add(workspace, [folder], settings=settings())
    (folder / "a.txt").write_text("Another text about boilers.\n", "utf-8")
    report = add(workspace, [folder], settings=settings())
    assert [each.path for each in report.added] == ["a.txt"]
    assert report.conflicts == []
    live = [each.row for each in workspace.head().live_sources()]
    assert sorted(row.path for row in live) == ["a.txt", "b.txt"]
    assert len({row.source_id for row in live}) == 2
    assert [each.path for each in add(workspace, [folder], settings=settings()).unchanged] == ["a.txt", "b.txt"]


def test_a_source_may_change_back_and_forth(tmp_path: Path) -> None:
    """The state that comes again for the third time makes the same batch as the second time: the source stays live."""
    folder = tmp_path / "docs"
    folder.mkdir()
    workspace = Workspace.create(tmp_path / "bundle")
    for text in ("The pump has number 4.\n", "The pump has number 5.\n") * 3:
        (folder / "a.txt").write_text(text, "utf-8")
        add(workspace, [folder], settings=settings())
        assert [segment[1] for segment in ask(workspace, "Which number has the pump?")] == [text.strip()]
        assert verify(workspace).ok
