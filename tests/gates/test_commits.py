"""Gates C1 and C4: commits by many writers, and by one whose answers get lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from bundles import embeddings_of, small_change, state_change, write_corpus
from support.faulty import Fault, FaultyStore, every
from tychora_format.cache import Cache
from tychora_format.store import LocalStore, Store, open_store
from tychora_format.workspace import Workspace
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import Change, publish
from tychora_schemas.errors import ProviderUnavailable
from tychora_schemas.receipts import AddReport

WRITER = Path(__file__).with_name("writer.py")
ADDER = Path(__file__).with_name("adder.py")
WRITERS = 8


def run_writers(url: str, commits: int) -> dict[str, list[str]]:
    """Start all writers, let them go at once, and return the snapshots that each says it has committed."""
    with ExitStack() as stack:
        writers = {
            f"writer{number}": stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(WRITER), url, f"writer{number}", str(commits)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(WRITERS)
        }
        for writer in writers.values():
            assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        said = {}
        for writer in writers.values():
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for name, writer in writers.items():
            said[name] = writer.communicate(timeout=1_200)[0].split()
            assert writer.returncode == 0
        return said


def check_appends(store: Store, commits: int) -> Workspace:
    Workspace.create(store)
    said = run_writers(store.url, commits)
    workspace = Workspace.open(open_store(store.url))
    history = workspace.log.history()
    assert [entry.number for entry in history] == list(range(WRITERS * commits, 0, -1))
    assert workspace.log.sequence.numbers() == list(range(1, WRITERS * commits + 1))
    assert len({entry.write_id for entry in history}) == len(history)
    assert sorted(entry.snapshot for entry in history) == sorted(each for ids in said.values() for each in ids)
    live = {source.row.path for source in workspace.head().live_sources()}
    assert live == {f"{name}/{number}.txt" for name in said for number in range(commits)}
    return workspace


def test_c1_processes_append_to_a_local_directory(local_store: LocalStore) -> None:
    """C1: of 8 × 25 commits every one is in the log once, numbers without gaps, nothing lost, and verify is ok."""
    report = verify(check_appends(local_store, 25))
    assert report.ok, report.problems


def test_c1_processes_append_to_s3(s3_store: Store) -> None:
    """C1 on moto's S3 server: of 8 × 25 commits every one is in the log once, numbers without gaps, nothing lost."""
    check_appends(s3_store, 25)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["local", "s3"])
def test_c1_processes_append_for_long(request: pytest.FixtureRequest, kind: str) -> None:
    """C1: the same of 8 × 200 commits."""
    check_appends(request.getfixturevalue(f"{kind}_store"), 200)


def test_c1_two_adds_of_one_folder_at_once(tmp_path: Path) -> None:
    """C1: who adds a folder while somebody else adds the same one finds the work done: nothing is there twice, nothing
    is lost, and neither is told of a conflict."""
    corpus = write_corpus(tmp_path / "corpus", files=12)
    Workspace.create(tmp_path / "bundle")
    command = [sys.executable, str(ADDER), str(tmp_path / "bundle"), str(corpus), "1000"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as second,
    ):
        said = [process.communicate(timeout=600)[0].splitlines()[-1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert not any(AddReport.model_validate_json(line).conflicts for line in said)
    workspace = Workspace.open(tmp_path / "bundle")
    assert len(workspace.log.history()) == 1
    assert len(list(workspace.head().live_sources())) == 12
    assert verify(workspace).ok


def publish_until_told(workspace: Workspace, change: Change, attempts: int = 10) -> str:
    """Repeat a publish whose store did not answer, as its next step says; a conflict is never raised."""
    for _ in range(attempts):
        try:
            published = publish(workspace, change, {})
        except ProviderUnavailable:
            continue
        assert not published.conflicts
        return published.snapshot.id
    raise AssertionError("publishing never came to an end")


def check_log(workspace: Workspace, commits: list[str], live: Mapping[str, bool]) -> None:
    assert [entry.snapshot for entry in reversed(workspace.log.history())] == commits
    assert {source.row.path for source in workspace.head().live_sources()} == {path for path in live if live[path]}


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.REPEATED])
def test_c4_lost_answers_of_commits(tmp_path: Path, fault: Fault) -> None:
    """C4: every third commit's answer is lost after it landed, 150 commits: no conflict, none double, none lost."""
    store = FaultyStore(LocalStore(tmp_path / "bundle"))
    workspace = Workspace.create(store, cache=Cache(tmp_path / "cache"))
    store.script = every(3, fault, "create")
    commits, live = [], {}
    for number in range(150):
        commits.append(publish(workspace, state_change(f"{number}.bin"), {}).snapshot.id)
        live[f"{number}.bin"] = True
    check_log(workspace, commits, live)


def test_c4_lost_answers_of_all_writes(tmp_path: Path) -> None:
    """C4: the answer of every third write of any file is lost after it landed, and the publish is repeated until it is
    told to be done, 150 commits: no conflict, none double, none lost."""
    store = FaultyStore(LocalStore(tmp_path / "bundle"))
    workspace = Workspace.create(store, cache=Cache(tmp_path / "cache"))
    store.script = every(3, Fault.LOST_ANSWER)
    commits, live = [], {}
    for number in range(100):
        path = f"{number}.bin"
        live[path] = True
        commits.append(publish_until_told(workspace, state_change(path)))
        if number % 2:
            (source,) = workspace.head().live_sources(lambda row, path=path: row.path == path)
            seen = {source.row.source_id: (source.batch, source.number)}
            live[path] = False
            commits.append(publish_until_told(workspace, Change(removed=[source], seen=seen)))
    check_log(workspace, commits, live)
    store.script = lambda call: None
    report = verify(workspace)
    assert report.ok, report.problems


def test_c4_a_whole_batch_survives_lost_commit_answers(tmp_path: Path) -> None:
    """C4: with text and index files in the batch, a lost commit answer is no reason to write anything twice."""
    store = FaultyStore(LocalStore(tmp_path / "bundle"))
    workspace = Workspace.create(store, cache=Cache(tmp_path / "cache"))
    store.script = every(1, Fault.LOST_ANSWER, "create")
    change = small_change(workspace, "note.txt", "A note about the boiler.")
    published = publish(workspace, change, embeddings_of(change))
    again = publish(workspace, change, embeddings_of(change))
    assert published.snapshot.id == again.snapshot.id
    assert len(workspace.log.history()) == 1
    assert len(list(store.inner.list("snapshots/"))) == 1
