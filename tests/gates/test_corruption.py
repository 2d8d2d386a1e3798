"""Gates K4, K6 and K8: damage is named, whoever meets it first; what is newer than this version is refused."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bundles import embeddings_of, read_everything, settings, small_change, write_corpus
from tychora_format.cache import Cache
from tychora_format.log import Proposal
from tychora_format.manifest import FORMAT_VERSION, snapshot_path
from tychora_format.sealed import seal, unseal
from tychora_format.statements import Statement
from tychora_format.workspace import MARKER, Workspace, utc_now
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import publish
from tychora_functions.query.query import query
from tychora_schemas.errors import CorruptWorkspace, TychoraError, UnsupportedContent
from tychora_schemas.identity import canonical_json, content_sha256
from tychora_schemas.requests import QueryRequest

KINDS = {
    "marker": r"tychora\.json",
    "log entry": r"log/main/\d{20}\.json",
    "snapshot manifest": r"snapshots/[0-9a-f]{64}\.json",
    "object": r"objects/../[0-9a-f]{64}",
    "sources table": r"batches/[^/]+/tables/sources\.parquet",
    "extractions table": r"batches/[^/]+/tables/extractions\.parquet",
    "units table": r"batches/[^/]+/tables/units\.parquet",
    "symbols table": r"batches/[^/]+/tables/symbols\.parquet",
    "text": r"batches/[^/]+/text/chunks\.arrow",
    "lexical fast fields": r"batches/[^/]+/lexical/\w+\.fast",
    "lexical lengths": r"batches/[^/]+/lexical/\w+\.fieldnorm",
    "lexical postings": r"batches/[^/]+/lexical/\w+\.idx",
    "lexical positions": r"batches/[^/]+/lexical/\w+\.pos",
    "lexical store": r"batches/[^/]+/lexical/\w+\.store",
    "lexical terms": r"batches/[^/]+/lexical/\w+\.term",
    "lexical description": r"batches/[^/]+/lexical/lexical\.json",
    "vectors": r"batches/[^/]+/vectors/[^/]+/data/.*",
    "Lance manifest": r"batches/[^/]+/vectors/[^/]+/_versions/.*",
    "Lance transaction": r"batches/[^/]+/vectors/[^/]+/_transactions/.*",
    "statement": r"statements/\d{20}\.json",
    "tag": r"tags/\w+\.json",
}

Damage = Callable[[bytes], bytes]

DAMAGES: dict[str, Damage] = {
    "to nothing": lambda data: b"",
    "to one byte": lambda data: data[:1],
    "to half": lambda data: data[: len(data) // 2],
    "by its last byte": lambda data: data[:-1],
    "at the same length": lambda data: _altered(data),
}


def _altered(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]


def files_of(bundle: Path) -> list[str]:
    return sorted(path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file())


def damage(bundle: Path, name: str, change: Damage) -> None:
    """Alter the file in place, so that whatever is linked to it is altered with it."""
    file = bundle / name
    data = change(file.read_bytes())
    with file.open("r+b") as stream:
        stream.write(data)
        stream.truncate()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bundle with every kind of file and two commits, of which nothing may be altered: `bundle`, `cache`."""
    folder = tmp_path_factory.mktemp("whole")
    workspace = Workspace.create(folder / "bundle", cache=Cache(folder / "cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TYCHORA_STATE", str(folder / "state"))
        add(workspace, [write_corpus(folder / "corpus", files=5)], settings=settings(parse_workers=1))
    more = small_change(workspace, "more.txt", "One more note about the pump.")
    publish(workspace, more, embeddings_of(more))
    tag = {"name": "first", "snapshot": workspace.log.entry(1).snapshot, "time": utc_now()}
    workspace.store.create("tags/first.json", seal(tag))
    workspace.statements.add(Statement.make("policy", {"note": "a test"}, utc_now()))
    assert list(ask(workspace)) and verify(workspace).ok
    shutil.rmtree(folder / "bundle" / "staging")
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy of that bundle, to be damaged."""
    return Path(shutil.copytree(whole / "bundle", tmp_path / "bundle"))


def ask(workspace: Workspace) -> Iterator[str]:
    """Everything that can be read, and a question that is to be answered whole or not at all."""
    yield from read_everything(workspace)
    result = query(workspace, QueryRequest(question="Which article number has the pump?", strict=True))
    assert result.segments
    yield result.run_id


def test_every_kind_of_file_is_in_the_trial(whole: Path) -> None:
    """The table of kinds is complete: every file of the bundle is of exactly one kind, and there is one of each."""
    kinds = [[kind for kind in KINDS if re.fullmatch(KINDS[kind], name)] for name in files_of(whole / "bundle")]
    assert all(len(each) == 1 for each in kinds)
    assert {each[0] for each in kinds} == set(KINDS)


@pytest.mark.parametrize("warm", [False, True], ids=["fresh cache", "warm cache"])
@pytest.mark.parametrize("kind", KINDS)
def test_k4_damage_is_named(copy: Path, tmp_path: Path, kind: str, warm: bool) -> None:
    """K4: a file truncated to 0, 1, half or all but one byte, or altered at the same length, is named by a typed error
    when a reader needs it, and found by `verify`; never a raw exception, never an answer in silence."""
    names = [name for name in files_of(copy) if re.fullmatch(KINDS[kind], name)]
    name = names[len(names) // 2]
    intact = (copy / name).read_bytes()
    cache = Cache(tmp_path / "cache")
    if warm:
        assert list(ask(Workspace.open(copy, cache=cache)))
    for what, change in DAMAGES.items():
        if change(intact) == intact:
            continue
        damage(copy, name, lambda data, change=change: change(intact))
        reading = Cache(tmp_path / "cache" if warm else tmp_path / f"cache {what}")
        with pytest.raises(CorruptWorkspace) as caught:
            list(ask(Workspace.open(copy, cache=reading)))
        assert name in caught.value.message or Path(name).name in caught.value.message, what
        assert caught.value.next_step
        assert finds(copy, reading, name), what
    damage(copy, name, lambda data: intact)
    assert list(ask(Workspace.open(copy, cache=cache)))


@pytest.mark.parametrize("warm", [False, True], ids=["fresh cache", "warm cache"])
def test_k4_a_question_over_damage(copy: Path, tmp_path: Path, warm: bool) -> None:
    """K4: whatever file is damaged, a question gets the answer that it gets from the whole bundle, or the damage is
    named: in a warning, and to a strict request in a CorruptWorkspace."""
    request = QueryRequest(question="Which article number has the pump?")
    cache = Cache(tmp_path / "cache")
    expected = query(Workspace.open(copy, cache=cache), request).segments
    for kind, pattern in KINDS.items():
        name = next(name for name in files_of(copy) if re.fullmatch(pattern, name))
        intact = (copy / name).read_bytes()
        for change in (DAMAGES["to half"], DAMAGES["at the same length"]):
            damage(copy, name, lambda data, change=change, intact=intact: change(intact))
            reading = cache if warm else Cache(tmp_path / f"cache for {kind}")
            for strict in (False, True):
                asked = request.model_copy(update={"strict": strict})
                named = answers_or_names(copy, reading, asked, expected)
                assert named == "" or (Path(name).name in named and not (strict and named.startswith("warning"))), kind
            damage(copy, name, lambda data, intact=intact: intact)


def answers_or_names(bundle: Path, cache: Cache, request: QueryRequest, expected: object) -> str:
    """Empty when the answer is as expected; else the warnings, or the error, that say why not."""
    try:
        result = query(Workspace.open(bundle, cache=cache), request)
    except CorruptWorkspace as error:
        return f"error: {error.message}"
    if result.segments == expected and not result.warnings:
        return ""
    return "warning: " + " ".join(result.warnings)


def finds(bundle: Path, cache: Cache, name: str) -> bool:
    """True when `verify`, which may also be refused at the door, names the file."""
    try:
        report = verify(Workspace.open(bundle, cache=cache))
    except TychoraError as error:
        return name in error.message
    return not report.ok and any(name in f"{problem.path} {problem.note}" for problem in report.problems)


@pytest.mark.parametrize("warm", [False, True], ids=["fresh cache", "warm cache"])
def test_k4_a_missing_file_is_named(copy: Path, tmp_path: Path, warm: bool) -> None:
    """K4: a file of any kind but statement and tag that is gone is named like one that is cut. A question that is not
    strict is answered from the commit before, with a warning that names it."""
    cache = Cache(tmp_path / "cache")
    if warm:
        assert list(ask(Workspace.open(copy, cache=cache)))
    for kind, pattern in KINDS.items():
        name = next(name for name in files_of(copy) if re.fullmatch(pattern, name))
        if kind in ("statement", "tag"):
            continue
        (copy / name).rename(tmp_path / "aside")
        with pytest.raises(TychoraError) as caught:
            list(ask(Workspace.open(copy, cache=Cache(tmp_path / ("cache" if warm else kind)))))
        assert caught.value.next_step
        if kind == "log entry":
            assert not verify(Workspace.open(copy, cache=cache)).ok
        else:
            assert Path(name).name[:12] in caught.value.message
            assert finds(copy, cache, name)
        (tmp_path / "aside").rename(copy / name)


def test_k6_one_flipped_bit(copy: Path, tmp_path: Path, seed: int) -> None:
    """K6: one bit flipped in any file, 4 bits each: `verify` finds every one and names the file."""
    chance = random.Random(seed)
    cache = Cache(tmp_path / "cache")
    assert verify(Workspace.open(copy, cache=cache)).ok
    missed = []
    for name in files_of(copy):
        if name.startswith("staging/"):
            continue
        intact = (copy / name).read_bytes()
        for _ in range(4):
            bit = chance.randrange(8 * len(intact))
            damage(copy, name, lambda data, bit=bit: flipped(data, bit))
            if not finds(copy, cache, name):
                missed.append((name, bit))
            damage(copy, name, lambda data, intact=intact: intact)
    assert not missed
    assert verify(Workspace.open(copy, cache=cache)).ok


def flipped(data: bytes, bit: int) -> bytes:
    """`data` with one bit turned over."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


Rewrite = dict[str, Any]


def rewrite_marker(bundle: Path, change: Rewrite) -> None:
    file = bundle / MARKER
    file.write_bytes(seal({**unseal(file.read_bytes(), MARKER), **change}))


def rewrite_manifest(bundle: Path, change: Rewrite) -> None:
    """Commit a manifest such as a newer version would write."""
    workspace = Workspace.open(bundle)
    manifest = json.loads((bundle / snapshot_path(workspace.head().id)).read_bytes())
    data = canonical_json({**manifest, **change})
    workspace.store.write(snapshot_path(content_sha256(data)), data)
    workspace.log.commit(lambda head: Proposal(content_sha256(data)), write_id="newer", now=utc_now)


@pytest.mark.parametrize(
    ("where", "change"),
    [
        (rewrite_marker, {"format": FORMAT_VERSION + 1}),
        (rewrite_marker, {"features": ["encrypted-text"]}),
        (rewrite_manifest, {"format": FORMAT_VERSION + 1}),
        (rewrite_manifest, {"features": ["encrypted-text"]}),
        (rewrite_manifest, {"format": FORMAT_VERSION + 2, "features": ["sharded"], "batches": {"by": "shard"}}),
    ],
    ids=["marker format", "marker feature", "manifest format", "manifest feature", "manifest of another shape"],
)
def test_k8_what_is_newer_is_refused(copy: Path, where: Callable[[Path, Rewrite], None], change: Rewrite) -> None:
    """K8: a bundle of an unknown required feature or a newer format is refused for reading and for writing, with what
    to do, and nothing is written to it."""
    where(copy, change)
    before = files_of(copy)
    for attempt in (lambda w: list(ask(w)), lambda w: add(w, [copy.parent / "corpus"], settings=settings())):
        write_corpus(copy.parent / "corpus", files=1)
        with pytest.raises(UnsupportedContent) as caught:
            attempt(Workspace.open(copy))
        assert "needs" in caught.value.message
        assert "newer Tychora" in caught.value.next_step
    assert files_of(copy) == before
