"""Gates K1 and K3: a run that is killed at any moment, and a store that fails at any call."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bundles import contents, embeddings_of, read_everything, settings, small_change, write_corpus
from support.faulty import Fault, FaultyStore, only
from tychora_format.cache import Cache
from tychora_format.store import LocalStore
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_functions.publish import publish
from tychora_schemas.errors import CorruptWorkspace, TychoraError
from tychora_schemas.receipts import AddReport

ADDER = Path(__file__).with_name("adder.py")
PUBLISH_CHUNKS = 12
"""Small enough that a run over the corpus commits several times."""


@contextmanager
def adding(workspace: Path, corpus: Path) -> Iterator[subprocess.Popen[str]]:
    """An add in a process of its own, which has loaded what it needs and starts now."""
    command = [sys.executable, str(ADDER), str(workspace), str(corpus), str(PUBLISH_CHUNKS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def check_state(url: Path) -> int:
    """The bundle opens, verifies, and answers; returns how many commits it holds."""
    workspace = Workspace.open(url)
    report = verify(workspace)
    assert report.ok, report.problems
    assert list(read_everything(workspace))
    return len(workspace.log.history())


def kill_and_resume(folder: Path, rounds: int, kills: int, seed: int) -> set[int]:
    """Kill `kills` adds into each of `rounds` bundles, then let one finish; returns the numbers of commits met."""
    corpus = write_corpus(folder / "corpus", files=12)
    Workspace.create(folder / "undisturbed")
    with adding(folder / "undisturbed", corpus) as process:
        started = time.monotonic()
        process.communicate()
        length = time.monotonic() - started
    expected = contents(Workspace.open(folder / "undisturbed").head())
    chance = random.Random(seed)
    commits = set()
    for number in range(rounds):
        bundle = folder / f"bundle{number}"
        Workspace.create(bundle)
        for _ in range(kills):
            with adding(bundle, corpus) as process:
                time.sleep(chance.uniform(0, length))
                process.kill()
            commits.add(check_state(bundle))
        flags = settings(publish_chunks=PUBLISH_CHUNKS, parse_workers=1)
        report = add(Workspace.open(bundle), [corpus], settings=flags)
        assert not report.interrupted and not report.quarantined
        check_state(bundle)
        assert contents(Workspace.open(bundle).head()) == expected
    return commits


def test_k1_killed_at_random_times(tmp_path: Path, seed: int) -> None:
    """K1: 40 times `kill -9` at a random moment of add and publish: each time the last snapshot is valid, and resuming
    ends at the same snapshot contents as an undisturbed run."""
    commits = kill_and_resume(tmp_path, rounds=10, kills=4, seed=seed)
    assert len(commits) > 1, "every kill came before the first commit"


@pytest.mark.nightly
def test_k1_killed_many_times(tmp_path: Path, seed: int) -> None:
    """K1: the same with 2,000 kills."""
    kill_and_resume(tmp_path, rounds=500, kills=4, seed=seed)


def test_k1_interrupted_politely(tmp_path: Path) -> None:
    """K1: on SIGINT a run ends by itself, says that it was interrupted, leaves a valid bundle that holds what was read,
    and the next add finishes the work."""
    corpus, bundle = write_corpus(tmp_path / "corpus", files=60), tmp_path / "bundle"
    Workspace.create(bundle)
    with adding(bundle, corpus) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "committing\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    report = AddReport.model_validate_json(output.splitlines()[-1])
    assert report.interrupted and report.added and report.held
    assert all(entry.reason for entry in report.held)
    check_state(bundle)
    live = {source.row.path for source in Workspace.open(bundle).head().live_sources()}
    assert live == {entry.path for entry in report.added}
    finished = add(Workspace.open(bundle), [corpus], settings=settings())
    assert {entry.path for entry in finished.added} == {entry.path for entry in report.held}
    assert {entry.path for entry in finished.unchanged} == live


class Trial:
    """A bundle with one commit in a store that can be told to fail, and a change waiting to be published."""

    def __init__(self, folder: Path) -> None:
        self.store = FaultyStore(LocalStore(folder / "bundle"))
        self.cache = Cache(folder / "cache")
        workspace = Workspace.create(self.store, cache=self.cache)
        first = small_change(workspace, "first.txt", "The first note is about a pump.")
        self.before = publish(workspace, first, embeddings_of(first)).snapshot
        self.change = small_change(workspace, "second.txt", "The second note is about a boiler.")
        self.embeddings = embeddings_of(self.change)
        self.store.calls.clear()

    def publish(self) -> None:
        publish(Workspace.open(self.store, cache=self.cache), self.change, self.embeddings)

    def paths(self) -> list[str]:
        workspace = Workspace.open(self.store, cache=self.cache)
        assert list(read_everything(workspace))
        return sorted(source.row.path for source in workspace.head().live_sources())


def calls_of_a_publish(folder: Path) -> list[str]:
    trial = Trial(folder)
    trial.publish()
    return [call.method for call in trial.store.calls]


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.TIMEOUT, Fault.PARTIAL, Fault.LOST_ANSWER])
def test_k3_the_kth_call_fails(tmp_path: Path, fault: Fault) -> None:
    """K3: the k-th storage call of a publish fails, for every k: nothing is half visible, repeating the publish
    succeeds, and what was left behind is harmless."""
    methods = calls_of_a_publish(tmp_path / "counting")
    assert len(methods) > 10
    for number, method in enumerate(methods, start=1):
        trial = Trial(tmp_path / f"call{number}")
        trial.store.script = only(number, fault)
        try:
            trial.publish()
            told = True
        except TychoraError as error:
            assert error.next_step
            told = False
        trial.store.script = lambda call: None
        if fault is Fault.PARTIAL and method == "create":
            check_torn_entry(trial, told)
            continue
        assert trial.paths() == (["first.txt", "second.txt"] if told else trial.paths())
        assert trial.paths() in (["first.txt"], ["first.txt", "second.txt"])
        trial.publish()
        assert trial.paths() == ["first.txt", "second.txt"]
        assert len(Workspace.open(trial.store, cache=trial.cache).log.history()) == 2
        report = verify(Workspace.open(trial.store, cache=trial.cache))
        torn = {trial.store.calls[number - 1].path} if fault is Fault.PARTIAL else set()
        assert {problem.path for problem in report.problems} <= torn
        assert not list((tmp_path / f"call{number}" / "bundle" / "staging").iterdir())


def check_torn_entry(trial: Trial, told: bool) -> None:
    """A store that breaks its promise and leaves half a log entry: everybody is told which file to remove."""
    assert not told
    with pytest.raises(CorruptWorkspace) as caught:
        trial.paths()
    entry = "log/main/00000000000000000002.json"
    assert entry in caught.value.message
    assert entry in {problem.path for problem in verify(Workspace.open(trial.store, cache=trial.cache)).problems}
    trial.store.delete(entry)
    trial.publish()
    assert trial.paths() == ["first.txt", "second.txt"]
