"""Gates S3, S4, S5, S7: syncs that are cut or have little to do, plain file syncers, and replays on a clone."""

from __future__ import annotations

import random
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bundles import embeddings_of, read_everything, settings, small_change, write_corpus
from support.faulty import Fault, FaultyStore, only
from support.histories import model_of, publish_texts
from tychora_format.cache import Cache
from tychora_format.manifest import snapshot_path
from tychora_format.store import LocalStore, MemoryStore, Store
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.copies.sync import sync
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import publish
from tychora_functions.query import query, replay
from tychora_schemas.errors import CorruptWorkspace, ProviderUnavailable, TychoraError
from tychora_schemas.requests import QueryRequest

SYNCER = Path(__file__).with_name("syncer.py")
BLOCK = 1 << 16


class CutStore(FaultyStore):
    """A store whose connection is cut for ever after so many bytes of batches, originals and manifests."""

    def __init__(self, inner: Store, limit: int | None = None) -> None:
        super().__init__(inner)
        self.limit = limit
        self.moved = 0
        self._counting = threading.Lock()

    def _pass(self, path: str, data: bytes) -> bytes:
        if path.startswith(("batches/", "objects/", "snapshots/")):
            with self._counting:
                self.moved += len(data)
                if self.limit is not None and self.moved > self.limit:
                    raise ProviderUnavailable("the connection was cut", next_step="this is a test")
        return data

    def read(self, path: str) -> bytes:
        return self._pass(path, super().read(path))

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._pass(path, super().read_range(path, start, end))

    def download(self, path: str, target: Path) -> None:
        target.write_bytes(self.read(path))


def travelling(store: Store) -> dict[str, int]:
    """The files that are moved, with their sizes."""
    return {
        entry.path: entry.size
        for entry in store.list()
        if entry.path.startswith(("batches/", "objects/", "snapshots/"))
    }


def missing_bytes(source: Store, copy: Path, cache: Path) -> int:
    """What is neither at the destination, nor in part there, nor at hand in the cache."""
    there = travelling(LocalStore(copy)) if copy.exists() else {}
    parts = sum(part.stat().st_size for part in copy.glob("staging/sync/*.part"))
    missing = {path: size for path, size in travelling(source).items() if path not in there}
    kept = sum(file.stat().st_size for file in cache.glob("downloads/*/file"))
    kept -= sum(
        size for path, size in there.items() if path.startswith("snapshots/") or path.endswith("/sources.parquet")
    )
    return sum(missing.values()) - parts - max(0, kept)


def large_source(cache: Cache, store: Store | None = None) -> Workspace:
    """A small text beside a few large originals, which are quarantined and so cost little."""
    chance = random.Random(5)
    workspace = Workspace.create(store or MemoryStore(secrets.token_hex(8)), cache=cache)
    large = {f"{number}.bin": "\0" + chance.randbytes(150_000).hex() for number in range(4)}
    publish_texts(workspace, {"note.txt": "The note is about a pump.", **large})
    return workspace


def test_s3_a_sync_cut_at_random_bytes_resumes(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: 50 times the connection is cut after a random number of bytes; the next run moves at most 1.1 times the bytes
    that are missing then, and the result verifies."""
    monkeypatch.setattr("tychora_format.transfer.BLOCK", BLOCK)
    workspace = large_source(Cache(tmp_path / "cache"))
    total = sum(travelling(workspace.store).values())
    assert total > 1_000_000
    chance = random.Random(seed)
    gone_on = 0
    for number in range(50):
        copy, cache = tmp_path / f"copy{number}", Cache(tmp_path / f"cache{number}")
        cut = CutStore(workspace.store, chance.randrange(total))
        with pytest.raises(ProviderUnavailable, match="cut"):
            sync(Workspace.open(cut, cache=cache), str(copy), cache=cache)
        if (copy / "tychora.json").exists():
            assert Workspace.open(copy, cache=cache).head().id == ""
        missing = missing_bytes(workspace.store, copy, cache.directory)
        gone_on += missing < total
        resumed = CutStore(workspace.store)
        report = sync(Workspace.open(resumed, cache=cache), str(copy), cache=cache)
        assert resumed.moved <= 1.1 * missing
        assert report.snapshot_id == workspace.head().id
        assert travelling(LocalStore(copy)) == travelling(workspace.store)
        if number % 10 == 0:
            assert verify(Workspace.open(copy, cache=workspace.cache)).ok
        shutil.rmtree(copy)
        shutil.rmtree(cache.directory)
    assert gone_on > 25


def test_s3_a_killed_sync_resumes(tmp_path: Path, seed: int) -> None:
    """S3: `kill -9` at a random step leaves a valid destination, and the next run goes on from there."""
    workspace = large_source(Cache(tmp_path / "cache"), LocalStore(tmp_path / "source"))
    chance = random.Random(seed)
    command = [sys.executable, str(SYNCER), str(tmp_path / "source"), str(tmp_path / "copy")]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            for _ in range(chance.randrange(1, 12)):
                process.stdout.readline()
            process.kill()
        if (tmp_path / "copy" / "tychora.json").exists():
            there = Workspace.open(tmp_path / "copy", cache=workspace.cache)
            assert there.head().id in ("", workspace.head().id)
            coming = {snapshot_path(each) for each in workspace.snapshot_ids()}
            assert {problem.path for problem in verify(there).problems} <= coming
    report = sync(str(tmp_path / "source"), str(tmp_path / "copy"))
    assert report.snapshot_id == workspace.head().id
    assert travelling(LocalStore(tmp_path / "copy")) == travelling(workspace.store)
    assert verify(Workspace.open(tmp_path / "copy", cache=workspace.cache)).ok


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.LOST_ANSWER, Fault.PARTIAL])
def test_s3_the_kth_call_to_the_destination_fails(tmp_path: Path, fault: Fault) -> None:
    """S3: a failing call leaves a valid destination, whichever it is, and the next run ends as without the failure."""
    cache = Cache(tmp_path / "cache")
    source = Workspace.create(MemoryStore(secrets.token_hex(8)), cache=cache)
    publish_texts(source, {"first.txt": "The first note."})
    source.tags.put("first", source.head().id)
    publish_texts(source, {"second.txt": "The second note."})
    calls = 0
    failing = 0
    while failing <= calls:
        name = f"memory://{secrets.token_hex(8)}"
        store = FaultyStore(MemoryStore(name), only(failing, fault))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tychora_functions.copies.location.open_store", lambda name, store=store: store)
            try:
                sync(source, name)
            except TychoraError as error:
                assert error.next_step
            broken = store.calls[min(failing, len(store.calls)) - 1]
            calls = calls or len(store.calls)
            failing += 3
            store.script = lambda call: None
            if fault is Fault.PARTIAL and broken.writes and not broken.path.startswith(("batches/", "objects/")):
                continue  # half of a sealed file breaks the store's promise, and is named: see K3
            sync(source, name)
        there = Workspace.open(store.inner, cache=cache)
        assert there.head().id == source.head().id and there.tags.all() == source.tags.all()
        assert travelling(there.store) == travelling(source.store)
    assert calls > 20


def test_s4_one_percent_of_a_thousand_sources_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: at most 5 % of the bytes move, and nothing is parsed or embedded."""
    cache = Cache(tmp_path / "cache")
    workspace = Workspace.create(MemoryStore(secrets.token_hex(8)), cache=cache)
    copy = f"memory://{secrets.token_hex(8)}"
    chance = random.Random(7)
    words = ["pump", "valve", "boiler", "turbine", "gasket", "flange", "bearing"]

    def text(number: int) -> str:
        paragraphs = (" ".join(chance.choices(words, k=60)) for _ in range(4))
        return f"Note {number} of {chance.random()}.\n\n" + "\n\n".join(paragraphs)

    publish_texts(workspace, {f"note{number}.txt": text(number) for number in range(1_000)})

    def never(*arguments: object, **named: object) -> object:
        raise AssertionError("a sync parses and embeds nothing")

    first = sync(workspace, copy)
    publish_texts(workspace, {f"note{number}.txt": text(number) for number in range(0, 1_000, 100)})
    for name in (
        "parse.parse.parse",
        "parse.worker.main",
        "embed.embed.embed",
        "publish.publish",
        "publish.write_batch",
    ):
        monkeypatch.setattr(f"tychora_functions.{name}", never, raising=False)
    second = sync(workspace, copy)
    assert second.outcome == "fast_forward"
    assert 0 < second.moved_bytes <= 0.05 * first.bytes
    assert model_of(Workspace.open(copy, cache=cache).head()) == model_of(workspace.head())


def test_s4_a_sync_does_not_even_load_parsers_and_models() -> None:
    """S4: what is not loaded is not run."""
    code = (
        "import sys, tychora_functions.copies.sync; steps = ('tychora_functions.parse', 'tychora_functions.embed'); "
        "print([name for name in sys.modules if name.startswith(steps)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_s5_readers_stay_on_the_last_complete_snapshot(tmp_path: Path, seed: int) -> None:
    """S5: the files of later commits, log entries among them, arrive in 100 random orders as a plain file syncer would
    bring them, half of them or all: at every moment readers see the newest commit whose files are all there."""
    cache = Cache(tmp_path / "cache")
    source = Workspace.create(tmp_path / "source", cache=cache)
    needs: list[tuple[str, set[str]]] = []
    """Per commit its snapshot and the files that reading it takes."""
    counts = []
    for number in range(3):
        texts = {f"note{number}.txt": f"Note {number} is about pump {number}.", "common.txt": f"State {number}."}
        snapshot = publish_texts(source, texts).snapshot
        files = {file.path for batch in snapshot.batches for file in batch.entry.files}
        log = source.log.sequence.path(source.log.head().number)
        needs.append((snapshot.id, {*files, snapshot_path(snapshot.id), log}))
        counts.append({entry.path for entry in source.store.list()})
    chance = random.Random(seed)
    partial = 0
    for number in range(100):
        copy = tmp_path / f"copy{number}"
        for path in counts[0]:
            bring(source.store, path, copy)
        there = set(counts[0])
        waiting = sorted(counts[-1] - there)
        chance.shuffle(waiting)
        stops = {*(chance.randrange(len(waiting)) for _ in range(2)), len(waiting) // 2, len(waiting) - 1}
        reader = Workspace.open(copy, cache=cache)
        for step, path in enumerate(waiting):
            bring(source.store, path, copy)
            there.add(path)
            if step in stops:
                expected = [snapshot for snapshot, needed in needs if needed <= there][-1]
                for workspace in (reader, Workspace.open(copy, cache=cache)):
                    assert workspace.head().id == expected
                partial += expected not in (needs[0][0], needs[-1][0])
        shutil.rmtree(copy)
    assert partial


def test_s5_an_incomplete_copy_answers_from_the_commit_before(tmp_path: Path) -> None:
    """S5: while the newest commit is not complete, questions are answered from the one before, and everything of that
    can be read. With nothing complete at all, the missing file is named."""
    source, copy = Workspace.create(tmp_path / "source"), tmp_path / "copy"
    for name in ("first", "second"):
        change = small_change(source, f"{name}.txt", f"The {name} note is about a pump.")
        publish(source, change, embeddings_of(change))
    head = source.head()
    older = {batch.id for batch in source.resolve("main~1").batches}
    named = {file.path: batch.id for batch in head.batches for file in batch.entry.files if "chunks" in file.path}
    withheld = [path for path, batch in named.items() if batch not in older]
    for entry in source.store.list():
        if entry.path not in withheld:
            bring(source.store, entry.path, copy)
    there = Workspace.open(copy)
    result = query(there, QueryRequest(question="Which note is about a pump?"))
    assert {segment.source.path for segment in result.segments} == {"first.txt"}
    assert list(read_everything(there))
    for path in withheld:
        bring(source.store, path, copy)
    assert Workspace.open(copy).head().id == head.id
    for path in named:
        (copy / path).unlink()
    with pytest.raises(CorruptWorkspace, match="chunks"):
        Workspace.open(copy).head()


def bring(source: Store, path: str, folder: Path) -> None:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    local = source.local_path(path)
    assert local is not None
    place.hardlink_to(local)


def test_s7_replays_on_a_clone(tmp_path: Path) -> None:
    """S7: 50 replay tokens, of the newest and of older snapshots, give on a clone what they gave on the original: the
    same segments, citations and order."""
    corpus, bundle = tmp_path / "corpus", tmp_path / "source"
    original = Workspace.create(bundle)
    subjects = [
        "pump",
        "valve",
        "boiler",
        "turbine",
        "gasket",
        "manometer",
        "flange",
        "bearing",
        "condenser",
        "impeller",
    ]
    results = []
    for state in range(2):
        write_corpus(corpus, files=10 + 5 * state, seed=state)
        add(original, [corpus], settings=settings(parse_workers=1))
        for subject in subjects:
            results.append(query(original, QueryRequest(question=f"What article number has the {subject}?")))
            results.append(query(original, QueryRequest(question=f"{subject}", k=3, fusion="rrf")))
    results += [query(original, QueryRequest(question=f"the {each}", at="main~1")) for each in subjects]
    assert len(results) == 50 and len({result.snapshot_id for result in results}) == 2
    sync(original, str(tmp_path / "clone"))
    clone = Workspace.open(tmp_path / "clone", cache=Cache(tmp_path / "other-machine"))
    for result in results:
        again = replay(clone, result.run_id)
        assert again.model_dump_json() == result.model_dump_json()
    assert any(result.segments for result in results)
