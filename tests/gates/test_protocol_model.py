"""An exhaustive look at commit and collection together: every order of the steps of three writers, collectors and a
reader, with a crash at any point, a lost answer, and a writer that sleeps as long as it likes.

The rules that decide are the real ones: `Log.head` and `Log.is_void` over real entries, and `Staged.require`. What is
modelled is who does which storage call after which. One content, `a`, is added by two writers and removed by a third;
at the start it lies there as an orphan, so that writers find it and count on it. Manifests are files too.

    modelled step        what does it in the code
    Writer.begin         Staged(workspace), before anything is staged
    Writer.stage         Objects.put and Workspace.put_files, which skip or repeat what is there
    Writer.look          Log.commit: self.head()
    Writer.check         Log.commit: build(head), with publish's staged.require
    Writer.create        Log.commit: sequence.create, which reads back when the answer is lost, and is_void
    Collector.list       Collection.__init__
    Collector.look       open_collection: propose(head), with Collection.garbage
    Collector.create     Log.commit as above
    Collector.spare      Collection.spared
    Collector.delete     remove: manifests first
    Collector.close      close_collection
    Reader               Log.head, leases.hold, then the manifest and the files that it names
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from tychora_format.log import Head, Log, LogEntry
from tychora_format.staging import Collected, Staged
from tychora_format.store import MemoryStore
from tychora_schemas.identity import content_sha256

CONTENT = "a"
Files = frozenset[str]
GRANTED: Files = frozenset()


@dataclass(frozen=True, slots=True)
class Entry:
    """A log entry of the model; its number is its place in the log, from 1."""

    by: str
    base: int
    boundary: int
    collecting: Files | None
    holds: Files
    manifest: str

    @property
    def needs(self) -> Files:
        return self.holds | {self.manifest}


Entries = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Writer:
    """`begun` and `seen` are how long the log was when the writer began to stage, and when it last read the head."""

    adds: bool
    at: str = "begin"
    begun: int = 0
    seen: int = 0
    made: int = 0

    def done(self, made: int = 0) -> Writer:
        """At its end, or dead; `made` is the entry that it was told to have committed."""
        return Writer(self.adds, "done", made=made)


@dataclass(frozen=True, slots=True)
class Collector:
    at: str = "idle"
    runs: int = 1
    listed: Files = GRANTED
    seen: int = 0
    doomed: Files = GRANTED
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    at: str = "head"
    number: int = 0
    leased: bool = False
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    log: Entries
    files: Files
    writers: tuple[Writer, ...]
    collector: Collector
    reader: Reader
    crashes: int
    lost_answers: int


class ForgetfulStaged(Staged):
    """Knows of the last collection by its boundary only, not whether it was open when the staging began."""

    def require(self, head: Head, files: Mapping[str, int]) -> None:
        if head.boundary != self.known[0] or head.collecting is not None:
            super().require(head, files)


class CarelessStaged(Staged):
    """Counts on whatever it has staged."""

    def require(self, head: Head, files: Mapping[str, int]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Rules:
    """The protocol, or one rule less. `history` is whether all of it is kept; else the newest state only."""

    history: bool = True
    boundary: bool = True
    staged: type[Staged] = Staged
    list_of_the_head: bool = True
    closes_last: bool = True
    looks_again: bool = True
    manifests_first: bool = True
    late_manifests_keep_their_files: bool = True


@cache
def real_log(entries: Entries) -> Log:
    """The log of the product, over real bytes that say what the model's entries say."""
    store = MemoryStore("model")
    log = Log(store)
    previous = None
    for number, entry in enumerate(entries, start=1):
        data = LogEntry(
            number=number,
            snapshot=content_sha256(entry.manifest.encode()),
            previous=previous,
            base=entry.base,
            boundary=entry.boundary,
            collecting=digest(entry.collecting),
            write_id=entry.by,
            time="2026-01-01T00:00:00.000+00:00",
        ).encode()
        previous = content_sha256(data)
        assert log.sequence.create(number, data)
    return log


@cache
def head_of(entries: Entries) -> Head:
    return real_log(entries).head()


@cache
def is_void(entries: Entries, number: int) -> bool:
    log = real_log(entries)
    return log.is_void(log.entry(number))


LISTS: dict[str, Files] = {}


def digest(paths: Files | None) -> str | None:
    if paths is None:
        return None
    name = content_sha256(repr(sorted(paths)).encode())
    LISTS[name] = paths
    return name


def workspace_of(entries: Entries, files: Files) -> Any:
    """As much of a workspace as `Staged` asks for. Every file has the size 1."""
    return SimpleNamespace(
        log=SimpleNamespace(head=lambda: head_of(entries)),
        doomed=lambda name: frozenset() if name is None else LISTS[name],
        store=SimpleNamespace(size=lambda path: 1 if path in files else None),
    )


class Violation(AssertionError):
    """The model reached a state that must not be."""


class Model:
    """All steps that anybody can take from a state."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def head(self, log: Entries) -> tuple[int, Entry]:
        """The newest entry that counts, as readers of these rules see it."""
        number = head_of(log).number if self.rules.boundary else len(log)
        return number, log[number - 1]

    def valid(self, log: Entries) -> list[int]:
        return [number for number in range(1, len(log) + 1) if not self.rules.boundary or not is_void(log, number)]

    def reach(self, log: Entries, reader: Reader) -> Files:
        """What a collector keeps on top of this log."""
        kept = set(self.valid(log)) if self.rules.history else {self.head(log)[0]}
        if reader.leased:
            kept.add(reader.number)
        return frozenset().union(*(log[number - 1].needs for number in kept))

    def steps(self, state: State) -> Iterator[State]:
        for place, writer in enumerate(state.writers):
            for log, files, changed, lost in self.write(state, writer, f"writer {place}"):
                writers = (*state.writers[:place], changed, *state.writers[place + 1 :])
                yield replace(state, log=log, files=files, writers=writers, lost_answers=state.lost_answers - lost)
            if state.crashes and writer.at != "done":
                writers = (*state.writers[:place], writer.done(), *state.writers[place + 1 :])
                yield replace(state, writers=writers, crashes=state.crashes - 1)
        yield from self.collect(state)
        if state.crashes and state.collector.at != "idle":
            # Its lease runs out, and the next collector comes.
            yield replace(state, collector=Collector(runs=state.collector.runs), crashes=state.crashes - 1)
        yield from self.read(state)

    def write(self, state: State, writer: Writer, name: str) -> Iterator[tuple[Entries, Files, Writer, int]]:
        log, files = state.log, state.files
        match writer.at:
            case "begin":
                then = "stage" if writer.adds else "look"
                yield log, files, replace(writer, at=then, begun=len(log)), 0
            case "stage":
                yield log, files | {CONTENT}, replace(writer, at="look"), 0
            case "look":
                _, head = self.head(log)
                nothing_to_do = (CONTENT in head.holds) == writer.adds
                yield log, files, writer.done() if nothing_to_do else replace(writer, at="check", seen=len(log)), 0
            case "check":
                try:
                    if writer.adds:
                        self.require(state, writer)
                    yield log, files, replace(writer, at="create"), 0
                except Collected:
                    yield log, files, replace(writer, at="begin", begun=0, seen=0), 0
            case "create":
                yield from self.create(state, writer, name)

    def require(self, state: State, writer: Writer) -> None:
        staged = self.rules.staged(workspace_of(state.log[: writer.begun], state.files))
        staged.workspace = workspace_of(state.log, state.files)
        staged.require(head_of(state.log[: writer.seen]), {CONTENT: 1})

    def create(self, state: State, writer: Writer, name: str) -> Iterator[tuple[Entries, Files, Writer, int]]:
        """Create the entry after the one that was the newest when the head was read; asleep until then, perhaps."""
        log, files = state.log, state.files
        base, head = self.head(log[: writer.seen])
        entry = Entry(
            by=name,
            base=base,
            boundary=head.boundary,
            collecting=head.collecting,
            holds=head.holds | {CONTENT} if writer.adds else head.holds - {CONTENT},
            manifest=f"m{len(log) + 1}",
        )
        if len(log) == writer.seen:
            number = len(log) + 1
            told = writer.done(number)
            if self.rules.boundary and is_void((*log, entry), number):
                told = replace(writer, at="look")
            for lost in (0, 1) if state.lost_answers else (0,):
                # Whoever misses an answer reads the entry back and finds its own: the outcome is the same.
                yield (*log, entry), files | {entry.manifest}, told, lost
        else:
            yield log, files, replace(writer, at="look"), 0
            if any(each.boundary > base for each in log[writer.seen :]):
                # A writer that takes the next free number for a work that is older than a collection. It wakes once.
                yield (*log, entry), files | {entry.manifest}, writer.done(), 0

    def collect(self, state: State) -> Iterator[State]:
        log, files, collector = state.log, state.files, state.collector

        def now(at: str, **changes: Any) -> State:
            return replace(state, collector=replace(collector, at=at, **changes))

        match collector.at:
            case "idle" if collector.runs:
                yield now("look", runs=collector.runs - 1, listed=files)
            case "look":
                _, head = self.head(log)
                if head.collecting is not None:
                    yield now("spare", doomed=head.collecting, listed=GRANTED)
                    return
                doomed = collector.listed - self.reach(log, state.reader)
                if self.rules.late_manifests_keep_their_files:
                    late = [each for each in log if each.manifest in files - collector.listed]
                    doomed -= frozenset().union(*(each.needs for each in late))
                yield now("create" if doomed else "idle", seen=len(log), doomed=doomed)
            case "create":
                base, head = self.head(log[: collector.seen])
                if len(log) != collector.seen and self.rules.list_of_the_head:
                    yield now("look")
                    return
                if len(log) != collector.seen:
                    base, head = self.head(log)  # the list stays that of the older head
                number = len(log) + 1
                entry = Entry("collector", base, number, collector.doomed, head.holds, head.manifest)
                after = replace(state, log=(*log, entry))
                yield replace(after, collector=replace(collector, at="spare", listed=GRANTED, seen=0))
                if state.lost_answers:
                    # It cannot tell, gives up, and the next collector finds the open collection.
                    idle = Collector(runs=collector.runs)
                    yield replace(after, collector=idle, lost_answers=state.lost_answers - 1)
            case "spare":
                spared = self.reach(log, state.reader) if self.rules.looks_again else GRANTED
                first = "m" if self.rules.manifests_first else CONTENT
                doomed = sorted(collector.doomed - spared, key=lambda path: (path[0] != first, path))
                yield now("delete" if self.rules.closes_last else "close", left=tuple(doomed))
            case "delete":
                if collector.left:
                    remaining = replace(collector, left=collector.left[1:])
                    yield replace(state, files=files - {collector.left[0]}, collector=remaining)
                else:
                    yield now("close") if self.rules.closes_last else now("idle", doomed=GRANTED)
            case "close":
                yield now("closing", seen=len(log))
            case "closing":
                if len(log) != collector.seen:
                    yield now("close")
                    return
                base, head = self.head(log)
                entry = Entry("collector", base, head.boundary, None, head.holds, head.manifest)
                after = "idle" if self.rules.closes_last else "delete"
                changed = replace(collector, at=after, seen=0, doomed=GRANTED)
                yield replace(state, log=(*log, entry), collector=changed)

    def read(self, state: State) -> Iterator[State]:
        log, reader = state.log, state.reader
        match reader.at:
            case "head":
                number, entry = self.head(log)
                left = (entry.manifest, *sorted(entry.holds))
                yield replace(state, reader=Reader("read" if self.rules.history else "lease", number, left=left))
            case "lease":
                yield replace(state, reader=replace(reader, at="look", leased=True))
            case "look":
                _, head = self.head(log)
                manifest = log[reader.number - 1].manifest
                gone = manifest in (head.collecting or ()) or manifest not in state.files
                yield replace(state, reader=Reader("done") if gone else replace(reader, at="read"))
            case "read" if reader.left:
                if reader.left[0] not in state.files:
                    raise Violation(f"a reader of entry {reader.number} misses {reader.left[0]}")
                yield replace(state, reader=replace(reader, left=reader.left[1:]))
            case "read":
                yield replace(state, reader=Reader("done"))

    def check(self, state: State) -> None:
        """What is true of every state."""
        valid = self.valid(state.log)
        for number in valid:
            entry = state.log[number - 1]
            stays = self.rules.history or number == valid[-1] or entry.manifest in state.files
            if stays and (lacking := entry.needs - state.files):
                raise Violation(f"entry {number} counts, and misses {sorted(lacking)}")
        for writer in state.writers:
            if writer.made and writer.made not in valid:
                raise Violation(f"a writer was told that entry {writer.made} is committed, and it is void")
            if writer.made and any(state.log[later - 1].base < writer.made for later in valid if later > writer.made):
                raise Violation(f"what entry {writer.made} changed is lost")


def explore(rules: Rules, *, writers: int = 3, runs: int = 2, crashes: int = 1, lost_answers: int = 1) -> int:
    """Visit every state that can be reached; returns how many. Raises Violation at the first bad one."""
    first = Entry("the past", 0, 0, None, frozenset(), "m1")
    start = State(
        log=(first,),
        files=frozenset({"m1", CONTENT}),
        writers=(Writer(True), Writer(True), Writer(False))[:writers]
        if writers != 2
        else (Writer(True), Writer(False)),
        collector=Collector(runs=runs),
        reader=Reader(),
        crashes=crashes,
        lost_answers=lost_answers,
    )
    model = Model(rules)
    before: dict[State, State | None] = {start: None}
    waiting = deque([start])
    while waiting:
        former = waiting.popleft()
        try:
            for state in model.steps(former):
                if state not in before:
                    before[state] = former
                    model.check(state)
                    waiting.append(state)
        except Violation as violation:
            raise Violation(f"{violation}\n{story(before, state)}") from None
    return len(before)


def story(before: dict[State, State | None], state: State | None) -> str:
    """The states that lead to a violation, one a line."""
    lines = []
    while state is not None:
        log = " ".join(f"{each.by[0]}{each.by[-1]}<{each.base}" + "!" * bool(each.collecting) for each in state.log)
        who = [f"{writer.at} {writer.begun} {writer.seen}" for writer in state.writers]
        lines.append(f"[{log}] {sorted(state.files)} {who} {state.collector} {state.reader.at}")
        state = before[state]
    return "\n".join(reversed(lines))


@pytest.mark.parametrize("history", [True, False], ids=["all of history", "the newest state"])
def test_two_writers_and_a_collection(history: bool) -> None:
    """No order of steps, no crash and no lost answer leads to a reader that misses a file, a writer that was told a
    success that is none, or a commit that counts and is incomplete."""
    assert explore(Rules(history=history), writers=2, runs=1) > 5_000


@pytest.mark.nightly
@pytest.mark.parametrize("history", [True, False], ids=["all of history", "the newest state"])
def test_two_collections_after_each_other(history: bool) -> None:
    """The same with a second collection, which also finishes what a first one left."""
    assert explore(Rules(history=history), writers=2, runs=2) > 40_000


@pytest.mark.nightly
@pytest.mark.parametrize("history", [True, False], ids=["all of history", "the newest state"])
def test_three_writers_and_a_collection(history: bool) -> None:
    """The same with three writers, of whom two add the same content."""
    assert explore(Rules(history=history), writers=3, runs=1) > 100_000


@pytest.mark.parametrize(
    ("rules", "writers", "runs"),
    [
        (Rules(boundary=False), 1, 1),
        (Rules(staged=CarelessStaged), 1, 1),
        (Rules(staged=ForgetfulStaged), 1, 2),
        (Rules(list_of_the_head=False, looks_again=False), 1, 1),
        (Rules(closes_last=False), 1, 1),
        (Rules(history=False, looks_again=False), 2, 1),
        (Rules(history=False, manifests_first=False), 2, 1),
        (Rules(history=False, late_manifests_keep_their_files=False), 2, 1),
    ],
    ids=[
        "void entries count",
        "writers do not look for what they count on",
        "writers do not note that a collection was open when they began",
        "the list is that of an older head, and not looked at again",
        "a collection is closed before it removes",
        "leases taken meanwhile are not heeded",
        "files go before the manifests that name them",
        "a manifest that stays does not keep its files",
    ],
)
def test_no_rule_can_be_left_out(rules: Rules, writers: int, runs: int) -> None:
    """With any of the rules gone, there is an order of steps that ends badly, and the model finds it."""
    with pytest.raises(Violation):
        explore(rules, writers=writers, runs=runs)
