"""Gate H9: manifests, log entries, statements, tags and lists that lie, each whole and sealed as if it were honest.

Whoever can write to a bundle can write such files. Every reader refuses with a typed error or answers what the honest
bundle would; `verify` finds the lie; nobody allocates what a number claims.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.histories import model_of, new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.manifest import snapshot_path
from tychora_format.merge import merge
from tychora_format.sealed import seal, unseal
from tychora_format.store import MemoryStore
from tychora_format.store.opening import memories
from tychora_format.workspace import MARKER, Workspace, collected_path
from tychora_functions.copies.packing import pack
from tychora_functions.copies.sync import sync
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.compact import compact
from tychora_functions.maintain.verify import verify
from tychora_schemas.errors import TychoraError
from tychora_schemas.identity import canonical_json, content_sha256

HUGE = 10**9
LARGEST = 2**53 - 1
"""The largest number that canonical JSON admits."""
MEMORY = 2 << 30
"""Bytes beyond those in use that a lie may take; the honest bundle takes some MB."""
NOWHERE = "ab" * 32
TIME = "2026-11-30T12:00:00.000+00:00"
TEXTS = {"a.txt": "The wombat sleeps.\n\nIt snores.", "b.txt": "A gecko.", "c.txt": "The lynx."}
LATER = {"b.txt": "A gecko, changed.", "d.txt": "An okapi."}
TRUE = {(path, content_sha256(text.encode())) for texts in (TEXTS, LATER) for path, text in texts.items()}
"""All that the honest bundle ever showed: another answer is wrong."""


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Allocations far beyond what the honest bundle needs fail with MemoryError, which is no typed error."""
    resource = pytest.importorskip("resource")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@dataclass
class Forge:
    """A sound bundle of two commits, to which lies are added."""

    workspace: Workspace

    @property
    def store(self) -> MemoryStore:
        assert isinstance(self.workspace.store, MemoryStore)
        return self.workspace.store

    def manifest(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Commit the head's manifest after `change`, under the name that its bytes have."""
        raw = json.loads(self.workspace.head().manifest.encode())
        changed = change(raw)
        data = canonical_json(raw if changed is None else changed)
        self.raw_manifest(data)

    def raw_manifest(self, data: bytes) -> None:
        self.store.write(snapshot_path(content_sha256(data)), data)
        self.entry(snapshot=content_sha256(data))

    def entry(self, at: int | None = None, **members: Any) -> None:
        """Append a log entry that follows the newest, but for `members`."""
        head = self.workspace.log.head()
        number = at or head.newest + 1
        entry = {
            "number": number,
            "snapshot": head.snapshot,
            "previous": head.digest,
            "base": head.number,
            "boundary": head.boundary,
            "collecting": None,
            "write_id": secrets.token_hex(8),
            "time": TIME,
            **members,
        }
        self.store.write(self.workspace.log.sequence.path(number), seal(entry))

    def statement(self, kind: Any, subject: Any, time: str = TIME) -> None:
        number = self.workspace.statements.number() + 1
        payload = {"kind": kind, "subject": subject, "time": time}
        made = {**payload, "id": "statement_" + _identity(payload)}
        self.store.write(self.workspace.statements.sequence.path(number), seal(made))

    def tag(self, name: str, **members: Any) -> None:
        self.store.write(f"tags/{name}.json", seal(members))


def _identity(payload: dict[str, Any]) -> str:
    return content_sha256(b"statement-v1\0" + canonical_json(payload))


def first(raw: dict[str, Any]) -> dict[str, Any]:
    batch: dict[str, Any] = raw["batches"][0]
    return batch


def set_file(member: str, value: Any, name: str = "") -> Callable[[Forge], None]:
    """Every file of the first batch (of that name) is said to be `value`."""

    def change(raw: dict[str, Any]) -> None:
        for file in first(raw)["files"]:
            if file["path"].endswith(name):
                file[member] = value(file[member]) if callable(value) else value

    return lambda forge: forge.manifest(change)


def set_batch(member: str, value: Any) -> Callable[[Forge], None]:
    return lambda forge: forge.manifest(lambda raw: first(raw).update({member: value}))


def set_manifest(member: str, value: Any) -> Callable[[Forge], None]:
    return lambda forge: forge.manifest(lambda raw: raw.update({member: value}))


def set_dead(*ranges: Any) -> Callable[[Forge], None]:
    return lambda forge: forge.manifest(lambda raw: raw["dead"].update({first(raw)["id"]: [*ranges]}))


def drop_files(name: str) -> Callable[[Forge], None]:
    def change(raw: dict[str, Any]) -> None:
        first(raw)["files"] = [file for file in first(raw)["files"] if name not in file["path"]]

    return lambda forge: forge.manifest(change)


def change(edit: Callable[[dict[str, Any]], Any]) -> Callable[[Forge], None]:
    return lambda forge: forge.manifest(edit)


def repeat_batch(raw: dict[str, Any]) -> None:
    raw["batches"].append(first(raw))


def share_tag(raw: dict[str, Any]) -> None:
    raw["batches"][1]["tag"] = first(raw)["tag"]


def swap_files(raw: dict[str, Any]) -> None:
    raw["batches"][0]["files"], raw["batches"][1]["files"] = raw["batches"][1]["files"], raw["batches"][0]["files"]


def swap_bytes(raw: dict[str, Any]) -> None:
    """Files of one batch are said to have the bytes of another's."""
    for one, other in zip(raw["batches"][0]["files"], raw["batches"][1]["files"], strict=False):
        one["size"], one["sha256"] = other["size"], other["sha256"]


def pose_as_other(raw: dict[str, Any]) -> None:
    raw["batches"][0]["id"] = "batch_" + NOWHERE


def many_files(raw: dict[str, Any]) -> None:
    prefix = f"batches/{first(raw)['id']}/vectors/x"
    first(raw)["files"] += [{"path": f"{prefix}/{n}.lance", "size": 1, "sha256": NOWHERE} for n in range(20_000)]


def cycle(forge: Forge) -> None:
    """The parent's manifest is said to descend from the child: its name cannot be its hash any more."""
    head = forge.workspace.head()
    parent = head.manifest.parents[0]
    raw = json.loads(forge.store.read(snapshot_path(parent)))
    raw["parents"] = [head.id]
    forge.store.write(snapshot_path(parent), canonical_json(raw))


def own_parent(forge: Forge) -> None:
    head = forge.workspace.head()
    raw = json.loads(head.manifest.encode())
    raw["parents"] = [head.id]
    forge.store.write(snapshot_path(head.id), canonical_json(raw))


def foreign_object(forge: Forge) -> None:
    live = forge.workspace.head().live_sources()[0].row
    path = f"objects/{(live.content_sha256 or '')[:2]}/{live.content_sha256}"
    forge.store.write(path, b"Something else of the sa"[: live.size].ljust(live.size))


def lost_object(forge: Forge) -> None:
    live = forge.workspace.head().live_sources()[0].row
    forge.store.delete(f"objects/{(live.content_sha256 or '')[:2]}/{live.content_sha256}")


def replayed(forge: Forge) -> None:
    """An old entry again, byte for byte, under the next number."""
    sequence = forge.workspace.log.sequence
    forge.store.write(sequence.path(sequence.newest() + 1), sequence.read(1))


def renumbered(forge: Forge) -> None:
    """An old entry again, sealed anew with the next number."""
    sequence = forge.workspace.log.sequence
    old = unseal(sequence.read(1), "")
    forge.store.write(sequence.path(sequence.newest() + 1), seal({**old, "number": sequence.newest() + 1}))


def foreign_snapshot(forge: Forge) -> None:
    """The log names the snapshot of another workspace, whose manifest was slipped in without its batches."""
    other = new_workspace(forge.workspace.cache)
    foreign = publish_texts(other, {"x.txt": "Foreign."}).snapshot
    forge.raw_manifest(foreign.manifest.encode())


def replacement(edit: Callable[[dict[str, Any], dict[str, Any]], None]) -> Callable[[Forge], None]:
    """The first batch is said to be replaced by its own entry after `edit(entry, manifest)`."""

    def lie(forge: Forge) -> None:
        raw = json.loads(forge.workspace.head().manifest.encode())
        entry, batch = dict(first(raw)), first(raw)["id"]
        edit(entry, raw)
        forge.statement("replacement", {"batch": batch, "entry": entry, "erasures": []})

    return lie


def stated(kind: str, subject: Any, time: str = TIME) -> Callable[[Forge], None]:
    return lambda forge: forge.statement(kind, subject, time)


def doomed(paths: Any) -> Callable[[Forge], None]:
    """An open collection lists `paths`."""

    def lie(forge: Forge) -> None:
        data = seal({"paths": paths})
        forge.store.write(collected_path(content_sha256(data)), data)
        head = forge.workspace.log.head()
        forge.entry(collecting=content_sha256(data), boundary=head.newest + 1)

    return lie


def marker(**members: Any) -> Callable[[Forge], None]:
    def lie(forge: Forge) -> None:
        forge.store.write(MARKER, seal({**unseal(forge.store.read(MARKER), MARKER), **members}))

    return lie


LIES: dict[str, Callable[[Forge], None]] = {
    "sizes one more": set_file("size", lambda size: size + 1),
    "sizes of nothing": set_file("size", 0),
    "sizes of a petabyte": set_file("size", LARGEST),
    "sizes below nothing": set_file("size", -1),
    "sizes that are no numbers": set_file("size", "many"),
    "hashes of nothing": set_file("sha256", content_sha256(b"")),
    "hashes that are none": set_file("sha256", "zz"),
    "files outside the folder": set_file("path", lambda path: f"../{path}"),
    "absolute files": set_file("path", "/etc/passwd"),
    "files that climb": set_file("path", "batches/../../x"),
    "files of the log": set_file("path", "log/main/00000000000000000001.json"),
    "files of the marker": set_file("path", MARKER),
    "files of another batch": change(swap_files),
    "bytes of another batch": change(swap_bytes),
    "no files": set_batch("files", []),
    "no table of sources": drop_files("sources.parquet"),
    "no table of extractions": drop_files("extractions.parquet"),
    "no units": drop_files("units.parquet"),
    "no text": drop_files("chunks.arrow"),
    "no index": drop_files("lexical"),
    "20,000 files that are not there": change(many_files),
    "a batch twice": change(repeat_batch),
    "two batches of one tag": change(share_tag),
    "another batch's name": change(pose_as_other),
    "a billion rows": set_batch("rows", HUGE),
    "four billion rows": set_batch("rows", 2**32 - 1),
    "too many rows for a number": set_batch("rows", 2**40),
    "no rows": set_batch("rows", 0),
    "rows below nothing": set_batch("rows", -1),
    "a billion sources": set_batch("sources", HUGE),
    "no sources": set_batch("sources", 0),
    "sources below nothing": set_batch("sources", -5),
    "another tag": set_batch("tag", 7),
    "another Merkle root": set_batch("merkle_root", NOWHERE),
    "vectors that are not there": set_batch("families", {"wordllama-256": 3}),
    "a billion dead rows": set_dead([0, HUGE]),
    "dead rows up to the end of numbers": set_dead([0, LARGEST]),
    "dead rows beyond all sources": set_dead([HUGE, HUGE + 1]),
    "dead rows below nothing": set_dead([-3, 1]),
    "dead rows backwards": set_dead([2, 1]),
    "dead rows that overlap": set_dead([0, 2], [1, 3]),
    "all rows dead": set_dead([0, 3]),
    "dead rows of a batch that is not listed": set_manifest("dead", {"batch_" + NOWHERE: [[0, 1]]}),
    "no dead rows": set_manifest("dead", {}),
    "another content root": set_manifest("content_root", NOWHERE),
    "no batches": set_manifest("batches", []),
    "batches that are none": set_manifest("batches", {"a": 1}),
    "a time that is none": set_manifest("time", "yesterday"),
    "no format": set_manifest("format", None),
    "format 0": set_manifest("format", 0),
    "a later format": set_manifest("format", 99),
    "a feature that nobody knows": set_manifest("features", ["telepathy"]),
    "features that are none": set_manifest("features", [{"a": 1}]),
    "parents that are none": set_manifest("parents", ["../../x"]),
    "a cycle of parents": cycle,
    "its own parent": own_parent,
    "no JSON": lambda forge: forge.raw_manifest(b"\xff\x00"),
    "deep JSON": lambda forge: forge.raw_manifest(b'{"format":2,"batches":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a list": lambda forge: forge.raw_manifest(b"[]"),
    "an endless number": lambda forge: forge.raw_manifest(b'{"format":' + b"9" * 5000 + b"}"),
    "an original of other bytes": foreign_object,
    "an original that is gone": lost_object,
    "an entry replayed": replayed,
    "an entry renumbered": renumbered,
    "an entry that names nothing": lambda forge: forge.entry(snapshot=NOWHERE),
    "an entry that names no hash": lambda forge: forge.entry(snapshot="../../x"),
    "an entry that names another workspace's": foreign_snapshot,
    "an entry far ahead": lambda forge: forge.entry(at=LARGEST),
    "an entry of number 0": lambda forge: forge.entry(number=0),
    "an entry based on the future": lambda forge: forge.entry(base=LARGEST),
    "an entry based on less than nothing": lambda forge: forge.entry(base=-1),
    "an entry that continues nothing": lambda forge: forge.entry(previous=NOWHERE),
    "an entry of no time": lambda forge: forge.entry(time="soon"),
    "an entry of a boundary in the future": lambda forge: forge.entry(boundary=LARGEST),
    "a collection without its list": lambda forge: forge.entry(collecting=NOWHERE, boundary=3),
    "a list of no paths": doomed([1, None]),
    "a list that is none": doomed("abc"),
    "a list of files outside": doomed(["../../x", "/etc/passwd"]),
    "a replacement of nothing": replacement(lambda entry, raw: entry.update(files=[])),
    "a replacement of other bytes": replacement(lambda entry, raw: entry.update(raw["batches"][1])),
    "a replacement of a billion rows": replacement(lambda entry, raw: entry.update(rows=HUGE)),
    "a replacement of fewer sources": replacement(lambda entry, raw: entry.update(sources=1)),
    "a replacement whose sizes lie": replacement(
        lambda entry, raw: entry.update(files=[{**file, "size": 1} for file in entry["files"]])
    ),
    "a replacement that is none": stated("replacement", {"batch": "batch_" + NOWHERE, "entry": 5}),
    "a statement of another kind": stated("coronation", {}),
    "a statement that replaces lists": stated("withdrawal", {"replaces": [[1]], "target": "source_x"}),
    "a statement of no time": stated("withdrawal", {"target": "source_x"}, "never"),
    "an erasure of no list": stated("erasure", {"sources": "all"}),
    "an erasure of numbers": stated("erasure", {"contents": [1, 2]}),
    "a statement that is a list": stated("policy", []),
    "a tag to nowhere": lambda forge: forge.tag("spring", snapshot=NOWHERE),
    "a tag to no hash": lambda forge: forge.tag("spring", snapshot="../../log/main/00000000000000000001"),
    "a tag to nothing": lambda forge: forge.tag("spring"),
    "a tag to a number": lambda forge: forge.tag("spring", snapshot=5),
    "a marker of a later format": marker(format=99),
    "a marker of a feature that nobody knows": marker(features=["telepathy"]),
    "a marker of another name": marker(name="other"),
    "a marker without an id": marker(workspace_id=None),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("lies") / "cache")


@pytest.fixture(scope="module")
def honest(cache: Cache) -> Workspace:
    workspace = new_workspace(cache)
    publish_texts(workspace, TEXTS)
    publish_texts(workspace, LATER)
    return workspace


def readers(store: MemoryStore, honest: Workspace, folder: Path) -> dict[str, Callable[[], object]]:
    """Everything that reads a bundle; each answers the truth, or raises."""
    cache = Cache(folder / "cache")

    def opened() -> Workspace:
        return Workspace.open(store, cache=cache)

    def answer() -> None:
        assert model_of(opened().head()).items() <= TRUE

    def search() -> None:
        snapshot = opened().head()
        parts = [batch for batch in snapshot.batches if batch.rows]
        for hit in snapshot.everything.lexical_view().search([("gecko", 1.0)], 10):
            assert "gecko" in parts[hit.part].chunks([hit.row])[0].text

    def tagged() -> None:
        workspace = opened()
        for name in workspace.tags.all():
            assert workspace.resolve(name).id in honest.snapshot_ids()

    def synced() -> None:
        name = secrets.token_hex(8)
        try:
            sync(opened(), f"memory://{name}", cache=cache)
            assert model_of(Workspace.open(memories[name], cache=cache).head()).items() <= TRUE
        finally:
            memories.pop(name, None)

    def merged() -> None:
        workspace, head = opened(), honest.head()
        lying = workspace.snapshot(workspace.log.head().snapshot or "")
        for one, other in ((lying, head), (head, lying)):
            merge(one, other, [])

    def written() -> Workspace:
        return Workspace.open(copy_of(store), cache=cache)

    return {
        "answer": answer,
        "search": search,
        "history": lambda: opened().lineage(),
        "tags": tagged,
        "sync": synced,
        "pack": lambda: pack(opened(), folder / "lie.tychora"),
        "merge": merged,
        "publish": lambda: publish_texts(written(), {"z.txt": "Something new."}),
        "compact": lambda: compact(written()),
        "collect": lambda: collect(written(), grace_hours=0),
    }


def copy_of(store: MemoryStore) -> MemoryStore:
    copy = MemoryStore(secrets.token_hex(8))
    for file in store.list(""):
        copy.write(file.path, store.read(file.path))
    return copy


@pytest.mark.parametrize("lie", LIES)
def test_h9_a_lie_is_refused(lie: str, honest: Workspace, tmp_path: Path) -> None:
    """H9: every reader refuses with a typed error or tells the truth, and `verify` finds the lie."""
    assert isinstance(honest.store, MemoryStore)
    store = copy_of(honest.store)
    forge = Forge(Workspace(store, honest.marker, honest.cache))
    LIES[lie](forge)
    told = []
    with bounded_memory():
        for name, read in readers(store, honest, tmp_path).items():
            try:
                read()
            except TychoraError as error:
                told.append(f"{name}: {type(error).__name__}: {error.message[:100]}")
            except Exception as error:
                pytest.fail(f"{name}: {type(error).__name__}: {str(error)[:300]}")
        try:
            found = not verify(Workspace.open(store, cache=Cache(tmp_path / "verifying"))).ok
        except TychoraError:
            found = True
    print(*told, sep="\n")
    assert found, "verify does not find it"
