"""The demo, run as `make demo` runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tychora_schemas.settings import ENVIRONMENT_PREFIX, MACHINE_VARIABLES

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/data/demo"

EVIDENCE = [
    (r"papers/dense-passage-retrieval\.pdf · p\. 4", "21,015,324 passages"),
    (r"requirements/cFE_FunctionalRequirements\.csv · lines \d+", "ES: Invalid Command Counter,cES1003"),
    (r"law/de-bdsg-2018\.md · lines \d+", "mindestens 20 Personen"),
    (r"law/zh-个人信息保护法-2021\.md · lines \d+", "五千万元以下"),
    (r"schemas/tychora_schemas/identity\.py · lines \d+", "domain tag"),
]
"""What each answerable question shows: a place, and words of the evidence."""


def is_no_setting(name: str) -> bool:
    return name in MACHINE_VARIABLES or not name.startswith(ENVIRONMENT_PREFIX)


def run(workspace: Path) -> str:
    """What the demo prints; with the default settings, whatever the surroundings set."""
    kept = {name: value for name, value in os.environ.items() if is_no_setting(name)}
    environment = {**kept, "COLUMNS": "100", "PYTHONUTF8": "1"}
    command = [sys.executable, ROOT / "docs/demo.py", workspace]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_question_is_answered_with_its_evidence_and_a_second_run_reads_nothing(tmp_path: Path) -> None:
    first = run(tmp_path / "demo")
    filled, *answers = re.split(r"^── \d\. .*$", first, flags=re.MULTILINE)
    assert len(answers) == len(EVIDENCE) + 1
    for answer, (place, words) in zip(answers, EVIDENCE, strict=False):
        assert re.search(place, answer), answer
        assert words in answer
        assert "The evidence covers the question." in answer
        held, quotes = re.search(r"✓ (\d+) of (\d+) quotes", answer).groups()  # type: ignore[union-attr]
        assert held == quotes != "0"
    assert re.search(r"page 4 from \(\d+, \d+\) to \(\d+, \d+\) points", answers[0])
    assert "No evidence was found." in answers[-1]
    assert "no exact match for CVE-2021-44228" in answers[-1]

    again, *answers_again = re.split(r"^── \d\. .*$", run(tmp_path / "demo"), flags=re.MULTILINE)
    assert "(0 read" in again
    assert "(0 read" not in filled
    assert answers_again == answers


def test_every_document_of_the_demo_names_its_source_and_licence() -> None:
    documents = [path for path in (DATA / "documents").rglob("*") if path.is_file()]
    rows = (DATA / "LICENSES.md").read_text("utf-8").splitlines()
    listed = {row.split("`")[1]: row for row in rows if row.startswith("| `")}
    assert set(listed) == {path.relative_to(DATA).as_posix() for path in documents}
    assert all(len([cell for cell in row.split("|") if cell.strip()]) == 4 for row in listed.values())
    assert sum(path.stat().st_size for path in documents) <= 6_000_000
