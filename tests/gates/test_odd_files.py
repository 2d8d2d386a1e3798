"""Gate H5: malformed and odd files, each of them indexed or set aside with a reason."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bundles import read_everything, settings, write_corpus
from odd import ODDITIES
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_functions.progress import Progress
from tychora_schemas.receipts import AddReport, PathReport

FAILURES = re.compile(r"parser failed|parser died|longer than|more than \d+ MB of memory")
LISTS = ("added", "changed", "moved", "removed", "unchanged", "held", "quarantined", "skipped")


@dataclass(frozen=True)
class Run:
    """One add over all oddities: what came of it, and which paths each oddity stands for."""

    workspace: Workspace
    corpus: Path
    report: AddReport
    paths: dict[str, list[str]]
    entries: dict[str, list[tuple[str, PathReport]]]
    """Path → the lists it is in, with its entry."""


def entries_of(report: AddReport) -> dict[str, list[tuple[str, PathReport]]]:
    entries: dict[str, list[tuple[str, PathReport]]] = {}
    for name in LISTS:
        for entry in getattr(report, name):
            entries.setdefault(entry.path, []).append((name, entry))
    return entries


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """All oddities below one root, among them a few ordinary files, added once."""
    folder = tmp_path_factory.mktemp("odd")
    corpus = write_corpus(folder / "corpus", files=5)
    paths = {}
    for name, (make, _) in ODDITIES.items():
        place = corpus / re.sub(r"[^a-zA-Z0-9]+", "-", name)
        place.mkdir()
        paths[name] = [f"{place.name}/{path}" for path in make(place)]
    workspace = Workspace.create(folder / "bundle")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TYCHORA_STATE", str(folder / "state"))
            flags = settings(capture_maximum_bytes=64 << 20, parse_seconds=40.0, parse_workers=2)
            report = add(workspace, [corpus], settings=flags)
        yield Run(workspace, corpus, report, paths, entries_of(report))
    finally:
        # `shutil.rmtree` recurses, and Python's paths are too long for the system here.
        subprocess.run(["rm", "-rf", str(corpus)], check=True)


def test_h5_there_are_enough() -> None:
    """H5: at least 130 oddities."""
    assert len(ODDITIES) >= 130


@pytest.mark.parametrize("name", ODDITIES)
def test_h5_each_oddity_is_indexed_or_set_aside(run: Run, name: str) -> None:
    """H5: each of its paths is in exactly one list of the report, in one that is right for it, and with a reason unless
    it is indexed; no reason is a failure or the end of a parser."""
    for path in run.paths[name]:
        found = run.entries.get(path, [])
        assert len(found) == 1, f"{path} is in {len(found)} lists"
        (list_name, entry) = found[0]
        assert list_name in ODDITIES[name][1], f"{path} is {list_name}: {entry.reason}"
        if list_name != "added":
            assert entry.reason
            assert not FAILURES.search(entry.reason), entry.reason


def test_h5_every_path_is_reported_once(run: Run) -> None:
    """H5: what lies below the root is in the report, each path in exactly one list, and nothing else is."""
    assert all(len(found) == 1 for found in run.entries.values())
    wanted = {path for paths in run.paths.values() for path in paths}
    met = {path for path in run.entries if "two-thousand-folders" not in path}
    others = {path for path in met - wanted if not path.startswith("part")}
    assert not others
    assert not run.report.interrupted and not run.report.held


def test_h5_two_thousand_folders_are_reported(run: Run) -> None:
    """H5: folders too deep for the system's calls are one entry, with a reason."""
    (path,) = [path for path in run.entries if path.startswith("two-thousand-folders")]
    assert run.entries[path][0][0] in ("quarantined", "added")


def test_h5_the_bundle_is_whole(run: Run) -> None:
    """H5: after all that, the bundle verifies and answers; every quote stands at its place in its original."""
    report = verify(run.workspace)
    assert report.ok, report.problems
    assert list(read_everything(run.workspace))
    kinds = Counter(list_name for found in run.entries.values() for list_name, _ in found)
    assert kinds["added"] > 50 and kinds["quarantined"] > 30


def test_h5_adding_again_changes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """H5: a second add meets the same paths and reports each once; nothing is indexed or removed by it."""
    monkeypatch.setenv("TYCHORA_STATE", str(run.corpus.parent / "state"))
    flags = settings(capture_maximum_bytes=64 << 20, parse_seconds=40.0, parse_workers=2)
    again = add(Workspace.open(run.workspace.store), [run.corpus], settings=flags)
    assert not again.added and not again.changed and not again.moved and not again.removed
    assert {path for path, found in entries_of(again).items() if len(found) == 1} == set(run.entries)
    assert {entry.path for entry in again.unchanged} == {entry.path for entry in run.report.added}
    assert {entry.path: entry.reason for entry in again.quarantined} == {
        entry.path: entry.reason for entry in run.report.quarantined
    }


def test_h5_a_file_that_vanishes(tmp_path: Path) -> None:
    """H5: a file that is removed while the run is at work is quarantined with that reason, and the run goes on."""
    corpus = write_corpus(tmp_path / "corpus", files=8)
    victims = sorted(corpus.rglob("*.txt"))

    def watch(progress: Progress) -> None:
        if progress.stage == "looking" and progress.current == sorted(_names(corpus))[-1]:
            for victim in victims:
                victim.unlink(missing_ok=True)

    names = {victim.relative_to(corpus).as_posix() for victim in victims}
    report = add(Workspace.create(tmp_path / "bundle"), [corpus], settings=settings(), progress=watch)
    assert {entry.path for entry in report.quarantined} == names
    assert all("vanished" in (entry.reason or "") for entry in report.quarantined)
    assert len(report.added) == 8 - len(victims)


def _names(corpus: Path) -> list[str]:
    return [path.relative_to(corpus).as_posix() for path in corpus.rglob("*") if path.is_file()] or [""]


def test_h5_a_file_that_grows(tmp_path: Path) -> None:
    """H5: a file that somebody keeps writing to is captured in one of its states, or quarantined with that reason."""
    corpus = write_corpus(tmp_path / "corpus", files=5)
    log = corpus / "growing.txt"
    line = "One more line of the log.\n"
    log.write_text(line)
    stop = threading.Event()

    def grow() -> None:
        with log.open("a") as stream:
            while not stop.is_set():
                stream.write(line)
                stream.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        workspace = Workspace.create(tmp_path / "bundle")
        report = add(workspace, [corpus], settings=settings(), progress=lambda progress: None)
    finally:
        stop.set()
        writer.join()
    ((list_name, entry),) = entries_of(report)["growing.txt"]
    if list_name == "quarantined":
        assert "keeps changing" in (entry.reason or "")
    else:
        (live,) = workspace.head().live_sources(lambda row: row.path == "growing.txt")
        captured = workspace.objects.get(live.row.content_sha256 or "")
        assert log.read_bytes().startswith(captured) and len(captured) == live.row.size
    assert verify(workspace).ok


def test_h5_a_file_without_permission(tmp_path: Path) -> None:
    """H5: a file that this user may not read is quarantined with that reason (the superuser reads it anyway)."""
    corpus = write_corpus(tmp_path / "corpus", files=5)
    secret = corpus / "secret.txt"
    secret.write_text("Nobody may read this.")
    secret.chmod(0)
    readable = os.access(secret, os.R_OK)
    report = add(Workspace.create(tmp_path / "bundle"), [corpus], settings=settings())
    ((list_name, entry),) = entries_of(report)["secret.txt"]
    assert list_name == ("added" if readable else "quarantined")
    assert readable or "permission" in (entry.reason or "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such device")
def test_h5_a_device_as_root(tmp_path: Path) -> None:
    """H5: a device that is asked for by itself is refused, never read."""
    assert stat.S_ISCHR(Path("/dev/zero").stat().st_mode)
    report = add(Workspace.create(tmp_path / "bundle"), ["/dev/zero"], settings=settings())
    ((list_name, entry),) = entries_of(report).popitem()[1]
    assert list_name == "quarantined" and "no regular file" in (entry.reason or "")
