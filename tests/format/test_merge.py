"""Merging two snapshots, case by case, and the ancestors that decide what a case is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.histories import bring, clone, commit, model_of, new_workspace, publish_texts, synthetic_change
from tychora_format.cache import Cache
from tychora_format.invariants import check_snapshot
from tychora_format.manifest import Manifest, as_ranges, from_ranges
from tychora_format.merge import _gaps, best_common_ancestors, merge, relation
from tychora_format.snapshot import Snapshot
from tychora_format.statements import InForce, Statement
from tychora_format.store import LocalStore
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.publish import publish
from tychora_schemas.errors import Conflict, CorruptWorkspace
from tychora_schemas.identity import content_sha256
from tychora_schemas.transport import MergeConflict

SEED_BUNDLE = Path(__file__).resolve().parents[1] / "data" / "format-1" / "bundle"

Texts = Mapping[str, str | None]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A bundle of three sources."""
    workspace = new_workspace(Cache(tmp_path / "cache"))
    publish_texts(workspace, {"a": "The pump.\n\nIt runs.", "b": "The valve.", "c": "The boiler."})
    return workspace


def diverge(workspace: Workspace, earlier: Texts, later: Texts) -> tuple[Snapshot, Snapshot, Snapshot]:
    """Two snapshots that continue the head differently, and the head."""
    base = workspace.head()
    one = publish_texts(workspace, earlier).snapshot
    commit(workspace, base.manifest)
    other = publish_texts(workspace, later).snapshot
    return one, other, base


def merged(
    workspace: Workspace, one: Snapshot, other: Snapshot, *bases: Snapshot
) -> tuple[Snapshot, tuple[MergeConflict, ...]]:
    """The merged snapshot, committed and found whole, and the conflicts."""
    result = merge(one, other, bases)
    assert result == merge(other, one, bases)
    snapshot = commit(workspace, result.manifest)
    assert not list(check_snapshot(snapshot, workspace.store))
    return snapshot, result.conflicts


def hashes(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: content_sha256(text.encode()) for path, text in texts.items()}


def test_changes_of_different_sources_all_count(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "New pump.", "d": "Added."}, {"b": None, "e": "Added, too."})
    snapshot, conflicts = merged(workspace, one, other, base)
    assert model_of(snapshot) == hashes({"a": "New pump.", "c": "The boiler.", "d": "Added.", "e": "Added, too."})
    assert conflicts == ()
    assert snapshot.manifest.parents == tuple(sorted((one.id, other.id)))
    assert snapshot.manifest.time == other.manifest.time


def test_the_later_of_two_changes_is_current(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "Changed here."}, {"a": "Changed there."})
    snapshot, [conflict] = merged(workspace, one, other, base)
    assert model_of(snapshot)["a"] == content_sha256(b"Changed there.")
    revisions = [each.live_sources(lambda row: row.path == "a")[0].row.revision_id for each in (other, one)]
    assert [conflict.kept_revision, conflict.other_revision] == revisions
    assert conflict.path == "a" and "later" in conflict.note


def test_a_readable_state_goes_before_a_later_unreadable_one(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "Changed here."}, {"a": "\0"})
    snapshot, [conflict] = merged(workspace, one, other, base)
    assert model_of(snapshot)["a"] == content_sha256(b"Changed here.")
    assert "the indexed state is current" in conflict.note


def test_the_same_change_on_both_sides_is_no_conflict(workspace: Workspace) -> None:
    """Its row in the batch of the lower id stays."""
    for number in range(4):
        text = f"Changed {number} times."
        one, other, base = diverge(workspace, {"a": text}, {f"{number}": "More.", "a": text})
        snapshot, conflicts = merged(workspace, one, other, base)
        [live] = snapshot.live_sources(lambda row: row.path == "a")
        assert live.row.content_sha256 == content_sha256(text.encode())
        assert live.batch == min(each.id for each in (*one.batches, *other.batches) if each not in base.batches)
        assert conflicts == ()


def test_a_source_removed_here_and_changed_there_stays(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": None}, {"a": "Changed."})
    snapshot, [conflict] = merged(workspace, one, other, base)
    assert model_of(snapshot)["a"] == content_sha256(b"Changed.")
    assert "it stays" in conflict.note and conflict.other_revision is None


def test_a_source_removed_on_both_sides_is_gone(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": None}, {"a": None, "d": "More."})
    snapshot, conflicts = merged(workspace, one, other, base)
    assert model_of(snapshot) == hashes({"b": "The valve.", "c": "The boiler.", "d": "More."})
    assert conflicts == ()


def test_a_change_that_was_taken_back_is_none(workspace: Workspace) -> None:
    """What one side changed and changed back is as it was: the other side's removal holds."""
    base = workspace.head()
    publish_texts(workspace, {"b": "For a while."})
    one = publish_texts(workspace, {"b": "The valve."}).snapshot
    commit(workspace, base.manifest)
    other = publish_texts(workspace, {"b": None}).snapshot
    snapshot, conflicts = merged(workspace, one, other, base)
    assert "b" not in model_of(snapshot)
    assert conflicts == ()


def test_a_move_and_a_change_are_told(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"b": None, "moved": "The valve."}, {"b": "Changed."})
    snapshot, [conflict] = merged(workspace, one, other, base)
    assert {"b", "moved"} & model_of(snapshot).keys() == {"b"}
    assert conflict.path == "b"


def test_two_sources_that_come_to_one_path_are_both_kept_and_told_once(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"b": None, "new": "The valve."}, {"new": "Added."})
    snapshot, [conflict] = merged(workspace, one, other, base)
    assert [each.row.path for each in snapshot.live_sources()].count("new") == 2
    assert conflict.path == "new" and "both are kept" in conflict.note
    first, second, base = diverge(workspace, {"a": None}, {"c": None})
    assert merge(first, second, [base]).conflicts == ()


def test_without_a_common_base_nothing_is_removed(workspace: Workspace) -> None:
    one, other, _ = diverge(workspace, {"a": None}, {"b": None, "c": "Changed."})
    snapshot, [conflict] = merged(workspace, one, other)
    assert model_of(snapshot).keys() == {"a", "b", "c"}
    assert conflict.path == "c"


def test_an_ancestor_is_merged_by_taking_the_descendant(workspace: Workspace) -> None:
    base = workspace.head()
    head = publish_texts(workspace, {"d": "More."}).snapshot
    for one, other in ((base, head), (head, base), (workspace.empty(), head), (head, head)):
        assert merge(one, other, [base]).manifest == head.manifest


def test_batches_that_nothing_live_needs_are_left_out(workspace: Workspace) -> None:
    """A batch stays for its live sources, or for an extraction that live sources elsewhere share."""
    publish_texts(workspace, {"shared": "The pump.\n\nIt runs.", "past": "Gone soon."})
    publish_texts(workspace, {"alone": "Lonely."})
    one, other, base = diverge(workspace, {"a": "Pump 2.", "b": "Valve 2.", "c": None}, {"past": None, "alone": None})
    snapshot, _ = merged(workspace, one, other, base)
    texts = {"a": "Pump 2.", "b": "Valve 2.", "shared": "The pump.\n\nIt runs."}
    assert model_of(snapshot) == hashes(texts)
    assert len(snapshot.batches) == 3 < len(base.batches) + 1
    found = [chunk.text for batch in snapshot.batches for chunk in batch.chunks(range(batch.rows))]
    assert "The pump." in found and "Lonely." not in found
    assert snapshot.everything.size == 4


def compacted(workspace: Workspace, snapshot: Snapshot) -> Snapshot:
    """The same live sources in one batch, as the next snapshot."""
    texts = {
        live.row.path: workspace.objects.get(live.row.content_sha256 or "").decode() for live in snapshot.live_sources()
    }
    fresh = new_workspace(workspace.cache)
    only = publish_texts(fresh, texts).snapshot.manifest
    bring(fresh, workspace)
    return commit(workspace, only.model_copy(update={"parents": (snapshot.id,)}))


@pytest.mark.parametrize("number", range(4))
def test_a_merge_keeps_a_compaction(workspace: Workspace, number: int) -> None:
    """Rewriting a batch changes no source: the other side's changes and removals hold, the new batch stays."""
    base = publish_texts(workspace, {"d": f"Gasket {number}.", "e": "The flange."}).snapshot
    one = compacted(workspace, base)
    commit(workspace, base.manifest)
    other = publish_texts(workspace, {"a": "Changed.", "b": None}).snapshot
    snapshot, conflicts = merged(workspace, one, other, base)
    assert model_of(snapshot) == model_of(other)
    assert conflicts == ()
    assert len(snapshot.batches) == 2
    assert {each.id for each in one.batches} < {each.id for each in snapshot.batches}


def test_a_criss_crossed_revert_counts_as_a_change(workspace: Workspace) -> None:
    """Two merges of the same pair are criss-crossed bases: who then goes back to an old text has changed it."""
    one, other, base = diverge(workspace, {"a": "Changed."}, {"b": "Changed, too."})
    united, _ = merged(workspace, one, other, base)
    here = publish_texts(workspace, {"a": "The pump.\n\nIt runs."}).snapshot
    commit(workspace, united.manifest)
    twin = commit(workspace, united.manifest.model_copy(update={"time": base.manifest.time}))
    there = publish_texts(workspace, {"c": None}).snapshot
    manifests = {**workspace.ancestors(here.id), **workspace.ancestors(there.id)}
    assert twin.id != united.id
    assert best_common_ancestors(here.id, there.id, manifests) == sorted((one.id, other.id))
    snapshot, conflicts = merged(workspace, here, there, one, other)
    assert model_of(snapshot) == hashes({"a": "The pump.\n\nIt runs.", "b": "Changed, too."})
    assert conflicts == ()


def test_what_statements_hide_is_merged_all_the_same(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "Changed."}, {"b": "Changed, too."})
    hidden = InForce(withdrawn=frozenset(base.recorded.column("source_id").to_pylist()))
    seen = [
        Snapshot(each.id, each.manifest, workspace.store, workspace.cache, statements=hidden)
        for each in (one, other, base)
    ]
    assert not seen[0].live_sources()
    assert merge(seen[0], seen[1], seen[2:]) == merge(one, other, [base])


def altered(workspace: Workspace, snapshot: Snapshot, alter: Callable[[int], Mapping[str, int]]) -> Snapshot:
    """The snapshot as if its batches' entries said something else."""
    batches = tuple(each.model_copy(update=dict(alter(each.tag))) for each in snapshot.manifest.batches)
    manifest = snapshot.manifest.model_copy(update={"batches": batches})
    return Snapshot(snapshot.id, manifest, workspace.store, workspace.cache)


def test_batches_of_one_tag_are_a_conflict_that_says_what_to_do(tmp_path: Path, workspace: Workspace) -> None:
    apart = new_workspace(Cache(tmp_path / "cache"))
    publish_texts(apart, {"z": "Elsewhere."})
    bring(apart, workspace)
    one, other = workspace.head(), workspace.snapshot(apart.head().id)
    tag = one.manifest.batches[0].tag
    with pytest.raises(Conflict) as caught:
        merge(one, altered(workspace, other, lambda _: {"tag": tag}), [])
    assert "compact" in caught.value.next_step


def test_snapshots_that_contradict_each_other_are_refused(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "Changed."}, {"b": "Changed, too."})
    with pytest.raises(CorruptWorkspace, match="batch_"):
        merge(one, altered(workspace, other, lambda tag: {"rows": 7}), [base])


def test_a_source_that_is_live_twice_is_refused(workspace: Workspace) -> None:
    one, other, base = diverge(workspace, {"a": "Changed."}, {"b": "Changed, too."})
    revived = one.manifest.model_copy(update={"dead": {}})
    with pytest.raises(CorruptWorkspace, match="live twice"):
        merge(Snapshot(one.id, revived, workspace.store, workspace.cache), other, [base])


def test_a_bundle_of_format_1_is_merged(tmp_path: Path) -> None:
    """Its snapshots were made by another version and with vectors: merging asks for none of that."""
    workspace = Workspace.open(LocalStore(SEED_BUNDLE), cache=Cache(tmp_path / "cache"))
    here, there = clone(workspace), clone(workspace)
    before = model_of(here.head())
    path, *_ = before
    root = here.head().live_sources()[0].row.root
    publish_texts(here, {"new": "Added here."})
    publish(there, synthetic_change(there, {path: None}, root=root), {})
    bring(there, here)
    base = here.snapshot(workspace.head().id)
    snapshot, conflicts = merged(here, here.head(), here.snapshot(there.head().id), base)
    assert model_of(snapshot) == {each: sha for each, sha in before.items() if each != path} | hashes(
        {"new": "Added here."}
    )
    assert conflicts == ()


SIDES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([None, "One.", "Two.\n\nThree.", "\0"]), max_size=3)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SIDES, SIDES)
def test_any_two_sides_merge_as_dictionaries_do(workspace: Workspace, here: Texts, there: Texts) -> None:
    """Per path: what one side alone changed; else what is left, is readable, or is later, told as a conflict."""
    commit(workspace, workspace.manifest(workspace.log.history()[-1].snapshot))
    one, other, parted = diverge(workspace, here, there)
    snapshot, conflicts = merged(workspace, one, other, parted)
    before, a, b, now = (model_of(each) for each in (parted, one, other, snapshot))
    unreadable = content_sha256(b"\0")
    for path in "abcd":
        was, ours, theirs = before.get(path), a.get(path), b.get(path)
        told = ours != theirs and was not in (ours, theirs)
        assert told == (path in {each.path for each in conflicts})
        if told:
            assert now[path] == (ours if theirs is None or (theirs == unreadable and ours) else theirs)
        else:
            assert now.get(path) == (theirs if ours == was else ours)


@given(st.sets(st.integers(0, 40)), st.integers(41, 60))
def test_dead_rows_are_those_that_are_not_live(live: set[int], count: int) -> None:
    gaps = _gaps(np.array(sorted(live), np.int64), count)
    assert from_ranges(gaps) == set(range(count)) - live
    assert gaps == as_ranges(set(range(count)) - live)


def graph(parents: list[set[int]]) -> dict[str, Manifest]:
    empty = Manifest(format=1, parents=(), time="2026-01-01T00:00:00+00:00", content_root="0" * 64, batches=())
    return {
        f"{node}": empty.model_copy(update={"parents": tuple(sorted(map(str, each)))})
        for node, each in enumerate(parents)
    }


@st.composite
def graphs(draw: st.DrawFn) -> list[set[int]]:
    """Per node its parents, which have smaller numbers."""
    size = draw(st.integers(2, 12))
    return [draw(st.sets(st.integers(0, node - 1), max_size=2)) if node else set() for node in range(size)]


def reachable(parents: list[set[int]], node: int) -> set[int]:
    return {node}.union(*(reachable(parents, parent) for parent in parents[node]))


@given(graphs(), st.data())
def test_best_common_ancestors_of_any_graph(parents: list[set[int]], data: st.DataObject) -> None:
    """They are the common ancestors without those that another of them descends from, whichever side is asked first."""
    one, other = (data.draw(st.integers(0, len(parents) - 1)) for _ in range(2))
    common = reachable(parents, one) & reachable(parents, other)
    best = {each for each in common if not any(each in reachable(parents, x) for x in common - {each})}
    manifests = graph(parents)
    assert best_common_ancestors(f"{one}", f"{other}", manifests) == sorted(map(str, best))
    assert best_common_ancestors(f"{other}", f"{one}", manifests) == sorted(map(str, best))


@given(graphs(), st.data())
def test_relation_of_any_graph(parents: list[set[int]], data: st.DataObject) -> None:
    one, other = (data.draw(st.integers(0, len(parents) - 1)) for _ in range(2))
    behind, ahead = one in reachable(parents, other), other in reachable(parents, one)
    expected = "equal" if one == other else "behind" if behind else "ahead" if ahead else "diverged"
    assert relation(f"{one}", f"{other}", graph(parents)) == expected


def test_a_cut_history_ends_at_what_is_known() -> None:
    """A parent whose manifest is not there is a common ancestor by its id; what is behind it is not known."""
    known = {name: manifest for name, manifest in graph([set(), {0}, {1}, {1}]).items() if name in "23"}
    assert best_common_ancestors("2", "3", known) == ["1"]
    assert relation("1", "3", known) == "behind"
    assert relation("0", "3", known) == "diverged"
    assert best_common_ancestors("0", "3", known) == []


def test_before_the_first_commit_everything_is_ahead() -> None:
    known = graph([set()])
    assert relation("", "0", known) == "behind"
    assert relation("0", "", known) == "ahead"
    assert relation("", "", known) == "equal"
    assert best_common_ancestors("", "0", known) == []


def test_an_erased_revision_never_wins_a_conflict(workspace: Workspace) -> None:
    """What is hidden on one side does not take the place of what the other side still shows."""
    one, other, base = diverge(workspace, {"a": "An earlier change."}, {"a": "A secret that has to go."})
    secret = content_sha256(b"A secret that has to go.")
    workspace.statements.add(Statement.make("erasure", {"contents": [secret]}, utc_now()))
    result = merge(workspace.snapshot(one.id), workspace.snapshot(other.id), [workspace.snapshot(base.id)])
    assert model_of(commit(workspace, result.manifest))["a"] == content_sha256(b"An earlier change.")
