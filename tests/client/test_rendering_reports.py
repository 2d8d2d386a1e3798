"""Reports as text: what they say, and that no path or text in them reaches a terminal as more than text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from tychora_client.render import copies, difference, reports, statements, tables, upkeep
from tychora_client.render.ansi import Style
from tychora_schemas.difference import AnswerDrift, DifferenceReport, DriftedSegment, SourceDifference, UnitDifference
from tychora_schemas.locator import Locator
from tychora_schemas.maintenance import (
    CollectReport,
    CompactReport,
    ErasureReport,
    ExpiryReport,
    PolicyEntry,
    RollbackReport,
    StatementReport,
    TagReport,
    UpgradeReport,
)
from tychora_schemas.proof import ProofCheck
from tychora_schemas.receipts import AddReport, NamedPath, PathReport, StatementEntry, VerifyReport
from tychora_schemas.transport import MergeConflict, PackReport, SyncReport, UnpackReport

HOSTILE = "\x1b]0;owned\x07\x1b[2Jred \x9b31m \u202egnp.exe\u202c \u200bzero\nfalse line\t\r\x08 end\udcff"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

NAMED = [NamedPath(path=HOSTILE, note=HOSTILE)]
PATHS = [PathReport(path=HOSTILE, reason=HOSTILE, next_step=HOSTILE, size=1)]
ID = "ab" * 32
LOCATOR = Locator(lines=(1, 2))
RULE = {"rule": "classification", "classification": HOSTILE, "collection": HOSTILE, "reason": HOSTILE}

RENDERED: list[tuple[Callable[[Any, Style], str], Any]] = [
    (
        copies.synced,
        SyncReport(
            source=HOSTILE,
            destination=HOSTILE,
            outcome="merged",
            files=1,
            tags=[HOSTILE],
            conflicts=[MergeConflict(path=HOSTILE, source_id=HOSTILE, note=HOSTILE)],
            refused=NAMED,
            notes=NAMED,
        ),
    ),
    (
        copies.packed,
        PackReport(
            path=HOSTILE, snapshot_id=ID, sha256=ID, files=1, bytes=1, snapshots=1, originals=False, notes=NAMED
        ),
    ),
    (copies.unpacked, UnpackReport(path=HOSTILE, snapshot_id=ID, files=1, bytes=1)),
    (copies.tagged, TagReport(name=HOSTILE, snapshot_id=ID, before="cd" * 32)),
    (copies.checked, ProofCheck(holds=False, reason=HOSTILE)),
    (
        copies.checked,
        ProofCheck(
            holds=True,
            reason=HOSTILE,
            snapshot_id=ID,
            source_path=HOSTILE,
            content_sha256=ID,
            quote=HOSTILE,
            locators=[LOCATOR, Locator(sheet=HOSTILE), Locator(path=HOSTILE)],
        ),
    ),
    (
        difference.difference,
        DifferenceReport(
            before=ID,
            after=ID,
            same_content=False,
            sources=[
                SourceDifference(
                    change="changed",
                    source_id="source_1",
                    path=HOSTILE,
                    was=HOSTILE,
                    collection=HOSTILE,
                    units=[
                        UnitDifference(change="added", kind="paragraph", text=HOSTILE, locator=Locator(path=HOSTILE))
                    ],
                    units_added=2,
                )
            ],
            answers=[
                AnswerDrift(
                    question=HOSTILE,
                    same=False,
                    kept=1,
                    verdict_before="none",
                    verdict_after="partial",
                    segments=[
                        DriftedSegment(path=HOSTILE, text=HOSTILE, rank_before=before, rank_after=after)
                        for before, after in ((1, 2), (0, 1), (3, 0))
                    ],
                )
            ],
        ),
    ),
    (upkeep.compacted, CompactReport(snapshot_id=ID, batches_before=9, batches_after=1, rows_before=9, rows_after=8)),
    (upkeep.collected, CollectReport(removed=PATHS, removed_bytes=1, young=2, snapshots_removed=[ID], notes=NAMED)),
    *(
        (
            upkeep.stated,
            StatementReport(statement_id=ID, kind=kind, target=HOSTILE, sources=PATHS * 12, made=made),
        )
        for kind in ("withdrawal", "restoration", "policy")
        for made in (True, False)
    ),
    (upkeep.erased, ErasureReport(statement_id=ID, target=HOSTILE, sources=PATHS, notes=NAMED)),
    (upkeep.policies, [PolicyEntry(statement_id=ID, time="2026-01-01T00:00:00", subject=RULE)]),
    (upkeep.expired, ExpiryReport(due=PATHS)),
    (upkeep.rolled_back, RollbackReport(snapshot_id=ID, before="cd" * 32, restored=ID, sources=1)),
    (upkeep.upgraded, UpgradeReport(format_before=1, format=2, newest=2, brings=["withdrawals"])),
    (
        statements.statements,
        [
            StatementEntry(id=ID, kind="policy", time="2026-01-01T00:00:00", subject=RULE),
            StatementEntry(id=ID, kind="withdrawal", time="2026", subject={"target": HOSTILE, "reason": HOSTILE}),
            StatementEntry(id=ID, kind="erasure", time="2026", subject={"sources": [HOSTILE, ID], "contents": [ID]}),
        ],
    ),
    (
        reports.verified,
        VerifyReport(ok=False, snapshot_id=ID, files=1, bytes=1, units=1, problems=NAMED, notes=NAMED, repaired=NAMED),
    ),
    (reports.added, AddReport(quarantined=PATHS, notes=NAMED)),
]


@pytest.mark.parametrize(("render", "report"), RENDERED)
def test_hostile_paths_and_texts_are_shown_not_obeyed(render: Callable[[Any, Style], str], report: Any) -> None:
    shown = render(report, Style())
    assert not OBEYED.search(shown)
    assert "\nfalse line" not in shown
    assert shown.endswith("\n")
    assert not shown.endswith("\n\n")


def test_every_report_of_a_verb_is_rendered_above() -> None:
    from tychora_schemas import maintenance, transport

    kinds = {type(report) for _, report in RENDERED}
    for module in (maintenance, transport):
        models = {each for name in module.__all__ if issubclass(each := getattr(module, name), BaseModel)}
        assert models - kinds <= {PolicyEntry, MergeConflict}, "parts of others"


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ({"rule": "retention", "days": 1}, "retain 1 day"),
        ({"rule": "access", "effect": "revoke", "principal": "user:anna"}, "revoke user:anna"),
        ({"rule": "access", "effect": None, "principal": "*"}, "access of * lifted"),
        ({"rule": "retention", "days": None}, "retention lifted"),
        ({}, "policy"),
    ],
)
def test_a_rule_in_words(subject: dict[str, object], words: str) -> None:
    assert statements.rule_of(subject) == words


def test_what_was_collected_is_counted_by_folder() -> None:
    removed = [PathReport(path=path) for path in ("batches/b/tables/x", "batches/b/text/y", "objects/ab/z")]
    shown = upkeep.collected(CollectReport(removed=removed, removed_bytes=1500, batches_rewritten=1), Style())
    assert shown == "● 3 files removed (1.5 kB: 2 of batches, 1 of objects); 1 batch written anew\n"


def test_a_table_keeps_its_columns() -> None:
    shown = tables.table(("a", "b"), [("wide cell", "x"), ("y", "z")], Style())
    assert shown.splitlines() == ["a          b", "wide cell  x", "y          z"]
