"""Gate C10: the three-way merge of random diverged histories."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import pytest

from support.histories import bring, clone, commit, live_by_id, model_of, new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.invariants import check_snapshot
from tychora_format.manifest import Manifest
from tychora_format.merge import Merged, best_common_ancestors, merge, relation
from tychora_format.snapshot import LiveSource, Snapshot
from tychora_format.workspace import Workspace

PATHS = [f"folder/{name}.txt" for name in "abcdefgh"]
TEXTS = [
    "The pump is on.",
    "The valve is shut.\n\nIt drips.",
    "Boiler 4",
    "Fährt um 7 ab.\n\n\nOder um 8.",
    "\0",
    "B\n\nC",
]


@dataclass
class Histories:
    """A graph of snapshots in one bundle: any of them may be continued, any two that diverged may be merged."""

    workspace: Workspace
    chance: random.Random
    nodes: dict[str, Snapshot] = field(default_factory=dict)

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            pairs = list(self.diverged())
            if pairs and self.chance.random() < 0.25:
                one, other = self.chance.choice(pairs)
                merged = merge(self.nodes[one], self.nodes[other], self.bases(one, other))
                head = commit(self.workspace, merged.manifest)
            else:
                head = self._continue(self.chance.choice(list(self.nodes)[-4:]) if self.nodes else "")
            if head.id:
                self.nodes.setdefault(head.id, head)

    def _continue(self, node: str) -> Snapshot:
        """Publish a few additions, changes, moves and removals on top of `node`."""
        if node:
            commit(self.workspace, self.nodes[node].manifest)
        change = {path: self.chance.choice([None, *TEXTS]) for path in self.chance.sample(PATHS, 3)}
        return publish_texts(self.workspace, change).snapshot

    @property
    def manifests(self) -> dict[str, Manifest]:
        return {node: snapshot.manifest for node, snapshot in self.nodes.items()}

    def diverged(self) -> Iterator[tuple[str, str]]:
        manifests = self.manifests
        return (pair for pair in combinations(self.nodes, 2) if relation(*pair, manifests) == "diverged")

    def bases(self, one: str, other: str) -> list[Snapshot]:
        return [self.nodes[each] for each in best_common_ancestors(one, other, self.manifests)]


State = tuple[str, str, str | None, str | None]


def states(snapshot: Snapshot) -> dict[str, State]:
    """The plain model of a snapshot: source id → path, state, revision, extraction."""
    rows = [live.row for live in live_by_id(snapshot).values()]
    return {row.source_id: (row.path, row.state, row.revision_id, row.extraction_id) for row in rows}


def place(live: LiveSource) -> tuple[str, int]:
    return live.batch, live.number


def check_pair(workspace: Workspace, first: Snapshot, second: Snapshot, bases: list[Snapshot]) -> Merged:
    merged = merge(first, second, bases)
    again = merge(second, first, bases[::-1])
    assert merged.manifest.encode() == again.manifest.encode()
    assert merged == again
    for each in (first, second):
        assert merge(each, each, [each]) == Merged(each.manifest, ())
    result = Snapshot(workspace.put_manifest(merged.manifest), merged.manifest, workspace.store, workspace.cache)
    assert not list(check_snapshot(result, workspace.store))
    sides = [live_by_id(first), live_by_id(second)]
    for source_id, live in live_by_id(result).items():
        assert place(live) in [place(side[source_id]) for side in sides if source_id in side]
    batches = {each.id for side in (first, second) for each in side.batches}
    assert {each.id for each in result.batches} <= batches
    check_against_model(states(first), states(second), [states(base) for base in bases], states(result), merged)
    return merged


def check_against_model(
    one: dict[str, State],
    other: dict[str, State],
    bases: list[dict[str, State]],
    result: dict[str, State],
    merged: Merged,
) -> None:
    """What a plain three-way merge of dictionaries says. Where criss-crossed bases disagree, it says less."""
    listed = {each.source_id for each in merged.conflicts if not each.note.startswith("two sources have this path")}
    for source_id in one.keys() | other.keys():
        a, b, now = one.get(source_id), other.get(source_id), result.get(source_id)
        before = {base.get(source_id) for base in bases} or {None}
        if a == b:
            assert now == a
            assert source_id not in listed
        elif len(before) > 1:
            assert now in (a, b)
        elif a in before or b in before:
            assert now == (b if a in before else a)
            assert source_id not in listed
        else:
            assert source_id in listed
            assert now is not None and now in (a, b)
    paths = [state[0] for state in result.values()]
    shared = {path for path in paths if paths.count(path) > 1}
    new = {
        path for path in shared if not any([each[0] for each in side.values()].count(path) > 1 for side in (one, other))
    }
    told = {each.path for each in merged.conflicts if each.note.startswith("two sources have this path")}
    assert new <= told <= shared


def check_pairs(cache: Cache, seed: int, pairs: int) -> None:
    """Random histories until `pairs` of their snapshots were merged; some were criss-crossed, some conflicted."""
    chance = random.Random(seed)
    done = crossed = conflicts = 0
    while done < pairs:
        histories = Histories(new_workspace(cache), chance)
        histories.grow(14)
        found = list(histories.diverged())
        for one, other in chance.sample(found, min(len(found), 40, pairs - done)):
            bases = histories.bases(one, other)
            merged = check_pair(histories.workspace, histories.nodes[one], histories.nodes[other], bases)
            done += 1
            crossed += len(bases) > 1
            conflicts += len(merged.conflicts)
    print(f"{done} pairs, {crossed} of them criss-crossed, {conflicts} conflicts")
    assert conflicts


def test_c10_merges_of_random_histories(tmp_path: Path, seed: int) -> None:
    """C10: of 200 pairs of random diverged histories merge(a, b) equals merge(b, a) byte for byte and merge(a, a) is a;
    no row comes from neither side; exactly what both changed differently is listed; the result is whole."""
    check_pairs(Cache(tmp_path / "cache"), seed, 200)


@pytest.mark.nightly
def test_c10_merges_of_many_random_histories(tmp_path: Path, seed: int) -> None:
    """C10: the same of 5,000 pairs."""
    check_pairs(Cache(tmp_path / "cache"), seed, 5_000)


def test_c10_merges_of_bundles_without_a_common_past(tmp_path: Path, seed: int) -> None:
    """C10: two bundles that share no snapshot unite: every source of either is live, and nothing is removed."""
    chance, cache = random.Random(seed), Cache(tmp_path / "cache")
    for _ in range(5):
        one, other = new_workspace(cache), new_workspace(cache)
        for workspace in (one, other, one):
            publish_texts(workspace, {path: chance.choice(TEXTS) for path in chance.sample(PATHS, 4)})
        bring(other, one)
        first, second = one.head(), one.snapshot(other.head().id)
        merged = check_pair(one, first, second, [])
        united = commit(one, merged.manifest)
        assert live_by_id(united).keys() == live_by_id(first).keys() | live_by_id(second).keys()


def test_c10_machines_that_exchange_merges_come_to_rest(tmp_path: Path, seed: int) -> None:
    """C10: two machines that merge each other's head at once make the same snapshot; then nothing is left to merge."""
    chance, cache = random.Random(seed), Cache(tmp_path / "cache")
    here = new_workspace(cache)
    publish_texts(here, {path: chance.choice(TEXTS) for path in PATHS})
    there = clone(here)
    for _ in range(6):
        for workspace in (here, there):
            publish_texts(workspace, {path: chance.choice([None, *TEXTS]) for path in chance.sample(PATHS, 3)})
        one, other = here.head().id, there.head().id
        bring(here, there)
        bring(there, here)
        for workspace in (here, there):
            bases = best_common_ancestors(one, other, {**workspace.ancestors(one), **workspace.ancestors(other)})
            assert len(bases) == 1
            sides = workspace.snapshot(one), workspace.snapshot(other)
            commit(workspace, merge(*sides, [workspace.snapshot(base) for base in bases]).manifest)
        assert relation(here.head().id, there.head().id, {}) == "equal"
        assert relation(one, here.head().id, here.ancestors(here.head().id)) == "behind"
        assert model_of(here.head()) == model_of(there.head())
