"""Gate G4 and the invariants of every copy, through random sequences of everything that writes to a workspace.

Two or three copies of one workspace live in memory. Whatever happens to them, each holds what plain dictionaries say
(`support.model`); after every step each copy that changed is read from its store again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from copies import HASHES, TEXTS, Copies, Expected, Place, row_of
from support.faulty import Call, Fault, FaultyStore, Script
from support.histories import synthetic_change
from support.model import Content, Copy, Said
from tychora_format.cache import Cache
from tychora_format.merge import relation
from tychora_format.objects import object_path
from tychora_format.staging import Collected, Staged
from tychora_format.store import MemoryStore, Store
from tychora_format.store.opening import memories
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import Workspace
from tychora_functions.copies.packing import pack, unpack
from tychora_functions.copies.sync import sync
from tychora_functions.history.rollback import rollback
from tychora_functions.history.tag import tag, untag
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.compact import compact
from tychora_functions.maintain.erase import erase
from tychora_functions.maintain.withdraw import restore, withdraw
from tychora_functions.publish import Change, publish
from tychora_schemas.errors import NotFound, TychoraError

PATHS = ["a.txt", "b.txt", "c/d.txt", "c/e.txt", "f.txt"]
COPIES = 3
RIVALS = ["publish", "publish", "compact", "collect", "withdraw", "erase"]

copies = st.integers(0, COPIES - 1)
numbers = st.integers(0, 30)
changes = st.dictionaries(st.sampled_from(PATHS), st.sampled_from([*TEXTS, None]), min_size=1, max_size=3)
histories = st.none() | st.integers(0, 3)
kinds = st.sampled_from(["source", "revision", "content"])


def dies_at(number: int, fault: Fault) -> Script:
    """The process is killed at its write `number`: that one fails in some way, and nothing works after it."""
    writes = 0

    def script(call: Call) -> Fault | None:
        nonlocal writes
        writes += call.writes
        if writes < number:
            return None
        return fault if writes == number and call.writes else Fault.ERROR

    return script


class Lives(Copies, RuleBasedStateMachine):
    """Everything that may happen to the copies of a workspace."""

    def __init__(self, cache: Cache) -> None:
        RuleBasedStateMachine.__init__(self)
        Copies.__init__(self, cache)

    @initialize(texts=st.lists(st.sampled_from(TEXTS), min_size=len(PATHS), max_size=len(PATHS)))
    def begin(self, texts: list[str]) -> None:
        place = self.new_place(lambda store: Workspace.create(store, cache=self.cache))
        self.published(place, dict(zip(PATHS, texts, strict=True)))
        self.clone(0)

    def teardown(self) -> None:
        self.forget()

    @invariant()
    def every_copy_holds_what_it_should(self) -> None:
        self.check_all()

    # What people do.

    @rule(number=copies, texts=changes)
    def publish(self, number: int, texts: dict[str, str | None]) -> None:
        self.published(self.place(number), texts)

    @rule(number=copies, which=numbers, path=st.sampled_from(PATHS))
    def move(self, number: int, which: int, path: str) -> None:
        place = self.place(number)
        rows = sorted(place.model.visible(self.world.contents[place.model.head]).values(), key=lambda row: row.path)
        if rows:
            row = rows[which % len(rows)]
            self.published(place, {row.path: None, path: HASHES[row.content]})

    @rule(
        number=copies,
        texts=changes,
        rivals=st.lists(
            st.tuples(
                st.sampled_from(["publish", "publish", "compact", "collect", "withdraw", "erase"]), changes, numbers
            ),
            min_size=1,
            max_size=2,
        ),
    )
    def publish_on_an_old_head(
        self, number: int, texts: dict[str, str | None], rivals: list[tuple[str, dict[str, str | None], int]]
    ) -> None:
        """A writer has looked and staged; rivals are faster."""
        place = self.place(number)

        def meanwhile() -> None:
            for what, others, which in rivals:
                match what:
                    case "publish":
                        self.published(place, others)
                    case "compact":
                        self.compact(number)
                    case "collect":
                        self.collect(number, None)
                    case "withdraw":
                        self.withdraw(number, which, "source")
                    case "erase":
                        self.erase(number, which, "source")

        self.published(place, texts, meanwhile)

    def published(
        self, place: Place, texts: dict[str, str | None], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        staged = Staged(place.workspace)
        change = self.admitted(place, texts)
        meanwhile()
        expected = self.changed(place, change)
        try:
            published = publish(place.workspace, change, {}, staged)
        except Collected:
            note("what was staged was collected")
            self.collected(place, None)
            staged = Staged(place.workspace)
            change = self.admitted(place, texts)
            expected = self.changed(place, change)
            published = publish(place.workspace, change, {}, staged)
        self.committed(place, published.snapshot, expected)

    def admitted(self, place: Place, texts: dict[str, str | None], workspace: Workspace | None = None) -> Change:
        """The change that makes the texts true, without what an add would refuse as erased."""
        while True:
            change = synthetic_change(workspace or place.workspace, texts)
            erased = place.model.erased
            refused = {row.path for row in change.sources if not erased.isdisjoint(row_of(row).names)}
            if not refused:
                return change
            texts = {path: text for path, text in texts.items() if path not in refused}

    def changed(self, place: Place, change: Change) -> Content:
        """What the head holds when the change is made on top of it."""
        content = dict(self.world.contents[place.model.head])
        live = {
            each.row.source_id: (each.batch, each.number) for each in place.workspace.head().live_sources(hidden=True)
        }
        for removed in change.removed:
            if live.get(removed.row.source_id) == (removed.batch, removed.number):
                content.pop(removed.row.source_id, None)
        return content | {row.source_id: row_of(row) for row in change.sources}

    @rule(number=copies)
    def compact(self, number: int) -> None:
        place = self.place(number)
        try:
            compact(place.workspace)
        except Collected:
            self.collected(place, None)
            compact(place.workspace)
        self.committed(place, place.workspace.head(), self.world.contents[place.model.head])

    @rule(number=copies, which=numbers)
    def rollback(self, number: int, which: int) -> None:
        place = self.place(number)
        if kept := self.kept(place):
            target = kept[which % len(kept)]
            rollback(place.workspace, target)
            self.committed(place, place.workspace.head(), self.world.contents[target])

    @rule(number=copies, which=numbers, name=st.sampled_from(["spring", "summer"]))
    def tag(self, number: int, which: int, name: str) -> None:
        place = self.place(number)
        if kept := self.kept(place):
            target = kept[which % len(kept)]
            assert tag(place.workspace, name, target).before == place.model.tags.get(name)
            place.model.tags[name] = target

    @rule(number=copies, name=st.sampled_from(["spring", "summer"]))
    def untag(self, number: int, name: str) -> None:
        place = self.place(number)
        if place.model.tags.pop(name, None):
            untag(place.workspace, name)

    # What is hidden.

    @rule(number=copies, which=numbers, kind=kinds)
    def withdraw(self, number: int, which: int, kind: str) -> None:
        place = self.place(number)
        if target := self.target(place, which, kind):
            report = withdraw(place.workspace, target)
            assert report.made == (target not in place.model.withdrawn)
            if report.made:
                said = Said("withdrawal", frozenset({target}), place.model.standing(target))
                place.model.said[report.statement_id] = said

    @rule(number=copies, which=numbers)
    def restore(self, number: int, which: int) -> None:
        place = self.place(number)
        withdrawn = list(
            dict.fromkeys(name for said in place.model.said.values() if said.kind != "erasure" for name in said.names)
        )
        if not withdrawn:
            return
        target = withdrawn[which % len(withdrawn)]
        try:
            report = restore(place.workspace, target)
        except NotFound:
            known = place.model.recorded({str(n): row for n, row in enumerate(self.world.rows(place.model.history))})
            assert not any(target in row.names for row in known.values())
            return
        assert report.made == (target in place.model.withdrawn)
        if report.made:
            said = Said("restoration", frozenset({target}), place.model.standing(target))
            place.model.said[report.statement_id] = said

    @rule(number=copies, which=numbers, kind=kinds)
    def erase(self, number: int, which: int, kind: str) -> None:
        place = self.place(number)
        target = self.target(place, which, kind)
        if target is None:
            return
        report = erase(place.workspace, target)
        self.absorb(place, {report.statement_id: Said("erasure", frozenset({target}))})
        assert target in place.model.erased
        self.committed(place, place.workspace.head(), self.world.contents[place.model.head])

    # Upkeep and journeys.

    @rule(number=copies, history=histories)
    def collect(self, number: int, history: int | None) -> None:
        self.collected(self.place(number), history)

    def collected(self, place: Place, history: int | None) -> None:
        model = place.model
        report = collect(place.workspace, grace_hours=0, history=history)
        self.absorb(place)
        said = model.released | {*report.snapshots_removed}
        lost = model.history - place.workspace.snapshot_ids()
        assert lost <= said, "a collection did not say what it removed"
        assert model.head not in lost and lost.isdisjoint(model.tags.values())
        if history is None:
            present = place.workspace.snapshot_ids()
            roots = {*model.committed, *model.tags.values()} & present
            assert lost.isdisjoint(self.world.ancestry(roots, model.history - model.released))
        model.dropped |= {*self.world.rows(lost)}
        model.history -= lost
        model.released.clear()
        there = {file.path for file in place.store.list("objects/")}
        for content in model.erased & HASHES.keys():
            assert object_path(content) not in there, "what was erased is still there"

    @precondition(lambda self: len(self.places) < COPIES)
    @rule(number=copies)
    def clone(self, number: int) -> None:
        origin = self.place(number)
        place = self.new_place(lambda store: sync(origin.workspace, store.url, cache=self.cache))
        self.synced(origin, place, Copy(), lambda: None)

    @rule(one=copies, other=copies)
    def sync(self, one: int, other: int) -> None:
        self.bring(*self.pair(one, other))

    @rule(one=copies, other=copies)
    def sync_both_ways(self, one: int, other: int) -> None:
        first, second = self.pair(one, other)
        self.bring(first, second)
        self.bring(second, first)
        assert first.workspace.head().id == second.workspace.head().id
        assert first.model.erased == second.model.erased
        assert first.model.withdrawn == second.model.withdrawn

    def bring(self, origin: Place, place: Place) -> None:
        self.synced(origin, place, place.model, lambda: self.brought(origin, place))

    def brought(self, origin: Place, place: Place) -> None:
        try:
            sync(origin.url, place.url, cache=self.cache)
        except Collected:
            self.absorb(place, origin.model.said)  # statements travel first, and stay
            self.collected(place, None)
            sync(origin.url, place.url, cache=self.cache)

    def synced(self, origin: Place, place: Place, before: Copy, run: Callable[[], None]) -> None:
        """Compare a sync with what a merge of dictionaries says."""
        model = place.model
        expected, manifests = self.expected(origin, before)
        run()
        self.absorb(place, origin.model.said)
        assert origin.model.said.keys() <= model.said.keys()
        self.committed(place, place.workspace.head(), expected)
        reached = self.world.ancestry([origin.model.head], self.kept(origin))
        assert reached - {""} <= model.history, "not all of the history was brought"
        for name, snapshot_id in origin.model.tags.items():
            there = model.tags.get(name)
            if there is None or relation(there, snapshot_id, manifests) == "behind":
                model.tags[name] = snapshot_id

    @precondition(lambda self: any(place.model.head for place in self.places))
    @rule(number=copies, steps=histories, unpacked=st.booleans())
    def pack(self, number: int, steps: int | None, unpacked: bool) -> None:
        origin = self.place(number)
        if not origin.model.head:
            return
        folder = Path(tempfile.mkdtemp(dir=self.cache.directory))
        file = folder / "packed.tychora"
        try:
            report = pack(origin.workspace, file, history=steps)
            self.absorb(origin)
            packed = Workspace.open(PackedStore(file), cache=self.cache)
            assert packed.head().id == report.snapshot_id == origin.model.head
            content = self.world.contents[origin.model.head]
            assert self.shown(packed.head()) == origin.model.visible(content)
            if unpacked and len(self.places) < COPIES:
                unpack(file, folder / "made")
                self.arrived(origin, Workspace.open(folder / "made", cache=self.cache))
        finally:
            shutil.rmtree(folder)

    def arrived(self, origin: Place, made: Workspace) -> None:
        """A packed file came to another machine."""

        def fill(store: Store) -> None:
            for file in made.store.list(""):
                store.write(file.path, made.store.read(file.path))

        place = self.new_place(fill)
        present = made.snapshot_ids()
        place.model = Copy(
            head=origin.model.head,
            history=set(present),
            committed=set(present),
            tags={name: each for name, each in origin.model.tags.items() if each in present},
        )
        place.model.added = {*self.world.rows(present)}
        self.absorb(place, origin.model.said)
        assert origin.model.said.keys() == place.model.said.keys()

    # What goes wrong.

    @rule(
        number=copies,
        other=copies,
        what=st.sampled_from(["publish", "compact", "collect", "collect", "sync", "erase"]),
        texts=changes,
        history=histories,
        which=numbers,
        write=st.integers(1, 25),
        fault=st.sampled_from([Fault.ERROR, Fault.LOST_ANSWER]),
    )
    def crash(
        self,
        number: int,
        other: int,
        what: str,
        texts: dict[str, str | None],
        history: int | None,
        which: int,
        write: int,
        fault: Fault,
    ) -> None:
        """The process dies at a write to the store: what was committed stands, and nothing else is seen."""
        place, origin = self.pair(number, other)
        model = place.model
        expected: Expected = self.world.contents[model.head]
        said: dict[str, Said] = {}
        with self.dying(place, write, fault) as workspace:
            match what:
                case "publish":
                    change = self.admitted(place, texts, place.workspace)
                    expected = self.changed(place, change)
                    run: Callable[[], object] = partial(publish, workspace, change, {})
                case "compact":
                    run = partial(compact, workspace)
                case "collect":
                    run = partial(collect, workspace, grace_hours=0, history=history)
                case "sync":
                    expected, _ = self.expected(origin, model)
                    said = dict(origin.model.said)
                    run = partial(sync, origin.url, place.url, cache=self.cache)
                case "erase" if target := self.target(place, which, "source"):
                    said = {"": Said("erasure", frozenset({target}))}
                    run = partial(erase, workspace, target)
                case _:
                    return
            finished = False
            try:
                run()
                finished = True
            except TychoraError as error:
                note(f"died: {error.message}")
        note("finished" if finished else "")
        opened = Workspace.open(place.store, cache=self.cache)
        model.released |= {
            path.removeprefix("snapshots/").removesuffix(".json")
            for path in opened.collected()
            if path.startswith("snapshots/")
        } & model.history
        self.absorb(place, said)
        newest = opened.log.head().snapshot or ""
        if newest != model.head:
            self.committed(place, opened.snapshot(newest), expected)
        if what == "sync":
            for name, each in opened.tags.all().items():
                assert each in (model.tags.get(name), origin.model.tags.get(name))
                model.tags[name] = each

    @contextmanager
    def dying(self, place: Place, write: int, fault: Fault) -> Iterator[Workspace]:
        name = place.url.removeprefix("memory://")
        faulty = FaultyStore(place.store)
        workspace = Workspace.open(faulty, cache=self.cache)
        faulty.script = dies_at(write, fault)
        memories[name] = faulty  # type: ignore[assignment]
        try:
            yield workspace
        finally:
            assert isinstance(place.store, MemoryStore)
            memories[name] = place.store
            for lease in place.store.list("leases/"):  # so long after that the dead one's count no more
                place.store.delete(lease.path)


def run(folder: Path, seed: int, examples: int, steps: int) -> None:
    cache = Cache(folder / "cache")
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seeded(seed)(lambda: Lives(cache)), settings=chosen)


def test_g4_copies_hold_what_dictionaries_say(tmp_path: Path, seed: int) -> None:
    """G4: sixty random lives of a workspace and its copies, of thirty steps each."""
    run(tmp_path, seed, examples=60, steps=30)


@pytest.mark.nightly
def test_g4_copies_hold_what_dictionaries_say_for_long(tmp_path: Path, seed: int) -> None:
    """G4: the same of five hundred lives of a hundred steps."""
    run(tmp_path, seed, examples=500, steps=100)
