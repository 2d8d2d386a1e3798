"""An erasure is final: out of sight at once, out of every batch with the next collection, and all else is as it was."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from bundles import FAMILY, embeddings_of, small_change
from support.histories import bring, clone, commit, new_workspace, publish_texts
from tychora_format.batch import Batch, Parsed
from tychora_format.cache import Cache
from tychora_format.erasure import complete_erasures, erase_from_batches, every_batch
from tychora_format.extraction import Extraction
from tychora_format.lexical import open_view
from tychora_format.snapshot import content_root
from tychora_format.statements import InForce
from tychora_format.store import LocalStore
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.inspection import sources
from tychora_functions.maintain.compact import compact
from tychora_functions.maintain.erase import erase
from tychora_functions.maintain.withdraw import restore, withdraw
from tychora_functions.publish import Change, publish
from tychora_schemas.errors import NotFound
from tychora_schemas.settings import resolve_settings

AMBER, BASALT, CEDAR = "The amber lamp burns.", "The basalt floor is cold.", "The cedar door\n\nis shut."


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def workspace(tmp_path: Path, cache: Cache) -> Workspace:
    """Two states: three texts and a copy of the first; then another revision of the second."""
    made = new_workspace(cache, LocalStore(tmp_path / "bundle"))
    publish_texts(made, {"a.txt": AMBER, "b.txt": BASALT, "c.txt": CEDAR, "copy.txt": AMBER})
    publish_texts(made, {"b.txt": "The basalt floor is warm."})
    return made


def paths(workspace: Workspace, at: str = "main") -> list[str]:
    return [each.path for each in sources(workspace, at=at)]


def texts(workspace: Workspace) -> set[str]:
    """Every chunk's text in every batch that a snapshot lists."""
    return {chunk.text for batch in every_batch(workspace) if batch.rows for chunk in batch.chunks(range(batch.rows))}


def named_paths(workspace: Workspace) -> set[str]:
    """Every path in the source tables of every batch."""
    rows = (row for batch in every_batch(workspace) for row in batch.sources.to_pylist())
    return {path for row in rows for path in (row["path"], *row["paths"])} - {""}


def roots_hold(workspace: Workspace) -> bool:
    """Whether the content root of each snapshot, and each batch's Merkle root, are still those of the manifests."""
    for snapshot_id in workspace.snapshot_ids():
        snapshot = workspace.snapshot(snapshot_id)
        if content_root(snapshot.recorded) != snapshot.manifest.content_root:
            return False
        for named, batch in zip(snapshot.manifest.batches, snapshot.batches, strict=True):
            if (named.merkle_root, named.sources) != (batch.entry.merkle_root, batch.entry.sources):
                return False
    return True


def test_an_erased_source_is_gone_in_every_snapshot(workspace: Workspace) -> None:
    report = erase(workspace, "b.txt", "a request")
    assert [each.path for each in report.sources] == ["b.txt"]
    assert len(report.contents) == 2, "both revisions' originals go"
    assert not report.collected
    assert paths(workspace) == paths(workspace, "main~2") == ["a.txt", "c.txt", "copy.txt"]
    assert workspace.head().id == report.snapshot_id
    assert "b.txt" not in [live.row.path for live in workspace.head().live_sources(hidden=True)]


def test_the_statement_names_ids_and_no_path(workspace: Workspace) -> None:
    report = erase(workspace, "b.txt", "a request")
    (statement,) = workspace.statements.all()
    assert statement.id == report.statement_id
    assert statement.subject["sources"] == [report.target]
    assert len(statement.subject["revisions"]) == len(statement.subject["contents"]) == 2
    assert statement.subject["reason"] == "a request"
    assert b"b.txt" not in statement.encode()


def test_erasing_again_changes_nothing(workspace: Workspace) -> None:
    first = erase(workspace, "b.txt")
    again = erase(workspace, first.target)
    assert (again.statement_id, again.snapshot_id, again.contents) == (
        first.statement_id,
        first.snapshot_id,
        first.contents,
    )
    assert again.sources == []
    erase_from_batches(workspace)
    assert erase(workspace, first.target).statement_id == first.statement_id
    with pytest.raises(NotFound):
        erase(workspace, "b.txt")


def test_a_shared_original_stays_for_the_other_source_until_that_goes_too(workspace: Workspace) -> None:
    assert erase(workspace, "a.txt").contents == []
    erase_from_batches(workspace)
    assert (AMBER in texts(workspace), named_paths(workspace)) == (True, {"b.txt", "c.txt", "copy.txt"})
    assert len(erase(workspace, "copy.txt").contents) == 1
    erase_from_batches(workspace)
    assert (AMBER in texts(workspace), named_paths(workspace)) == (False, {"b.txt", "c.txt"})
    assert roots_hold(workspace)


def test_the_index_knows_a_shared_text_by_the_path_that_is_left(workspace: Workspace) -> None:
    def rows_with(word: str) -> int:
        parts = [batch.lexical() for batch in every_batch(workspace) if batch.rows]
        view = open_view(workspace.cache.directory / secrets.token_hex(4), parts, [None] * len(parts))
        return view.document_frequency(word, "title")

    publish_texts(workspace, {"walrus.txt": "One text.", "zebra.txt": "One text."})
    assert (rows_with("walrus"), rows_with("zebra")) == (1, 0)
    erase(workspace, "walrus.txt")
    erase_from_batches(workspace)
    assert (rows_with("walrus"), rows_with("zebra")) == (0, 1)


def test_erasing_a_revision_leaves_the_others_of_its_source(workspace: Workspace) -> None:
    old = next(each.revision_id for each in sources(workspace, at="main~1") if each.path == "b.txt")
    assert old is not None
    erase(workspace, old)
    assert "b.txt" in paths(workspace)
    assert "b.txt" not in paths(workspace, "main~1")
    erase_from_batches(workspace)
    assert BASALT not in texts(workspace)
    assert roots_hold(workspace)


def test_erasing_an_original_takes_it_from_every_source(workspace: Workspace) -> None:
    content = next(each.content_sha256 for each in sources(workspace) if each.path == "a.txt")
    assert content is not None
    report = erase(workspace, content)
    assert [each.path for each in report.sources] == ["a.txt", "copy.txt"]
    assert report.contents == [content]
    assert paths(workspace) == ["b.txt", "c.txt"]


def test_nothing_brings_an_erased_source_back(workspace: Workspace) -> None:
    wanted = withdraw(workspace, "b.txt").target
    erase(workspace, wanted)
    for undo in (restore, withdraw):
        with pytest.raises(NotFound, match="was erased"):
            undo(workspace, wanted)
    assert "b.txt" not in paths(workspace)


def test_what_a_rival_publishes_meanwhile_is_erased_too(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rival's revision comes between the statement and the commit that takes the source out of the head."""
    late = [lambda: publish_texts(workspace, {"b.txt": "The basalt floor is gone."})]
    commit_snapshot = workspace.commit_snapshot

    def interrupted(build, **options):  # type: ignore[no-untyped-def]
        while late:
            late.pop()()
        return commit_snapshot(build, **options)

    monkeypatch.setattr(workspace, "commit_snapshot", interrupted)
    erase(workspace, "b.txt")
    assert "b.txt" not in [live.row.path for live in workspace.head().live_sources(hidden=True)]
    erase_from_batches(workspace)
    assert not {text for text in texts(workspace) if "basalt" in text}


def test_a_revision_that_another_copy_had_is_erased_when_both_unite(workspace: Workspace) -> None:
    other = clone(workspace)
    publish_texts(other, {"b.txt": "The basalt floor is elsewhere."})
    erase(workspace, "b.txt")
    bring(other, workspace)
    commit(workspace, other.head().manifest)
    assert "b.txt" not in paths(workspace), "its source is erased"
    complete_erasures(workspace)
    assert len(workspace.statements.in_force().erasures) == 2
    erase_from_batches(workspace)
    assert not {text for text in texts(workspace) if "basalt" in text}


def test_a_replacement_keeps_numbers_roots_texts_and_vectors_of_all_else(tmp_path: Path, cache: Cache) -> None:
    workspace = new_workspace(cache, LocalStore(tmp_path / "bundle"))
    changes = [small_change(workspace, f"{word}.txt", f"The {word} is here.\n") for word in ("one", "two", "three")]
    merged = Change([row for each in changes for row in each.sources], [each.parsed[0] for each in changes])
    publish(workspace, merged, embeddings_of(merged))
    before = workspace.head().batches[0]
    vectors, rows = before.vectors(FAMILY), before.sources.to_pylist()
    erase(workspace, "two.txt")
    (made,) = erase_from_batches(workspace)
    after = next(batch for batch in every_batch(workspace) if batch.id == before.id)
    assert (made.batch, made.after) == (before.id, after.entry)
    assert made.after.id != before.id
    kept = [0, 2]
    assert [after.sources.to_pylist()[number] for number in kept] == [rows[number] for number in kept]
    tombstone = {name: value for name, value in after.sources.to_pylist()[1].items() if value}
    assert tombstone.keys() == {"source_id", "revision_id", "content_sha256", "state"}
    assert after.entry.merkle_root == before.entry.merkle_root
    assert [chunk.text for chunk in after.chunks(range(2))] == [before.chunks([row])[0].text for row in kept]
    found = after.vectors(FAMILY)
    assert vectors is not None and found is not None
    assert np.array_equal(found.codes, vectors.codes[kept])
    assert not before.matrix_path(FAMILY).exists(), "what this machine derived from the old batch goes"


def test_a_title_that_was_the_erased_sources_name_goes_too(tmp_path: Path, cache: Cache) -> None:
    """Bundles of earlier versions have a file's name as title where the content has none."""
    workspace = new_workspace(cache, LocalStore(tmp_path / "bundle"))
    first, second = (small_change(workspace, name, "One text.\n") for name in ("walrus.txt", "zebra.txt"))
    extraction = first.parsed[0].extraction
    titled = Extraction(replace(extraction.header, title="walrus"), extraction.chunks)
    change = Change([*first.sources, *second.sources], [Parsed(titled, first.sources[0])])
    publish(workspace, change, embeddings_of(change))
    erase(workspace, "walrus.txt")
    erase_from_batches(workspace)
    (batch,) = every_batch(workspace)
    assert batch.extractions.column("title").to_pylist() == [None]


def test_erasing_twice_from_a_batch_and_compacting_between(workspace: Workspace) -> None:
    erase(workspace, "b.txt")
    assert len(erase_from_batches(workspace)) == 2
    assert erase_from_batches(workspace) == []
    compact(workspace)
    erase(workspace, "c.txt")
    erase_from_batches(workspace)
    assert paths(workspace) == ["a.txt", "copy.txt"]
    assert texts(workspace) == {AMBER}
    assert roots_hold(workspace)


def test_interrupted_between_two_batches_it_goes_on_where_it_stopped(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    erase(workspace, "b.txt")
    with monkeypatch.context() as interrupted:
        add = workspace.statements.add
        left = [add]
        interrupted.setattr(workspace.statements, "add", lambda statement: left.pop()(statement))
        with pytest.raises(IndexError):
            erase_from_batches(workspace)
    assert paths(workspace) == paths(workspace, "main~2") == ["a.txt", "c.txt", "copy.txt"]
    assert roots_hold(workspace)
    assert len(erase_from_batches(workspace)) == 1
    assert not {text for text in texts(workspace) if "basalt" in text}
    assert roots_hold(workspace)


def test_downloads_of_a_replaced_batch_are_forgotten(cache: Cache) -> None:
    workspace = new_workspace(cache)
    publish_texts(workspace, {"a.txt": AMBER, "b.txt": BASALT})
    batch = workspace.head().batches[0]
    assert batch.chunks([0])[0].text and batch.lexical().directory.is_dir()
    assert batch.sources.num_rows == 2
    kept = batch.lexical().directory
    tables = [cache.directory / "downloads" / file.sha256 for file in batch.entry.files if "/tables/" in file.path]
    assert any(place.exists() for place in tables)
    erase(workspace, "b.txt")
    erase_from_batches(workspace)
    assert not kept.exists() and not any(place.exists() for place in tables)


PATHS = ("a", "b", "c", "d")
STEPS = st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["one", "two", "three", None])), max_size=4)


def states(workspace: Workspace) -> dict[str, dict[str, str]]:
    """What every snapshot shows: source id → SHA-256 of its content."""
    shown = {}
    for snapshot_id in sorted(workspace.snapshot_ids()):
        live = workspace.snapshot(snapshot_id).live_sources()
        shown[snapshot_id] = {each.row.source_id: each.row.content_sha256 or "" for each in live}
    return shown


@given(STEPS, st.lists(st.integers(0, 7), max_size=3))
@limits(max_examples=25)
def test_whatever_is_erased_all_else_stays_in_every_snapshot(
    cache: Cache, steps: list[dict[str, str | None]], gone: list[int]
) -> None:
    workspace = new_workspace(cache)
    for step in steps:
        publish_texts(workspace, step)
    before = states(workspace)
    known = sorted({source for shown in before.values() for source in shown})
    erased = {known[number] for number in gone if number < len(known)}
    for each in erased:
        erase(workspace, each)
    expected = {at: {s: c for s, c in shown.items() if s not in erased} for at, shown in before.items()}
    assert {at: shown for at, shown in states(workspace).items() if at in before} == expected
    erase_from_batches(workspace)
    assert {at: shown for at, shown in states(workspace).items() if at in before} == expected
    assert roots_hold(workspace)
    assert not any(_holds_erased(batch, workspace.statements.in_force()) for batch in every_batch(workspace))


def _holds_erased(batch: Batch, statements: InForce) -> bool:
    rows = [batch.source(number) for number in range(batch.entry.sources)]
    extractions = [batch.extraction(ordinal) for ordinal in range(batch.extractions.num_rows)]
    return any(statements.erases(row) and row.path for row in rows) or any(
        extraction.rows and extraction.content_sha256 in statements.erased for extraction in extractions
    )


def test_what_is_erased_stays_out_also_where_a_moved_source_had_its_path_before(tmp_path: Path) -> None:
    """The second source of a path has an id of its own: by that it is refused, whatever the file says now."""
    folder = tmp_path / "docs"
    folder.mkdir()
    workspace = Workspace.create(tmp_path / "bundle")
    settings = resolve_settings(environment={}, flags={"families": [], "parse_workers": 1})
    (folder / "a.txt").write_text("The pump has number 4.\n", "utf-8")
    add(workspace, [folder], settings=settings)
    (folder / "a.txt").rename(folder / "b.txt")
    add(workspace, [folder], settings=settings)
    (folder / "a.txt").write_text("A secret.\n", "utf-8")
    add(workspace, [folder], settings=settings)
    erase(workspace, "a.txt")
    (folder / "a.txt").write_text("Another secret.\n", "utf-8")
    report = add(workspace, [folder], settings=settings)
    assert [(each.path, each.reason) for each in report.quarantined] == [("a.txt", "it was erased here")]
    assert [live.row.path for live in workspace.head().live_sources(hidden=True)] == ["b.txt"]
