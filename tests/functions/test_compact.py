"""Compaction: fewer batches, the same answers, nothing lost, whatever happens meanwhile."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from bundles import FAMILY, SUBJECTS, contents, embeddings_of, settings, small_change, state_change, write_corpus
from support.faulty import Fault, FaultyStore, only
from tychora_format.batch import Embedding, write_batch
from tychora_format.cache import Cache
from tychora_format.manifest import Manifest
from tychora_format.snapshot import Snapshot, content_leaf, content_root
from tychora_format.statements import Statement
from tychora_format.store import LocalStore, MemoryStore
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.add import add
from tychora_functions.maintain import carrying
from tychora_functions.maintain.compact import MANY_BATCHES, compact, needs_compaction
from tychora_functions.maintain.verify import verify
from tychora_functions.progress import Progress
from tychora_functions.publish import Change, publish
from tychora_functions.query.query import query
from tychora_schemas.errors import TychoraError
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

DATA = Path(__file__).resolve().parents[1] / "data"

QUESTIONS = [
    *(f"What article number has the {subject}?" for subject in SUBJECTS),
    *(f"{first} and {second}" for first, second in zip(SUBJECTS, SUBJECTS[3:], strict=False)),
    "How does a session cookie expire?",
    "TimestampSigner unsign max_age",
    "class BadSignature",
    "`hmac` update",
    "scrypt memory limit",
    "What rent does the tenant pay under the lease?",
    "illustrative cases",
    "manual10.md",
    "def return value",
    "section 2.1",
]

COMPACT = """
import sys
from tychora_format.workspace import Workspace
from tychora_functions.maintain.compact import compact
import lance, tantivy
workspace = Workspace.open(sys.argv[1])
print("ready", flush=True)
compact(workspace)
"""


def answers(workspace: Workspace, at: str = "main", k: int = 8) -> list[QueryResult]:
    return [query(workspace, QueryRequest(question=question, k=k, at=at)) for question in QUESTIONS]


def evidence(results: list[QueryResult]) -> list[tuple[object, ...]]:
    """What is compared: everything of an answer but which snapshot gave it."""
    return [(result.segments, result.citations, result.coverage, result.coverage_gaps) for result in results]


def real_files(folder: Path) -> Path:
    """Small real files of several formats, and generated ones."""
    write_corpus(folder / "generated", files=25)
    (folder / "real").mkdir()
    for name in ("code/timed.py", "code/exc.py", "code/hmac.ts", "code/cookie_session.js", "docx/lease.docx"):
        shutil.copy(DATA / name, folder / "real")
    shutil.copy(DATA / "docx/IllustrativeCases.docx", folder / "real")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace of many batches and no superseded row, and with the files that are in it."""
    folder = tmp_path_factory.mktemp("built")
    corpus = real_files(folder / "corpus")
    workspace = Workspace.create(folder / "bundle", cache=Cache(folder / "cache"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TYCHORA_STATE", str(folder / "state"))
        for part in ("generated", "real"):
            add(workspace, [corpus / part], settings=settings(publish_chunks=16, parse_workers=1))
    assert len(workspace.head().batches) > 3
    return folder


@pytest.fixture
def many(built: Path, tmp_path: Path) -> Workspace:
    """A copy of that workspace, to be compacted. Its files are in `tmp_path / "corpus"`."""
    for name in ("bundle", "corpus"):
        shutil.copytree(built / name, tmp_path / name)
    return Workspace.open(tmp_path / "bundle")


def published(workspace: Workspace, change: Change) -> None:
    publish(workspace, change, embeddings_of(change))


def removal(workspace: Workspace, path: str) -> Change:
    gone = workspace.head().live_sources(lambda row: row.path == path)
    return Change(removed=gone, seen={each.row.source_id: (each.batch, each.number) for each in gone})


def changed(workspace: Workspace, path: str, text: str) -> Change:
    """A new revision of a source that is live."""
    live = workspace.head().live_sources(lambda row: row.path == path)
    return replace(
        small_change(workspace, path, text),
        seen={each.row.source_id: (each.batch, each.number) for each in live},
    )


def small_workspace(texts: Mapping[str, str]) -> Workspace:
    """A workspace in memory, one batch per text."""
    workspace = Workspace.create(MemoryStore(str(random.getrandbits(64))))
    for path, text in texts.items():
        published(workspace, small_change(workspace, path, text))
    return workspace


def vectors(snapshot: Snapshot) -> dict[tuple[str, bytes], bytes]:
    """(family, input hash) → vector, of all rows that live sources make visible."""
    import lance

    found = {}
    for batch, visible in zip(snapshot.batches, snapshot.everything.rows, strict=True):
        for family in batch.entry.families:
            table = lance.dataset(str(batch.vectors_folder(family))).to_table()
            assert table.column("row").to_pylist() == list(range(batch.rows))
            rows = zip(visible, *(table.column(name).to_pylist() for name in ("input_sha256", "vector")), strict=True)
            found |= {(family, key): np.float16(vector).tobytes() for seen, key, vector in rows if seen}
    return found


def check(workspace: Workspace) -> None:
    report = verify(workspace)
    assert report.ok, report.problems


THREE = {name: f"The {name} of the plant has article number {n}." for n, name in enumerate(SUBJECTS[:3], start=40)}


def test_answers_are_identical_where_no_rows_are_superseded(many: Workspace, tmp_path: Path) -> None:
    """Segments, scores, citations, coverage: the same for every question, before, after, and for the old snapshot."""
    workspace, corpus = many, tmp_path / "corpus"
    before, old = answers(workspace), workspace.head()
    known, root = vectors(old), contents(old)
    report = compact(workspace)
    assert (report.batches_before, report.batches_after) == (len(old.batches), 1)
    assert report.rows_after == report.rows_before == old.everything.size
    assert report.snapshot_id == workspace.head().id != old.id
    assert evidence(answers(workspace)) == evidence(before)
    assert evidence(answers(workspace, at=old.id)) == evidence(before)
    assert contents(workspace.head()) == root
    assert workspace.head().manifest.content_root == old.manifest.content_root
    assert vectors(workspace.head()) == known
    check(workspace)
    again = add(workspace, [corpus / "generated", corpus / "real"], settings=settings())
    assert len(again.unchanged) == len(root[1]) and not (again.added or again.changed or again.moved or again.removed)


def test_answers_stay_alike_where_superseded_rows_are_left_out(many: Workspace, tmp_path: Path) -> None:
    """With changed, moved and removed files the first ten segments are the same ones to at least 95 % on average."""
    workspace, corpus = many, tmp_path / "corpus"
    generated = corpus / "generated"
    for number, path in enumerate(sorted(path for path in generated.rglob("*") if path.is_file())):
        if number % 8 == 0:
            path.unlink()
        elif number % 8 == 1:
            path.write_text(path.read_text("utf-8").replace("article", "order"), "utf-8")
        elif number % 8 == 2:
            path.rename(path.with_name(f"moved-{path.name}"))
    add(workspace, [generated], settings=settings(publish_chunks=12))
    old = workspace.head()
    before, root, known = answers(workspace, k=10), contents(old), vectors(old)
    report = compact(workspace)
    assert report.batches_after == 1 and report.rows_after == old.everything.size < report.rows_before
    assert contents(workspace.head()) == root and not workspace.head().manifest.dead
    assert vectors(workspace.head()) == known
    shares = []
    for first, second in zip(before, answers(workspace, k=10), strict=True):
        ids = {segment.id for segment in first.segments}
        shares.append(len(ids & {segment.id for segment in second.segments}) / max(1, len(ids)))
    assert sum(shares) / len(shares) >= 0.95
    check(workspace)
    assert not add(workspace, [generated], settings=settings()).changed


def test_one_whole_batch_is_left_alone() -> None:
    """Where there is nothing to gain nothing is written and nothing committed: compacting twice is compacting once."""
    workspace = small_workspace(THREE)
    assert compact(workspace).batches_after == 1
    commits = len(workspace.log.history())
    report = compact(workspace)
    assert (report.batches_before, report.batches_after, report.bytes_written) == (1, 1, 0)
    assert report.snapshot_id == workspace.head().id
    assert len(workspace.log.history()) == commits
    assert compact(Workspace.create(MemoryStore("nothing"))).batches_after == 0


def test_the_same_state_compacts_to_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """In two copies of a workspace the new batches have the same files, Lance's names excepted."""
    made = []
    for name in ("first", "second"):
        shutil.copytree(built / "bundle", tmp_path / name)
        workspace = Workspace.open(tmp_path / name, cache=Cache(tmp_path / f"{name}-cache"))
        compact(workspace)
        files = workspace.head().batches[0].entry.files
        made.append({file.path.split("/", 2)[2]: file.sha256 for file in files if "/vectors/" not in file.path})
    assert made[0] == made[1] and len(made[0]) > 8


def test_everything_gone_leaves_no_batch() -> None:
    """Where no source is live any more the compacted snapshot lists no batch, and is whole."""
    workspace = small_workspace({"a.txt": "The only note."})
    published(workspace, removal(workspace, "a.txt"))
    report = compact(workspace)
    assert (report.batches_after, report.rows_after) == (0, 0)
    check(workspace)


def test_sources_without_text_are_carried_over() -> None:
    """What could not be read stays recorded with its reason."""
    workspace = small_workspace({"a.txt": "A note."})
    published(workspace, state_change("broken.bin", "its reason"))
    compact(workspace)
    assert len(workspace.head().batches) == 1
    assert {live.row.path: live.row.reason for live in workspace.head().live_sources()} == {
        "a.txt": None,
        "broken.bin": "its reason",
    }


def test_withdrawn_sources_are_carried_over() -> None:
    """A withdrawn source is hidden, not gone: its text is there again once the withdrawal is replaced."""
    workspace = small_workspace(THREE)
    target = workspace.head().live_sources(lambda row: row.path == SUBJECTS[1])[0].row.source_id
    withdrawal = Statement.make("withdrawal", {"target": target}, utc_now())
    workspace.statements.add(withdrawal)
    assert workspace.head().everything.size == 2
    compact(workspace)
    assert workspace.head().everything.size == 2
    subject = {"target": target, "withdrawn": False, "replaces": [withdrawal.id]}
    workspace.statements.add(Statement.make("withdrawal", subject, utc_now()))
    assert workspace.head().everything.size == 3
    check(workspace)


def test_what_is_left_of_erased_sources_is_carried_over(tmp_path: Path) -> None:
    """Of an erased source only ids and its leaf are left: they move to the new batch, and the content root stays."""
    workspace = small_workspace({})
    changes = [small_change(workspace, path, text) for path, text in THREE.items()]
    change = Change([each.sources[0] for each in changes], [each.parsed[0] for each in changes])
    published(workspace, change)
    rows = list(change.sources)
    gone = rows[1]
    leaf = content_leaf(gone.source_id, gone.path, gone.state, gone.revision_id, gone.extraction_id)
    rows[1] = replace(gone, path="", paths=[], content_sha256=None, extraction_id=None, size=0)
    left = Change(rows, [change.parsed[0], change.parsed[2]])
    entry = write_batch(tmp_path, left.parsed, rows, embeddings_of(left), erased={1: leaf})
    workspace.put_batch(tmp_path, entry)
    replaced = {"batch": workspace.head().batches[0].id, "entry": entry.model_dump(mode="json")}
    workspace.statements.add(Statement.make("erasure", {"sources": [gone.source_id]}, utc_now()))
    workspace.statements.add(Statement.make("replacement", replaced, utc_now()))
    published(workspace, small_change(workspace, "new.txt", "A note."))
    before = workspace.head()
    assert compact(workspace).batches_after == 1
    head = workspace.head()
    assert head.recorded.num_rows == before.recorded.num_rows == 4
    assert content_root(head.recorded) == head.manifest.content_root == before.manifest.content_root
    assert texts(workspace) == {path: THREE[path] for path in (SUBJECTS[0], SUBJECTS[2])} | {"new.txt": "A note."}


def test_batches_of_different_families_lose_no_vector() -> None:
    """There is one new batch per set of families; a second compaction finds nothing to do."""
    workspace = small_workspace(THREE)
    for number, name in enumerate(SUBJECTS[3:6]):
        change = small_change(workspace, name, f"The {name} of the mill.")
        other = Embedding(np.full((1, 8), number, np.float16), [bytes([number]) * 32])
        publish(workspace, change, {**embeddings_of(change), "other-8": other})
    known = vectors(workspace.head())
    assert {family for family, _ in known} == {FAMILY, "other-8"}
    assert compact(workspace).batches_after == 2
    assert vectors(workspace.head()) == known
    check(workspace)
    assert compact(workspace).bytes_written == 0


def test_vectors_of_a_hidden_copy_are_kept() -> None:
    """Of an extraction that two batches hold one copy is visible; families that only the other one has join it."""
    workspace = small_workspace({})
    changes = [small_change(workspace, path, "The same note.") for path in ("a.txt", "b.txt")]
    for number, change in enumerate(changes):
        publish(workspace, change, {f"family-{number}": Embedding(np.ones((1, 8), np.float16), [bytes(32)])})
    assert compact(workspace).rows_after == 1
    assert {family for family, _ in vectors(workspace.head())} == {"family-0", "family-1"}
    check(workspace)


def test_a_large_bundle_becomes_several_batches(many: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """No new batch has more rows than fit one lexical segment, and that is not tried again."""
    workspace = many
    root = contents(workspace.head())
    monkeypatch.setattr(carrying, "MOST_ROWS", 40)
    report = compact(workspace)
    assert 1 < report.batches_after < report.batches_before
    assert all(batch.rows <= 40 for batch in workspace.head().batches)
    assert contents(workspace.head()) == root
    assert compact(workspace).bytes_written == 0
    check(workspace)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), st.sampled_from("abcd"), st.integers(0, 3)),
            st.tuples(st.just("remove"), st.sampled_from("abcd"), st.just(0)),
            st.tuples(st.just("break"), st.sampled_from("abcd"), st.just(0)),
            st.tuples(st.just("compact"), st.just(""), st.just(0)),
        ),
        max_size=8,
    )
)
@limits(max_examples=12)
def test_nothing_live_is_lost_or_changed(steps: list[tuple[str, str, int]]) -> None:
    """After any history of changes, compactions among them, what is live is the same before and after, every vector
    of it is there, and the bundle is whole."""
    workspace = small_workspace({})
    for step, path, number in steps:
        if step == "write":
            published(workspace, changed(workspace, path, f"Note {number} tells of the {SUBJECTS[number]}."))
        elif step == "remove":
            published(workspace, removal(workspace, path))
        elif step == "break":
            live = workspace.head().live_sources(lambda row, path=path: row.path == path)
            seen = {each.row.source_id: (each.batch, each.number) for each in live}
            published(workspace, replace(state_change(path), seen=seen))
        else:
            compact(workspace)
    head = workspace.head()
    before = contents(head), vectors(head), head.everything.size
    compact(workspace)
    head = workspace.head()
    assert (contents(head), vectors(head), head.everything.size) == before
    assert len(head.batches) <= 1 and sum(batch.rows for batch in head.batches) == head.everything.size
    check(workspace)


def at_the_commit(action: Callable[[], object]) -> Callable[[Progress], None]:
    """A watcher that lets a rival act once, when everything is written and nothing committed."""
    waiting = [action]

    def watch(progress: Progress) -> None:
        if progress.stage == "committing" and waiting:
            waiting.pop()()

    return watch


def texts(workspace: Workspace) -> dict[str, str]:
    """Path → the text that can be found of it."""
    head = workspace.head()
    found = {}
    for batch, mask in zip(head.batches, head.everything.rows, strict=True):
        for chunk in batch.chunks(np.flatnonzero(mask).tolist()) if mask.any() else ():
            for source in head.everything.sources_of(batch.extraction(chunk.extraction).extraction_id):
                found[source.path] = chunk.text
    return found


def test_what_rivals_commit_meanwhile_stays() -> None:
    """A rival adds one source, changes one and removes one while the batch is made: all three hold afterwards."""
    workspace = small_workspace(THREE)
    rival = Workspace(workspace.store, workspace.marker, workspace.cache)

    def act() -> None:
        published(rival, small_change(rival, "new.txt", "A rival's note."))
        published(rival, changed(rival, SUBJECTS[0], "It was changed."))
        published(rival, removal(rival, SUBJECTS[1]))

    compact(workspace, progress=at_the_commit(act))
    expected = {SUBJECTS[0]: "It was changed.", SUBJECTS[2]: THREE[SUBJECTS[2]], "new.txt": "A rival's note."}
    assert texts(workspace) == expected
    assert len(workspace.head().batches) == 3
    assert workspace.head().manifest.content_root == contents(workspace.head())[0]
    check(workspace)
    compact(workspace)
    assert texts(workspace) == expected and len(workspace.head().batches) == 1


def test_a_batch_that_a_rival_counts_on_is_kept() -> None:
    """A rival brings back a text that only a superseded row named: the old batch that holds it stays in the list."""
    workspace = small_workspace({**THREE, "old.txt": "An old note."})
    again = small_change(workspace, "back.txt", "An old note.")
    published(workspace, removal(workspace, "old.txt"))
    rival = Workspace(workspace.store, workspace.marker, workspace.cache)
    act = at_the_commit(lambda: publish(rival, replace(again, parsed=()), {}))
    report = compact(workspace, progress=act)
    assert any("kept" in note.note for note in report.notes)
    assert texts(workspace) == {**THREE, "back.txt": "An old note."}
    check(workspace)
    assert compact(workspace).batches_after == 1
    assert texts(workspace) == {**THREE, "back.txt": "An old note."}


def test_of_two_compactions_at_once_one_is_enough() -> None:
    """The slower one finds its work done, says so, and leaves the faster one's snapshot as it is."""
    workspace = small_workspace(THREE)
    rival = Workspace(workspace.store, workspace.marker, workspace.cache)
    report = compact(workspace, progress=at_the_commit(lambda: compact(rival)))
    assert report.batches_after == 1 and "rival" in report.notes[0].note
    assert texts(workspace) == THREE
    check(workspace)


def test_readers_are_not_disturbed(many: Workspace, tmp_path: Path) -> None:
    """A reader that holds a snapshot gets the same answers while it is compacted, and after."""
    workspace = many
    reader = Workspace.open(tmp_path / "bundle")
    old = reader.head()
    expected = evidence(answers(reader, at=old.id))
    met: list[object] = []
    compact(workspace, progress=at_the_commit(lambda: met.append(evidence(answers(reader, at=old.id)))))
    assert met == [expected]
    assert evidence(answers(reader, at=old.id)) == expected
    assert reader.head().id == workspace.head().id


def test_killed_at_random_times(built: Path, tmp_path: Path, seed: int) -> None:
    """`kill -9` at a random moment leaves the old state or the new one, whole; the next compaction finishes."""
    root, chance = contents(Workspace.open(built / "bundle").head()), random.Random(seed)
    for number in range(3):
        bundle = tmp_path / f"bundle{number}"
        shutil.copytree(built / "bundle", bundle)
        command = [sys.executable, "-c", COMPACT, str(bundle)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, 0.5))
            process.kill()
        left = Workspace.open(bundle)
        assert contents(left.head()) == root
        compact(left)
        assert contents(left.head()) == root and len(left.head().batches) == 1
        check(left)


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.PARTIAL, Fault.LOST_ANSWER])
def test_the_kth_call_fails(tmp_path: Path, fault: Fault, seed: int) -> None:
    """Whichever call to the store fails, the old state or the new one is there, and compacting again succeeds."""
    ready = Workspace.create(tmp_path / "ready")
    for path, text in THREE.items():
        published(ready, small_change(ready, path, text))
    root = contents(ready.head())

    def trial(name: str) -> tuple[FaultyStore, Cache]:
        shutil.copytree(tmp_path / "ready", tmp_path / name)
        return FaultyStore(LocalStore(tmp_path / name)), Cache(tmp_path / f"{name}-cache")

    counting, cache = trial("counting")
    compact(Workspace.open(counting, cache=cache))
    calls = [call for call in counting.calls if fault is not Fault.PARTIAL or call.method == "write"]
    assert len(calls) > 5
    for call in random.Random(seed).sample(calls, 4):
        store, cache = trial(f"call{call.number}")
        store.script = only(call.number, fault)
        try:
            compact(Workspace.open(store, cache=cache))
        except TychoraError as error:
            assert error.next_step
        store.script = lambda call: None
        left = Workspace.open(store, cache=cache)
        assert contents(left.head()) == root
        compact(left)
        assert contents(left.head()) == root and len(left.head().batches) == 1
        assert not list((tmp_path / f"call{call.number}" / "staging").iterdir())


def test_compaction_is_advised_for_many_batches() -> None:
    """From more than 40 batches on."""
    workspace = small_workspace({"a.txt": "A note."})
    manifest: Manifest = workspace.head().manifest
    entries = manifest.batches * (MANY_BATCHES + 1)
    assert needs_compaction(manifest.model_copy(update={"batches": entries}))
    assert not needs_compaction(manifest.model_copy(update={"batches": entries[:-1]}))
