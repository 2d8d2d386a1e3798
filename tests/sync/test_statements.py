"""Statements travel first: what is withdrawn is hidden at once, and nothing that was erased comes back."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from support.histories import model_of, new_workspace, publish_texts
from support.syncing import files_of, withdraw
from tychora_format.cache import Cache
from tychora_format.erasure import erase_from_batches
from tychora_format.objects import object_path
from tychora_format.statements import Statement
from tychora_format.store import LocalStore, open_store
from tychora_format.workspace import MARKER, Workspace, utc_now
from tychora_functions.copies.sync import sync
from tychora_functions.maintain import erase as erasing
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.verify import verify


def test_statements_are_united(source: Workspace, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source, str(copy))
    there = Workspace.open(copy, cache=source.cache)
    ids = {row.row.path: row.row.source_id for row in source.head().live_sources()}
    ours, theirs = withdraw(source, ids["ferry.txt"]), withdraw(there, ids["fish.txt"])
    many = [withdraw(source, f"source_{secrets.token_hex(32)}") for _ in range(30)]
    report = sync(source, str(copy))
    assert (report.outcome, report.statements, report.files) == ("up_to_date", 31, 0)
    assert {each.id for each in there.statements.all()} == {each.id for each in (ours, theirs, *many)}
    assert set(model_of(there.head())) == {"harbour.txt"}
    assert sync(str(copy), str(tmp_path / "source")).statements == 1
    assert sync(source, str(copy)).statements == 0


def erase(workspace: Workspace, path: str) -> str:
    """State the erasure of a source; returns the hash of its content."""
    [row] = [each.row for each in workspace.head().live_sources() if each.row.path == path]
    subject = {"sources": [row.source_id], "revisions": [row.revision_id], "contents": [row.content_sha256]}
    workspace.statements.add(Statement.make("erasure", subject, utc_now()))
    return str(row.content_sha256)


@pytest.mark.parametrize("remote", [False, True])
def test_what_the_destination_erased_is_refused(source: Workspace, tmp_path: Path, remote: bool) -> None:
    """An old clone cannot bring it back: neither its original nor the batch with its text."""
    copy: str = f"memory://{secrets.token_hex(8)}" if remote else str(tmp_path / "copy")
    there = Workspace.create(open_store(copy), cache=source.cache)
    publish_texts(there, {"other.txt": "Another text."})
    there.store.write(MARKER, source.store.read(MARKER))
    there = Workspace.open(copy, cache=source.cache)
    erased = erase(source, "ferry.txt")
    [statement] = source.statements.all()
    there.statements.add(statement)
    source.store.delete("statements/00000000000000000001.json")
    old = Workspace.open(tmp_path / "source", cache=source.cache)
    assert not old.statements.all()
    report = sync(old, copy)
    assert report.outcome == "merged" and [each.path for each in report.refused] == ["ferry.txt"]
    assert set(model_of(there.head())) == {"other.txt", "fish.txt", "harbour.txt"}
    assert not any(b"leaves at seven" in data for data in files_of(there.store).values())
    assert there.store.size(object_path(erased)) is None
    assert {each.kind for each in there.statements.all()} == {"erasure", "replacement"}
    problems = verify(there).problems
    assert not problems
    assert sync(old, copy).files == 0


def test_what_stood_for_an_erased_batch_and_was_collected_is_made_again(source: Workspace, tmp_path: Path) -> None:
    """The destination remembers the statements alone; then an old clone comes with the batch."""
    old = str(tmp_path / "old")
    sync(source, old)
    erase(source, "ferry.txt")
    erase_from_batches(source)
    statements = source.statements.all()
    assert {each.kind for each in statements} == {"erasure", "replacement"}
    for number in range(4):
        there = Workspace.create(tmp_path / f"copy{number}", cache=source.cache)
        for statement in statements:
            there.statements.add(statement)
        report = sync(old, str(tmp_path / f"copy{number}"), cache=source.cache)
        assert (report.statements, [each.path for each in report.refused]) == (1, ["ferry.txt"])
        assert set(model_of(there.head())) == {"fish.txt", "harbour.txt"}
        assert not any(b"leaves at seven" in data for data in files_of(there.store).values())
        assert verify(there).ok


def test_a_statement_about_a_batch_that_only_the_destination_has_is_left_out(source: Workspace, tmp_path: Path) -> None:
    """Where the source has collected what stands for it, old snapshots of the destination stay readable."""
    copy = str(tmp_path / "copy")
    there = Workspace.create(tmp_path / "copy", cache=source.cache)
    sync(source, copy)
    erase(source, "ferry.txt")
    erase_from_batches(source)
    third = Workspace.create(tmp_path / "third", cache=source.cache)
    for statement in source.statements.all():
        third.statements.add(statement)
    report = sync(third, copy)
    assert report.statements == 1 and [note.path.partition("_")[0] for note in report.notes] == ["batch"]
    assert set(model_of(there.head())) == {"fish.txt", "harbour.txt"}
    assert verify(there).ok


def test_an_erasure_of_the_source_hides_at_the_destination_at_once(source: Workspace, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    sync(source, copy)
    erase(source, "ferry.txt")
    report = sync(source, copy)
    assert (report.outcome, report.statements, report.files) == ("up_to_date", 1, 0)
    assert "ferry.txt" not in model_of(Workspace.open(copy, cache=source.cache).head())


@pytest.mark.parametrize("again", [False, True], ids=["nothing more is erased", "more is erased since"])
def test_a_batch_whose_standing_replacement_is_nowhere_comes_as_the_source_has_it(tmp_path: Path, again: bool) -> None:
    """A copy may know by a statement what stands for a batch that it never had: those files may be gone everywhere."""
    cache = Cache(tmp_path / "cache")
    source = new_workspace(cache, LocalStore(tmp_path / "source"))
    publish_texts(source, {"a.txt": "The pump."})
    copy = str(tmp_path / "copy")
    sync(source, copy, cache=cache)
    publish_texts(source, {"b.txt": "The valve.", "c.txt": "The boiler.", "d.txt": "The crane."})
    erasing.erase(source, "c.txt")
    collect(source, grace_hours=0)
    (stated,) = (each for each in source.statements.all() if each.kind == "replacement")
    there = Workspace.open(copy, cache=cache)
    entry, nowhere = stated.subject["entry"], "batch_" + "f" * 64
    files = [{**file, "path": file["path"].replace(entry["id"], nowhere)} for file in entry["files"]]
    lost = {**stated.subject, "entry": {**entry, "id": nowhere, "files": files}}
    there.statements.add(Statement.make("replacement", lost, "2999-01-01T00:00:00.000+00:00"))
    if again:
        erasing.erase(source, "d.txt")
    sync(source, copy, cache=cache)
    there = Workspace.open(copy, cache=cache)
    assert sorted(model_of(there.head())) == sorted(model_of(source.head()))
    assert verify(there).ok
    sync(copy, str(tmp_path / "source"), cache=cache)
    assert verify(Workspace.open(tmp_path / "source", cache=cache)).ok
