"""Gate H4, the readers of a bundle's own files: whatever the bytes, a value or a typed error, and soon.

Two kinds of bytes: real files with bytes altered, cut, repeated; and real files whose JSON says something else, sealed
anew, so that what lies behind the checksum is met.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from support.histories import new_workspace, publish_texts, synthetic_extraction
from tychora_format.cache import Cache
from tychora_format.collection import Collection, open_collection
from tychora_format.log import Log
from tychora_format.manifest import Manifest
from tychora_format.packed.pack import pack
from tychora_format.proof import check_proof, encode_proof
from tychora_format.sealed import seal
from tychora_format.statements import Statement, in_force
from tychora_format.store import MemoryStore
from tychora_format.store.packed import PackedStore
from tychora_format.tags import Tags
from tychora_format.workspace import MARKER, Workspace, collected_path
from tychora_functions.maintain.erase import erase
from tychora_functions.maintain.withdraw import withdraw
from tychora_functions.proving import prove
from tychora_schemas.errors import TychoraError
from tychora_schemas.identity import canonical_json, content_sha256, identity

CHECK = 250
NIGHTLY = 20_000
HANGS = timedelta(seconds=10)
"""What no reader may take for one small file."""

TEXT = "The wombat sleeps.\n\nIt snores."


@dataclass(frozen=True)
class Kind:
    """A kind of file: a real one, and what reads such bytes."""

    path: str
    data: bytes
    read: Callable[[bytes], object]
    sealed: bool = False


def kept_in(store: MemoryStore, path: str, read: Callable[[MemoryStore], object]) -> Callable[[bytes], object]:
    """A reader that looks for the bytes at `path` among the other files of the bundle."""

    def reader(data: bytes) -> object:
        before = store.read(path)
        store.write(path, data)
        try:
            return read(store)
        finally:
            store.write(path, before)

    return reader


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kind]:
    """A bundle with a file of every kind."""
    folder = tmp_path_factory.mktemp("fuzz")
    cache = Cache(folder / "cache")
    workspace = new_workspace(cache)
    store = workspace.store
    assert isinstance(store, MemoryStore)
    head = publish_texts(workspace, {"a.txt": TEXT, "b.txt": "A gecko."}).snapshot
    workspace.tags.put("spring", head.id)
    packed, forged = folder / "real.tychora", folder / "forged.tychora"
    pack(workspace, packed)
    unit = synthetic_extraction(TEXT.encode()).chunks.column("unit_ids")[0].as_py()[0]
    proof = prove(workspace, f"unit_{unit.hex()}")
    withdraw(workspace, "a.txt")
    erase(workspace, "b.txt")
    workspace.objects.put(content_sha256(b"garbage"), b"garbage")
    opened = open_collection(workspace, Collection(workspace, grace=0))
    assert opened is not None
    newest = max(workspace.statements.sequence.numbers())

    def unpacked(data: bytes) -> object:
        forged.write_bytes(data)
        there = Workspace.open(PackedStore(forged), cache=cache)
        return [there.log.history(), there.head().live_sources(), there.statements.all(), there.tags.all()]

    def stated(data: bytes) -> object:
        return in_force([Statement.decode(data, "statements/1.json")], 1)

    def listed(data: bytes) -> object:
        digest = content_sha256(data)
        store.write(collected_path(digest), data)
        try:
            return sorted(workspace.doomed(digest))
        finally:
            if digest != opened[0]:
                store.delete(collected_path(digest))

    def logged(there: MemoryStore) -> object:
        log = Log(there)
        return log.head(), log.history()

    first = workspace.log.sequence.path(1)
    made = [
        Kind(MARKER, store.read(MARKER), kept_in(store, MARKER, lambda s: Workspace.open(s, cache=cache)), True),
        Kind("manifest", head.manifest.encode(), lambda data: Manifest.decode(data, content_sha256(data)).when),
        Kind("log entry", store.read(first), kept_in(store, first, logged), True),
        Kind("withdrawal", store.read(workspace.statements.sequence.path(1)), stated, True),
        Kind("erasure", store.read(workspace.statements.sequence.path(newest)), stated, True),
        Kind("tag", store.read("tags/spring.json"), kept_in(store, "tags/spring.json", lambda s: Tags(s).all()), True),
        Kind("list", store.read(collected_path(opened[0])), listed, True),
        Kind("proof", encode_proof(proof), lambda data: check_proof(data, head.id)),
        Kind("packed file", packed.read_bytes(), unpacked),
    ]
    return {kind.path: kind for kind in made}


NAMES = [MARKER, "manifest", "log entry", "withdrawal", "erasure", "tag", "list", "proof", "packed file"]
OF_JSON = NAMES[:-1]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["../../x", "ab" * 32, "batch_" + "ab" * 32, "9" * 400, "2026-13-40", "\0", "main"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def altered(draw: st.DrawFn, data: bytes) -> bytes:
    """Real bytes, changed in a few places: bytes flipped, cut out, put in, repeated."""
    made = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(made)))
        match draw(st.sampled_from(["set", "cut", "insert", "repeat", "end"])):
            case "set":
                made[at : at + 1] = draw(st.binary(min_size=1, max_size=8))
            case "cut":
                del made[at : at + draw(st.integers(1, 200))]
            case "insert":
                made[at:at] = draw(st.binary(min_size=1, max_size=16))
            case "repeat":
                made[at:at] = made[at : at + draw(st.integers(1, 200))]
            case "end":
                del made[at:]
    return bytes(made)


@st.composite
def said_otherwise(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value of which one part, somewhere, is another one, is gone or is new."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        name = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 9)):
            return {each: part for each, part in value.items() if each != name}
        if not draw(st.integers(0, 9)):
            return {**value, draw(st.text(max_size=8)): draw(values)}
        return {**value, name: draw(said_otherwise(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], draw(said_otherwise(value[at])), *value[at + draw(st.integers(0, 1)) :]]
    return draw(values)


def read(kind: Kind, data: bytes) -> None:
    """The reader's promise: a value or a typed error. Anything else fails the test."""
    try:
        kind.read(data)
    except TychoraError as error:
        assert error.message


def forged(kind: Kind, value: Any) -> bytes:
    """The bytes of a JSON value, with the seal or the id that would follow from it."""
    if not isinstance(value, dict):
        return canonical_json(value)
    members = {name: part for name, part in value.items() if name != "seal"}
    if "subject" in members:
        said = {name: members.get(name) for name in ("kind", "subject", "time")}
        members["id"] = identity("statement", said)
    if "proof_id" in members:
        members["proof_id"] = identity("proof", {name: part for name, part in members.items() if name != "proof_id"})
    return seal(members) if kind.sealed else canonical_json(members)


def fuzz(kind: Kind, seed: int, examples: int) -> None:
    chosen = settings(
        max_examples=examples, deadline=HANGS, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )

    @seeded(seed)
    @chosen
    @given(st.binary(max_size=200) | altered(kind.data))
    def any_bytes(data: bytes) -> None:
        read(kind, data)

    any_bytes()
    if kind.path not in OF_JSON:
        return

    @seeded(seed)
    @chosen
    @given(said_otherwise(json.loads(kind.data)))
    def any_words(value: Any) -> None:
        read(kind, forged(kind, value))

    any_words()


@pytest.mark.parametrize("name", NAMES)
def test_h4_any_bytes_are_read_or_refused(name: str, kinds: dict[str, Kind], seed: int) -> None:
    """H4: a reader of the bundle's own files returns a value or raises a typed error, whatever it is given."""
    kinds[name].read(kinds[name].data)
    fuzz(kinds[name], seed, CHECK)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_h4_any_bytes_are_read_or_refused_for_long(name: str, kinds: dict[str, Kind], seed: int) -> None:
    """H4: the same with many more of them."""
    fuzz(kinds[name], seed, NIGHTLY)
