"""Copies of one workspace, each with the plain dictionaries that say what it should hold (`support.model`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest

from support.histories import synthetic_extraction
from support.model import Content, Copy, Row, Said, World, merged
from tychora_format.cache import Cache
from tychora_format.invariants import check_batch, check_log, check_snapshot
from tychora_format.manifest import Manifest
from tychora_format.merge import best_common_ancestors, relation
from tychora_format.objects import object_path
from tychora_format.snapshot import Snapshot
from tychora_format.store import Store, open_store
from tychora_format.store.opening import memories
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.evidence import evidence
from tychora_schemas.errors import NotFound
from tychora_schemas.identity import content_sha256

__all__ = ["HASHES", "TEXTS", "Copies", "Expected", "Place", "row_of", "rows_of"]

WORDS = ("wombat", "gecko", "ibex", "lynx", "okapi", "tapir", "quokka")
TEXTS = [f"The {word} sleeps.\n\nWatch it, on page {number}." for number, word in enumerate(WORDS)] + ["\0 unreadable"]
HASHES = {content_sha256(text.encode()): text for text in TEXTS}

Expected: TypeAlias = Mapping[str, set[Row | None]] | Content
"""Per source the row that it should have, or those of which it may have any."""


@dataclass
class Place:
    """A copy of the workspace: its store, who has held it open all the time, and what it should hold."""

    url: str
    store: Store
    workspace: Workspace
    model: Copy = field(default_factory=Copy)
    seen: object = None
    """How the store looked when it was checked last."""


def rows_of(snapshot: Snapshot) -> dict[str, Row]:
    """What a snapshot states, tombstones left out."""
    return {each.row.source_id: row_of(each.row) for each in snapshot.live_sources(hidden=True)}


def row_of(row: SourceRow) -> Row:
    return Row(row.source_id, row.revision_id or "", row.content_sha256 or "", row.path)


class Copies:
    """The copies, what is done to all of them, and what must be true of each."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.world = World()
        self.places: list[Place] = []
        self.sound: set[object] = set()
        """What was looked at and need not be again, as it is immutable."""

    def forget(self) -> None:
        for place in self.places:
            memories.pop(place.url.removeprefix("memory://"), None)

    def new_place(self, fill: Callable[[Store], object]) -> Place:
        url = f"memory://{secrets.token_hex(8)}"
        fill(open_store(url))
        store = open_store(url)
        place = Place(url, store, Workspace.open(store, cache=self.cache))
        self.places.append(place)
        return place

    def place(self, number: int) -> Place:
        return self.places[number % len(self.places)]

    def pair(self, one: int, other: int) -> tuple[Place, Place]:
        """Two different copies."""
        first = one % len(self.places)
        return self.places[first], self.places[first - 1 - other % (len(self.places) - 1)]

    def kept(self, place: Place) -> list[str]:
        """The snapshots that a copy certainly has, oldest first."""
        return [each for each in self.world.order if each in place.model.history - place.model.released]

    def target(self, place: Place, which: int, kind: str) -> str | None:
        """The name of something that is not erased, in a snapshot that is kept."""
        erased = place.model.erased
        rows = [row for row in self.world.rows(self.kept(place)) if erased.isdisjoint(row.names)]
        return str(getattr(rows[which % len(rows)], kind)) if rows else None

    # What must be true.

    def expected(self, origin: Place, before: Copy) -> tuple[Expected, dict[str, Manifest]]:
        """What the destination's head holds after a sync, and all manifests that are known at either place."""
        manifests: dict[str, Manifest] = {}
        for store in (origin.workspace, *(place.workspace for place in self.places if place.model is before)):
            manifests |= {each: store.manifest(each) for each in store.snapshot_ids() if each in self.world.parents}
        one, other = origin.model.head, before.head
        match relation(one, other, manifests):
            case "ahead":
                return self.world.contents[one], manifests
            case "diverged":
                bases = [each for each in best_common_ancestors(one, other, manifests) if each in manifests]
                erased = origin.model.erased | before.erased
                ours, theirs, *common = (self.world.contents[each] for each in (one, other, *bases))
                return merged(ours, theirs, common, erased), manifests
            case _:
                return self.world.contents[other], manifests

    def committed(self, place: Place, snapshot: Snapshot, expected: Expected) -> None:
        """The head of a copy is `snapshot` now; it holds what was expected."""
        model = place.model
        actual = model.recorded(rows_of(snapshot))
        options = {source: each if isinstance(each, set) else {each} for source, each in expected.items()}
        for source in options.keys() | actual.keys():
            allowed = {
                each if each and model.erased.isdisjoint(each.names) else None for each in options.get(source, {None})
            }
            assert actual.get(source) in allowed, f"{source}: {actual.get(source)}, not {allowed}"
        if snapshot.id:
            self.world.learn(snapshot.id, snapshot.manifest.parents, actual)
            assert self.world.contents[snapshot.id].items() >= actual.items()
            model.committed.add(snapshot.id)
        model.head = snapshot.id
        self.settle(place)

    def settle(self, place: Place) -> None:
        """Note all that is in the history of a copy by now."""
        model = place.model
        if model.head:
            brought = set(place.workspace.ancestors(model.head)) - model.released
            assert brought <= self.world.parents.keys()
            model.history |= brought
            model.added |= {*self.world.rows(brought)}

    def absorb(self, place: Place, said: dict[str, Said] | None = None) -> None:
        """Note the statements that came: those of `said`, and erasures of what only erased sources had."""
        model = place.model
        rows = list(self.world.rows(model.history - model.released))
        fresh = [each for each in place.workspace.statements.all() if each.id not in model.said]
        allowed = {each.id: said[each.id] for each in fresh if said and each.id in said}
        gone = model.erased.union(*(each.names for each in (said or {}).values() if each.kind == "erasure"))
        for each in fresh:
            if each.kind == "erasure":
                names = {name for kind in ("sources", "revisions", "contents") for name in each.subject[kind]}
                model.said[each.id] = Said("erasure", frozenset(names))
            elif each.kind == "withdrawal":
                model.said[each.id] = allowed[each.id]
        erased = model.erased
        for row in rows:
            assert erased.isdisjoint(row.names) == gone.isdisjoint(row.names) or not model.erased - gone, row

    def shown(self, snapshot: Snapshot) -> dict[str, Row]:
        return {each.row.source_id: row_of(each.row) for each in snapshot.live_sources()}

    def check_all(self) -> None:
        for place in self.places:
            files = {file.path: file.size for file in place.store.list("")}
            seen = (frozenset(files.items()), place.model.head, tuple(place.model.tags.items()))
            if seen != place.seen:
                self.check(place, files)
                place.seen = seen

    def check(self, place: Place, files: dict[str, int]) -> None:
        model, workspace = place.model, Workspace.open(place.store, cache=self.cache)
        assert not list(check_log(workspace))
        assert (workspace.log.head().snapshot or "") == workspace.head().id == place.workspace.head().id == model.head
        assert workspace.tags.all() == model.tags
        statements = workspace.statements.in_force()
        assert statements.erased == model.erased
        assert statements.withdrawn == model.withdrawn
        assert {model.head, *model.tags.values()} - {""} <= files_of(files), "what is named is not there"
        for snapshot_id in self.world.order:
            if snapshot_id in model.history:
                if snapshot_id in files_of(files):
                    self.check_snapshot(place, workspace.snapshot(snapshot_id), files)
                else:
                    assert snapshot_id in model.released, f"{snapshot_id} is not there"
        self.check_conservation(place)
        self.check_search(place, workspace)

    def check_snapshot(self, place: Place, snapshot: Snapshot, files: dict[str, int]) -> None:
        """It shows what it should, and everything that this takes is there."""
        content = self.world.contents[snapshot.id]
        assert self.shown(snapshot) == place.model.visible(content)
        for batch in snapshot.batches:
            for file in batch.entry.files:
                assert files.get(file.path) == file.size, f"{file.path} is missing"
            if batch.entry.id not in self.sound:
                assert not list(check_batch(batch.entry, place.store, self.cache, snapshot.statements))
                self.sound.add(batch.entry.id)
        for row in place.model.recorded(content).values():
            assert object_path(row.content) in files, f"the original of {row.path} is missing"
        key = (snapshot.id, *(batch.entry.id for batch in snapshot.batches))
        if key not in self.sound:
            assert not list(check_snapshot(snapshot, place.store))
            self.sound.add(key)

    def check_conservation(self, place: Place) -> None:
        """G4: what was ever added is in a kept snapshot, or erased, or dropped by a collection that said so."""
        model = place.model
        erased = model.erased
        present = {*self.world.rows(model.history - model.released)}
        released = {*self.world.rows(model.released)}
        for row in model.added - present:
            assert not erased.isdisjoint(row.names) or row in model.dropped | released, f"{row} is lost"

    def check_search(self, place: Place, workspace: Workspace) -> None:
        """The index finds exactly what is shown, and ids of what is hidden lead nowhere."""
        head = workspace.head()
        if not head.id:
            return
        visible = place.model.visible(self.world.contents[head.id])
        shown = {row.content for row in visible.values()}
        view = head.everything.lexical_view()
        for content, text in HASHES.items():
            for word in {*WORDS} & {*text.split()}:
                hits = view.search([(word, 1.0)], 10)
                assert len(hits) == (content in shown), f"{word} is found {len(hits)} times"
        hidden = [row for row in self.world.contents[head.id].values() if row.source not in visible]
        for row in hidden[:2]:
            with pytest.raises(NotFound):
                evidence(workspace, row.source)
            if row.content not in shown and HASHES[row.content][0] != "\0":
                units = synthetic_extraction(HASHES[row.content].encode()).chunks.column("unit_ids")[0].as_py()
                with pytest.raises(NotFound):
                    evidence(workspace, f"unit_{units[0].hex()}")


def files_of(files: dict[str, int]) -> set[str]:
    """The snapshots whose manifests are among the files."""
    return {path.removeprefix("snapshots/").removesuffix(".json") for path in files if path.startswith("snapshots/")}
