"""Verifies a workspace: the bundle's invariants, and every unit against the retained original."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress

from tychora_format.batch import Batch
from tychora_format.history import ancestors
from tychora_format.invariants import (
    Problem,
    check_batch,
    check_files,
    check_log,
    check_objects,
    check_snapshot,
    check_store,
    unnamed_snapshots,
)
from tychora_format.left_out import LEFT_OUT, originals_left_out
from tychora_format.manifest import BatchEntry, FileEntry, snapshot_path
from tychora_format.tables import ExtractionRow
from tychora_format.workspace import Workspace
from tychora_functions.maintain.advice import advice
from tychora_functions.progress import Progress
from tychora_functions.reading import read_place, says
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound, TychoraError
from tychora_schemas.locator import Locator
from tychora_schemas.receipts import NamedPath, VerifyReport

__all__ = ["verify"]

SPOT_CHECKS = 8
"""Units per extraction that are read again where that takes the parser; literal bytes are all compared."""


def verify(
    workspace: Workspace, *, sample: float = 1.0, progress: Callable[[Progress], None] | None = None
) -> VerifyReport:
    """Check everything that the history of this location reaches, and report each problem with the file it is in.

    `sample` is the share of files that are hashed and of extractions that are read again from their originals.
    Sizes, names and references are always checked.
    """
    if not 0 <= sample <= 1:
        raise InvalidRequest(f"{sample:g} is no share", next_step="give a number from 0 to 1, such as 0.05 for 5 %")
    watch = progress or (lambda _: None)
    problems = [*check_store(workspace.store), *check_log(workspace)]
    problems += check_objects(workspace.store, sample)
    notes: list[Problem] = []
    for each, lost in unnamed_snapshots(workspace):
        (problems if lost else notes).append(each)
    left_out = False
    with suppress(CorruptWorkspace):  # then it is among the problems already
        left_out = originals_left_out(workspace.store)
    if left_out:
        notes.append(Problem(LEFT_OUT, "made without originals: where one is missing, no quote was compared with it"))
    statements = workspace.statements.in_force()
    batches: dict[str, BatchEntry] = {}
    reached = _reached(workspace, problems)
    for snapshot_id in reached:
        try:
            snapshot = workspace.snapshot(snapshot_id)
            for named, batch in zip(snapshot.manifest.batches, snapshot.batches, strict=True):
                if batches.setdefault(batch.entry.id, batch.entry) != batch.entry:
                    what = f"it describes {batch.entry.id} in another way than a later snapshot does"
                    problems.append(Problem(snapshot_path(snapshot_id), what))
                if batch.entry != named:
                    notes.append(Problem(named.id, "complete except for what was erased"))
        except TychoraError as error:
            problems.append(Problem(snapshot_path(snapshot_id), error.message))
            continue
        problems += _guarded(snapshot_id, check_snapshot(snapshot, workspace.store, left_out=left_out))
    with suppress(TychoraError):  # then it is among the problems already
        notes += [Problem(each.path, each.note) for each in advice(workspace.head())]
    files: list[FileEntry] = []
    units = 0
    for done, listed in enumerate(batches.values()):
        watch(Progress("reading", done, len(batches), 0, listed.id))
        files += listed.files
        broken = list(check_files(workspace.store, list(listed.files), sample))
        problems += broken
        if broken:
            continue
        batch = Batch(listed, workspace.store, workspace.cache)
        problems += _guarded(listed.id, check_batch(listed, workspace.store, workspace.cache, statements))
        problems += _guarded(listed.id, _check_quotes(workspace, batch, sample))
        units += sum(batch.extractions.column("units").to_pylist())
    unique = list(dict.fromkeys(problems))
    return VerifyReport(
        ok=not unique,
        snapshot_id=next(iter(reached), ""),
        files=len(files),
        bytes=sum(file.size for file in files),
        units=units,
        sample=sample,
        problems=[NamedPath(path=each.where, note=each.what) for each in unique],
        notes=[NamedPath(path=each.where, note=each.what) for each in dict.fromkeys(notes)],
    )


def _reached(workspace: Workspace, problems: list[Problem]) -> list[str]:
    """The snapshots that the log leads to, newest first, with their ancestors that are here.

    One that is named by an entry and missing is a problem, unless a collection has removed it.
    """
    present = workspace.snapshot_ids()
    reached: dict[str, None] = {}
    collected: frozenset[str] = frozenset()
    with suppress(TychoraError):
        collected = workspace.collected()
    for number in reversed(workspace.log.sequence.numbers()):
        try:
            entry = workspace.log.entry(number)
            void = workspace.log.is_void(entry)
        except TychoraError as error:
            problems.append(Problem(f"log entry {number}", error.message))
            continue
        if void:
            continue
        if entry.snapshot not in present:
            if snapshot_path(entry.snapshot) not in collected:
                problems.append(
                    Problem(snapshot_path(entry.snapshot), f"it is missing, though log entry {number} names it")
                )
            continue
        try:
            reached |= dict.fromkeys(ancestors(workspace.manifest, present, entry.snapshot, reached))
        except TychoraError as error:
            reached.setdefault(entry.snapshot)
            problems.append(Problem(snapshot_path(entry.snapshot), error.message))
    with suppress(TychoraError):  # a damaged tag is found by its own check
        for tagged in workspace.tags.all().values():
            reached |= dict.fromkeys(ancestors(workspace.manifest, present, tagged, reached))
    return list(reached)


def _guarded(where: str, checks: Iterator[Problem]) -> Iterator[Problem]:
    """The problems found, and, where a check cannot go on, that as one more."""
    try:
        yield from checks
    except TychoraError as error:
        yield Problem(where, error.message)


def _check_quotes(workspace: Workspace, batch: Batch, sample: float) -> Iterator[Problem]:
    """Each unit's text stands at its locator in the retained original."""
    chance = random.Random(batch.id)
    by_content: dict[str, list[ExtractionRow]] = defaultdict(list)
    for ordinal in range(batch.extractions.num_rows):
        if chance.random() < sample:
            extraction = batch.extraction(ordinal)
            by_content[extraction.content_sha256].append(extraction)
    for content, extractions in by_content.items():
        try:
            data = workspace.objects.get(content)
        except NotFound:
            continue
        for extraction in extractions:
            yield from _check_extraction(batch, extraction, data)


def _check_extraction(batch: Batch, extraction: ExtractionRow, data: bytes) -> Iterator[Problem]:
    spans = [
        (chunk, span)
        for chunk in batch.chunks(range(extraction.first_row, extraction.first_row + extraction.rows))
        for span in chunk.units
    ]
    literal = [each for each in spans if '"bytes":' in each[1].locator]
    parsed = [each for each in spans if '"bytes":' not in each[1].locator]
    for chunk, span in literal + parsed[:: max(1, len(parsed) // SPOT_CHECKS)]:
        locator = Locator.model_validate_json(span.locator)
        text = chunk.text[span.start : span.end]
        if not says(text, read_place(data, locator, extraction.parser), locator):
            yield Problem(extraction.extraction_id, f"row {chunk.row}: {text[:60]!r} does not stand at its place")
