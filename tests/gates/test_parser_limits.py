"""Gate H6: a parser that hangs, eats memory or crashes costs one file, never the run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundles import settings
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_schemas.receipts import AddReport

SABOTAGE = '''
"""Imported by every Python that starts with this folder on its path: makes some texts deadly to their parser."""
import sys

if "tychora_functions.parse.worker" in getattr(sys, "orig_argv", ()):
    import ctypes, mmap, os, signal, time
    from tychora_functions.parse import plain

    honest = plain.parse

    def swallow(seconds):
        taken, end = [], time.monotonic() + seconds
        while time.monotonic() < end and len(taken) < 128:
            taken.append(bytearray(64 << 20))

    def map_shared():
        taken = []
        while len(taken) < 128:
            block = mmap.mmap(-1, 64 << 20)
            block.write(b"x" * (64 << 20))
            taken.append(block)
            time.sleep(0.1)

    def spin():
        while True:
            pass

    def ignore_signals():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)

    def leave_half_an_answer():
        for number in range(3, 30):
            try:
                os.write(number, b"\\xff\\xff\\xff\\xff no answer")
            except OSError:
                pass
        os._exit(0)

    def print_a_lot():
        os.write(1, b"noise on standard output " * 10_000)
        print("more noise " * 10_000, flush=True)

    DEEDS = {
        b"HANG": lambda: time.sleep(3_600),
        b"SPIN": spin,
        b"DEAF": ignore_signals,
        b"SWALLOW": lambda: swallow(60),
        b"MAP": map_shared,
        b"EXIT": lambda: os._exit(3),
        b"SEGV": lambda: ctypes.string_at(8),
        b"ABORT": os.abort,
        b"HALF": leave_half_an_answer,
        b"NOISE": print_a_lot,
        b"RAISE": lambda: (_ for _ in ()).throw(SystemExit(7)),
        b"DEEP": lambda: deep(0),
    }

    def deep(level):
        return deep(level + 1) + deep(level + 1)

    def parse(data, name):
        deed = DEEDS.get(data.split(b" ", 1)[0])
        if deed is not None:
            deed()
        return honest(data, name)

    plain.parse = parse
'''


@pytest.fixture
def sabotage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsers of the worker processes do what the first word of a text says."""
    folder = tmp_path / "sabotage"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SABOTAGE)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def run(folder: Path, words: list[str], **flags: object) -> tuple[AddReport, float]:
    """Add one file per word between harmless files; returns the report and the seconds it took."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, word in enumerate(words):
        (corpus / f"{number}-before.txt").write_text(f"The harmless note {number} stands before.")
        (corpus / f"{number}-deadly.txt").write_text(f"{word} is what the text number {number} says.")
    (corpus / "z-last.txt").write_text("The last note.")
    workspace = Workspace.create(folder / "bundle")
    started = time.monotonic()
    report = add(workspace, [corpus], settings=settings(**{"parse_workers": 2, **flags}))
    seconds = time.monotonic() - started
    assert {entry.path for entry in report.quarantined} == {f"{number}-deadly.txt" for number in range(len(words))}
    assert len(report.added) == len(words) + 1
    found = verify(workspace)
    assert found.ok, found.problems
    return report, seconds


@pytest.mark.usefixtures("sabotage")
def test_h6_a_parser_that_hangs(tmp_path: Path) -> None:
    """H6: a parser that sleeps, spins or ignores signals, 5 times: ended within its limit + 5 s (+ the start of the
    next worker), quarantined with that reason, all other files indexed."""
    report, seconds = run(tmp_path, ["HANG", "SPIN", "DEAF", "HANG", "DEAF"], parse_seconds=4.0)
    assert {entry.reason for entry in report.quarantined} == {"reading it took longer than 4 seconds"}
    assert all(entry.next_step for entry in report.quarantined)
    assert seconds < 5 * (4 + 5 + START)


START = 15
"""Seconds that a loaded machine may take to start a worker."""


@pytest.mark.usefixtures("sabotage")
def test_h6_a_parser_that_eats_memory(tmp_path: Path) -> None:
    """H6: a parser that wants 8 GB, from the heap or as mapped pages, 5 times: stopped at its limit and quarantined
    with that reason, all other files indexed."""
    words = ["SWALLOW", "MAP", "SWALLOW", "MAP", "SWALLOW"]
    report, _ = run(tmp_path, words, parse_memory_megabytes=300, parse_seconds=60.0)
    assert {entry.reason for entry in report.quarantined} == {"reading it took more than 300 MB of memory"}


@pytest.mark.usefixtures("sabotage")
def test_h6_a_parser_that_crashes(tmp_path: Path) -> None:
    """H6: a parser that exits, aborts, is killed by a signal or leaves half an answer: quarantined with that reason,
    all other files indexed."""
    words = ["EXIT", "SEGV", "ABORT", "HALF", "RAISE", "SEGV"]
    report, _ = run(tmp_path, words, parse_seconds=60.0)
    reasons = {entry.path.split("-")[0]: entry.reason or "" for entry in report.quarantined}
    assert "exit status 3" in reasons["0"]
    assert "SIGSEGV" in reasons["1"] and "SIGSEGV" in reasons["5"]
    assert "SIGABRT" in reasons["2"]
    assert "died" in reasons["3"] and "died" in reasons["4"]


@pytest.mark.usefixtures("sabotage")
def test_h6_a_parser_that_recurses_without_end(tmp_path: Path) -> None:
    """H6: endless recursion is told as nesting, and costs one file."""
    report, _ = run(tmp_path, ["DEEP"])
    assert "nested" in (report.quarantined[0].reason or "")


@pytest.mark.usefixtures("sabotage")
def test_h6_a_parser_that_prints(tmp_path: Path) -> None:
    """H6: what a parser writes to standard output is no part of its answer."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(5):
        (corpus / f"{number}.txt").write_text(f"NOISE is what the note number {number} makes.")
    report = add(Workspace.create(tmp_path / "bundle"), [corpus], settings=settings(parse_workers=1))
    assert len(report.added) == 5 and not report.quarantined


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
@pytest.mark.usefixtures("sabotage")
def test_a_parser_that_hangs_does_not_outlive_a_killed_run(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "deadly.txt").write_text("SPIN is what this text says.")
    Workspace.create(tmp_path / "bundle")
    command = [sys.executable, "-m", "tychora_client", "add", str(tmp_path / "bundle"), str(corpus)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        workers = _eventually(lambda: _children(run.pid))
        assert workers
        run.kill()
    assert _eventually(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _eventually(what: Callable[[], Any], seconds: float = 30.0) -> Any:
    """The first true answer within a generous time, else the last one."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.1)
    return found
