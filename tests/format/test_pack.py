"""Packing a workspace, unpacking it, writing to a packed file: same bytes, same answers, nothing half done."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from bundles import contents, embeddings_of, read_everything, settings, small_change, write_corpus
from tychora_format.cache import Cache
from tychora_format.manifest import snapshot_path
from tychora_format.objects import object_path
from tychora_format.packed.archive import place
from tychora_format.packed.pack import create, pack, unpack
from tychora_format.packed.rewriting import rewriting
from tychora_format.sealed import seal
from tychora_format.statements import Statement
from tychora_format.store import MemoryStore
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import MARKER, Workspace
from tychora_functions.add import add
from tychora_functions.copies import packing
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import Change, publish
from tychora_functions.query.query import query
from tychora_schemas.errors import Busy, Conflict, CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.requests import QueryRequest

PACKER = Path(__file__).with_name("packer.py")
QUESTIONS = ["article number of the boiler", "manometer", "turbine of line 3", "def valve", "record of the gasket"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a workspace of three commits, a tag on the second, and two statements."""
    folder = tmp_path_factory.mktemp("packing")
    corpus = write_corpus(folder / "corpus", files=8)
    workspace = Workspace.create(folder / "workspace", cache=Cache(folder / "cache"))
    add(workspace, [corpus], settings=settings())
    for number in (1, 2):
        change = small_change(workspace, f"later{number}.txt", f"Later note {number} is about a boiler.")
        snapshot = publish(workspace, change, embeddings_of(change)).snapshot
        if number == 1:
            workspace.store.write("tags/first.json", seal({"snapshot": snapshot.id}))
    for name in ("one", "two"):
        workspace.statements.add(Statement.make("policy", {"collection": name}, "2026-01-01T00:00:00+00:00"))
    return folder


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    """A copy of the workspace that a test may change."""
    return Path(shutil.copytree(made / "workspace", tmp_path / "workspace"))


@pytest.fixture
def workspace(bundle: Path) -> Workspace:
    return Workspace.open(bundle)


@pytest.fixture
def file(workspace: Workspace, tmp_path: Path) -> Path:
    pack(workspace, tmp_path / "bundle.tychora")
    return tmp_path / "bundle.tychora"


def opened(file: Path) -> Workspace:
    return Workspace.open(PackedStore(file))


def answers(workspace: Workspace) -> list[object]:
    results = [query(workspace, QueryRequest(question=question, k=5)) for question in QUESTIONS]
    return [
        [(s.id, s.text, s.citations, s.channels) for s in result.segments] + [c.quote for c in result.citations]
        for result in results
    ]


def paths(workspace: Workspace) -> set[str]:
    return {entry.path for entry in workspace.store.list()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def problems(workspace: Workspace) -> list[str]:
    """What `verify` finds; that nobody may write to a packed file is known."""
    report = verify(workspace)
    return [f"{each.path}: {each.note}" for each in report.problems if each.path != workspace.store.url] + [
        f"note on {each.path}: {each.note}" for each in report.notes
    ]


def test_the_same_snapshot_packs_to_the_same_bytes(workspace: Workspace, tmp_path: Path) -> None:
    first = packing.pack(workspace, tmp_path / "a.tychora")
    second = packing.pack(Workspace.open(workspace.store.url), tmp_path / "b.tychora")
    third = packing.pack(opened(tmp_path / "a.tychora"), tmp_path / "c.tychora")
    assert first.sha256 == second.sha256 == third.sha256
    assert first.sha256 == hashlib.sha256((tmp_path / "a.tychora").read_bytes()).hexdigest()
    assert first.bytes == (tmp_path / "a.tychora").stat().st_size
    assert first.files == len(paths(opened(tmp_path / "a.tychora")))
    assert first.snapshots == 3 and first.snapshot_id == workspace.head().id and not first.notes
    packing.pack(workspace, tmp_path / "a.tychora")
    assert names(tmp_path) == {"workspace", "a.tychora", "b.tychora", "c.tychora"}


def test_two_clones_pack_to_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    """On two machines: other folders, times of files, time zone, mask, hash seed, order of statements, and a log of
    their own."""
    clone = tmp_path / "elsewhere" / "clone of it"
    shutil.copytree(bundle, clone)
    for path in clone.rglob("*"):
        os.utime(path, (1, 1))
    (clone / "jobs").mkdir()
    (clone / "jobs" / "one.json").write_text("{}")
    one, two = (clone / f"statements/{number:020}.json" for number in (1, 2))
    one.rename(clone / "x")
    two.rename(one)
    (clone / "x").rename(two)
    script = "import os, sys; os.umask(int(sys.argv[3], 8))\n"
    script += "from tychora_format.packed.pack import pack; from tychora_format.workspace import Workspace\n"
    script += "print(pack(Workspace.open(sys.argv[1]), sys.argv[2]).sha256)"
    sums = set()
    for bundle_of, zone, seed, mask in ((bundle, "UTC", "1", "022"), (clone, "Asia/Kathmandu", "77", "077")):
        environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": seed, "TYCHORA_CACHE": f"{tmp_path}/{seed}"}
        command = [sys.executable, "-c", script, bundle_of, tmp_path / f"{seed}.tychora", mask]
        sums.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(sums) == 1


def test_there_and_back(workspace: Workspace, file: Path, tmp_path: Path) -> None:
    """A packed workspace and one unpacked from it verify, give the same answers, and hold the same history."""
    packed = opened(file)
    report = packing.unpack(file, tmp_path / "unpacked")
    unpacked = Workspace.open(tmp_path / "unpacked")
    assert report.files == len(paths(unpacked)) and report.snapshot_id == workspace.head().id
    expected = answers(workspace)
    assert all(expected)
    for other in (packed, unpacked):
        assert problems(other) == []
        assert contents(other.head()) == contents(workspace.head())
        assert answers(other) == expected
        assert list(read_everything(other))
        assert [entry.snapshot for entry in other.log.history()] == [e.snapshot for e in workspace.log.history()]
        assert other.resolve("first").id == other.resolve("main~1").id == workspace.resolve("main~1").id
        assert {each.id for each in other.statements.all()} == {each.id for each in workspace.statements.all()}
        assert other.marker == workspace.marker
    assert paths(unpacked) == paths(packed)
    assert pack(unpacked, tmp_path / "again.tychora").sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_packs_to_and_from_another_kind_of_store(workspace: Workspace, file: Path, tmp_path: Path) -> None:
    """A store that is no directory packs to the same bytes."""
    memory = MemoryStore("packing")
    memory.write_many((path, workspace.store.read(path)) for path in paths(workspace))
    made = pack(Workspace.open(memory), tmp_path / "memory.tychora")
    assert (tmp_path / "memory.tychora").read_bytes() == file.read_bytes()
    assert made.snapshot_id == workspace.head().id


@pytest.mark.parametrize("history", [0, 1, 2, 9, None])
def test_as_much_history_as_is_asked_for(workspace: Workspace, tmp_path: Path, history: int | None) -> None:
    packed = pack(workspace, tmp_path / "short.tychora", history=history)
    short = opened(tmp_path / "short.tychora")
    expected = workspace.log.history()[: 3 if history is None else history + 1]
    assert packed.snapshots == len(expected)
    assert [entry.snapshot for entry in short.log.history()] == [entry.snapshot for entry in expected]
    assert problems(short) == []
    assert answers(short) == answers(workspace)
    assert set(short.tags.all()) == ({"first"} if len(expected) > 1 else set())


def test_an_older_snapshot(workspace: Workspace, tmp_path: Path) -> None:
    """What came later stays behind, its files and tags too; statements travel all."""
    for at in ("first", "main~2"):
        expected = workspace.resolve(at)
        packed = pack(workspace, tmp_path / f"{at}.tychora", at=at)
        old = opened(tmp_path / f"{at}.tychora")
        assert packed.snapshot_id == old.head().id == expected.id
        assert contents(old.head()) == contents(expected)
        assert {path for path in paths(old) if path.startswith("batches/")} == {
            file.path for batch in expected.batches for file in batch.entry.files
        }
        assert len(old.statements.all()) == 2
        assert problems(old) == []
    assert paths(old) & {"tags/first.json"} == set()
    with pytest.raises(NotFound):
        pack(workspace, tmp_path / "x.tychora", at="no-such-tag")


def test_an_empty_workspace(tmp_path: Path) -> None:
    pack(Workspace.create(tmp_path / "empty"), tmp_path / "empty.tychora")
    unpack(tmp_path / "empty.tychora", tmp_path / "again")
    assert not Workspace.open(tmp_path / "again").log.history()


def test_begins_as_a_packed_file(tmp_path: Path) -> None:
    """An empty workspace may be made as a packed file, and written to there; none is made over another file."""
    file = tmp_path / "new.tychora"
    create(file, profile="code", settings={"publish_chunks": 500})
    with rewriting(file) as workspace:
        change = small_change(workspace, "first.txt", "The first note is about a pump.")
        publish(workspace, change, embeddings_of(change))
    first = opened(file)
    assert first.marker.profile == "code" and first.marker.settings == {"publish_chunks": 500}
    assert [live.row.path for live in first.head().live_sources()] == ["first.txt"]
    assert problems(first) == []
    with pytest.raises(Conflict):
        create(file)
    with pytest.raises(InvalidRequest):
        create(tmp_path / "folder")


def test_without_originals(workspace: Workspace, tmp_path: Path) -> None:
    """The originals stay behind; questions are answered all the same. What is not retained anyway is a note."""
    report = packing.pack(workspace, tmp_path / "light.tychora", originals=False)
    light = opened(tmp_path / "light.tychora")
    assert not report.originals and not any(path.startswith("objects/") for path in paths(light))
    assert [len(found) for found in answers(light)] == [len(found) for found in answers(workspace)]
    row = next(live.row for live in workspace.head().live_sources() if live.row.path == "later1.txt")
    assert row.content_sha256
    workspace.store.delete(object_path(row.content_sha256))
    report = packing.pack(workspace, tmp_path / "noted.tychora")
    assert [note.path for note in report.notes] == ["later1.txt"]


def test_past_revisions_travel_with_their_originals(workspace: Workspace, tmp_path: Path) -> None:
    before = next(live for live in workspace.head().live_sources() if live.row.path == "later1.txt")
    change = small_change(workspace, "later1.txt", "Later note 1 was rewritten.")
    publish(
        workspace, Change(change.sources, change.parsed, (), {before.row.source_id: (before.batch, before.number)}), {}
    )
    pack(workspace, tmp_path / "all.tychora")
    assert before.row.content_sha256
    assert object_path(before.row.content_sha256) in paths(opened(tmp_path / "all.tychora"))


def test_forked_history_has_ancestors_first(workspace: Workspace, tmp_path: Path) -> None:
    """A snapshot with two parents: each is committed before what continues it, the asked one last."""
    base, main = workspace.resolve("main~2"), workspace.head()
    fork = workspace.put_manifest(
        base.manifest.model_copy(update={"parents": (base.id,), "time": "2020-01-01T00:00:00Z"})
    )
    merged = workspace.put_manifest(main.manifest.model_copy(update={"parents": tuple(sorted((main.id, fork)))}))
    pack(workspace, tmp_path / "forked.tychora", at=merged)
    log = [entry.snapshot for entry in opened(tmp_path / "forked.tychora").log.history()][::-1]
    assert len(log) == 5 and log[0] == base.id and log[1] == fork and log[-1] == merged
    for number, snapshot_id in enumerate(log):
        assert set(workspace.manifest(snapshot_id).parents) <= set(log[:number])


KINDS = ["batches", "objects", "snapshots", "statements", "tags", "tychora.json"]


@pytest.mark.parametrize("kind, damage", [*((k, d) for k in KINDS for d in ("altered", "cut")), ("batches", "missing")])
def test_a_damaged_source_is_named_and_not_packed(bundle: Path, tmp_path: Path, kind: str, damage: str) -> None:
    """The error names the file, and no target is left."""
    head = Workspace.open(bundle).head()
    victim = {
        "batches": head.batches[0].entry.files[0].path,
        "objects": object_path(next(live.row.content_sha256 or "" for live in head.live_sources())),
        "snapshots": snapshot_path(head.id),
        "statements": "statements/00000000000000000001.json",
        "tags": "tags/first.json",
    }.get(kind, kind)
    data = bytearray((bundle / victim).read_bytes())
    data[len(data) // 2] ^= 1
    (bundle / victim).unlink()
    if damage != "missing":
        (bundle / victim).write_bytes(data if damage == "altered" else data[:-1])
    with pytest.raises(CorruptWorkspace) as caught:
        pack(Workspace.open(bundle), tmp_path / "damaged.tychora", at=head.id)
    assert victim in caught.value.message
    assert names(tmp_path) == {"workspace"}


def test_an_incomplete_newest_snapshot_is_noted(bundle: Path, tmp_path: Path) -> None:
    """Where files of the newest snapshot have not arrived yet, the last complete one is packed, and that is said."""
    workspace = Workspace.open(bundle)
    newest, before = workspace.head(), workspace.resolve("main~1")
    (bundle / snapshot_path(newest.id)).unlink()
    packed = pack(Workspace.open(bundle), tmp_path / "older.tychora")
    assert packed.snapshot_id == before.id
    assert [path for path, _ in packed.notes] == [snapshot_path(newest.id)]


def test_what_is_there_is_not_written_over(workspace: Workspace, file: Path, tmp_path: Path) -> None:
    """Only a packed file of the same workspace is replaced, unless it is asked for."""
    pack(workspace, file)
    other = tmp_path / "other.tychora"
    pack(Workspace.create(tmp_path / "other"), other)
    notes = tmp_path / "notes.tychora"
    notes.write_text("my notes")
    for target in (other, notes):
        before = target.read_bytes()
        with pytest.raises(Conflict) as caught:
            pack(workspace, target)
        assert caught.value.next_step and target.read_bytes() == before
        pack(workspace, target, replace=True)
        assert target.read_bytes() == file.read_bytes()
    (tmp_path / "folder.tychora").mkdir()
    for wrong in (tmp_path / "folder.tychora", tmp_path / "bundle.zip"):
        with pytest.raises(InvalidRequest):
            pack(workspace, wrong, replace=True)
    with pytest.raises(InvalidRequest):
        pack(workspace, tmp_path / "x.tychora", history=-1)


def test_unpacks_only_where_nothing_is(file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    unpack(file, tmp_path / "empty")
    with pytest.raises(Conflict):
        unpack(file, tmp_path / "empty")
    (tmp_path / "afile").write_text("")
    with pytest.raises(InvalidRequest):
        unpack(file, tmp_path / "afile")
    unpack(file, tmp_path / "new" / "folders" / "made")
    assert problems(Workspace.open(tmp_path / "new/folders/made")) == []
    assert names(tmp_path) == {"workspace", "bundle.tychora", "empty", "afile", "new"}


def test_damage_inside_a_member_is_named(file: Path, tmp_path: Path) -> None:
    """Every kind of file: one changed bit is found when it is read, by `verify`, and by unpacking."""
    store = PackedStore(file)
    victims = {entry.path.partition("/")[0]: entry for entry in store.list() if entry.size}
    victims |= {entry.path.split("/")[2]: entry for entry in store.list("batches/")}
    assert len(victims) >= 9
    for number, entry in enumerate(victims.values()):
        data = bytearray(file.read_bytes())
        with zipfile.ZipFile(file) as archive:
            at = place(entry.path, entry.size, archive.getinfo(entry.path).header_offset)
        data[at.start + at.size // 2] ^= 1
        damaged = tmp_path / f"damaged{number}.tychora"
        damaged.write_bytes(data)
        with pytest.raises(CorruptWorkspace) as caught:
            unpack(damaged, tmp_path / "target")
        assert entry.path in caught.value.message
        if entry.path == MARKER:
            continue
        reopened = Workspace.open(PackedStore(damaged), cache=Cache(tmp_path / f"cache{number}"))
        try:
            found = problems(reopened)
        except CorruptWorkspace as error:
            found = [error.message]
        assert any(entry.path in problem for problem in found)
        assert not (tmp_path / "target").exists()


def test_adds_to_a_packed_file(made: Path, file: Path, tmp_path: Path) -> None:
    """Adding within `rewriting` gives one new file: it verifies, finds the new text, and keeps the old snapshots."""
    before = opened(file)
    new = tmp_path / "new"
    new.mkdir()
    (new / "ferry.md").write_text("# Ferry\n\nThe ferry leaves at seven.\n")
    with rewriting(file) as workspace:
        report = add(workspace, [new], settings=settings(parse_workers=1))
        assert [Path(entry.path).name for entry in report.added] == ["ferry.md"]
        assert not verify(workspace).problems
        assert query(workspace, QueryRequest(question="ferry")).segments[0].text.endswith("seven.")
        assert names(tmp_path) >= {"bundle.tychora.lock", ".bundle.tychora.changes"}
    after = opened(file)
    assert before.store.read("tychora.json") and before.head().id == after.resolve("main~1").id
    assert problems(after) == []
    assert "seven" in query(after, QueryRequest(question="When does the ferry leave?")).segments[0].text
    assert len(after.log.history()) == 4 and after.tags.all() == before.tags.all()
    assert not any(path.startswith(("staging/", "jobs/", "leases/")) for path in paths(after))
    assert names(tmp_path) == {"workspace", "bundle.tychora", "new"}


def test_an_error_and_no_change_leave_the_old_file(file: Path, tmp_path: Path) -> None:
    data, about = file.read_bytes(), file.stat()
    with pytest.raises(ZeroDivisionError), rewriting(file) as workspace:
        workspace.store.write("tags/x.json", seal({"snapshot": workspace.head().id}))
        print(1 // 0)
    with rewriting(file) as workspace:
        workspace.scratch()
        list(read_everything(workspace))
    assert file.read_bytes() == data and file.stat() == about
    assert names(tmp_path) == {"workspace", "bundle.tychora"}


def test_deleting_from_a_packed_file(file: Path) -> None:
    with rewriting(file) as workspace:
        workspace.store.delete("tags/first.json")
    assert not opened(file).tags.all()


def run(verb: str, source: Path, target: Path | str) -> subprocess.Popen[str]:
    """The work in a process of its own, which has loaded what it needs and starts now."""
    pythonpath = os.pathsep.join([str(PACKER.parents[1]), str(PACKER.parents[1] / "gates")])
    process = subprocess.Popen(
        [sys.executable, str(PACKER), verb, str(source), str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": pythonpath},
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_who_comes_second_is_told_at_once(workspace: Workspace, file: Path) -> None:
    """While another process writes to the packed file, writers hear Busy and readers read on."""
    before = file.read_bytes()
    with run("hold", file, "") as process:
        with pytest.raises(Busy) as caught, rewriting(file):
            pass
        assert caught.value.next_step
        with pytest.raises(Busy):
            pack(workspace, file)
        assert answers(opened(file))
        process.communicate("")
    assert process.returncode == 0 and file.read_bytes() == before
    pack(workspace, file)


@pytest.mark.parametrize("verb", ["pack", "unpack", "rewrite"])
def test_killed_at_random_times(bundle: Path, file: Path, tmp_path: Path, seed: int, verb: str) -> None:
    """`kill -9` at any moment leaves the old state or the new one, whole; the next run finds its way, and cleans up."""
    chance = random.Random(seed)
    target = {"pack": tmp_path / "killed.tychora", "unpack": tmp_path / "unpacked", "rewrite": "named"}[verb]
    source = bundle if verb == "pack" else file
    with run(verb, source, target) as process:
        began = time.monotonic()
        process.communicate()
        length = time.monotonic() - began
    tags = len(opened(file).tags.all())
    for number in range(3):
        if verb == "unpack":
            shutil.rmtree(target, ignore_errors=True)
        elif verb == "pack":
            Path(target).unlink(missing_ok=True)
        with run(verb, source, f"named{number}" if verb == "rewrite" else target) as process:
            time.sleep(chance.uniform(0, length))
            process.kill()
        if verb == "rewrite":
            after = opened(file)
            assert len(after.tags.all()) in (tags, tags + 1)
            tags = len(after.tags.all())
            assert list(read_everything(after))
        elif Path(target).exists():
            whole = opened(Path(target)) if verb == "pack" else Workspace.open(target)
            assert list(read_everything(whole))
    if verb == "unpack":
        shutil.rmtree(target, ignore_errors=True)
        unpack(file, target)
        assert problems(Workspace.open(target)) == []
    elif verb == "pack":
        assert pack(Workspace.open(bundle), target).sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    else:
        with rewriting(file) as workspace:
            workspace.store.delete("tags/first.json")
        assert problems(opened(file)) == []
    assert not [name for name in names(tmp_path) if name.startswith(".") or name.endswith(".lock")]
