"""Query: from a question to cited evidence. One function; every face only carries its request in and its result out."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

from tychora_format.analysis import ANALYSIS_VERSION
from tychora_format.snapshot import Snapshot
from tychora_format.workspace import Workspace
from tychora_functions.delivery import delivered
from tychora_functions.query.budget import Budget
from tychora_functions.query.candidates import Candidate
from tychora_functions.query.coverage import cover
from tychora_functions.query.drafts import assemble, widen
from tychora_functions.query.eligibility import Eligible, eligible
from tychora_functions.query.hydrate import Hydrator
from tychora_functions.query.matching import Matcher
from tychora_functions.query.question import Question
from tychora_functions.query.ranking import rank
from tychora_functions.query.replay import Run
from tychora_functions.query.search import search
from tychora_functions.query.segments import write
from tychora_functions.query.spans import Marker
from tychora_functions.query.trace import Trace
from tychora_schemas.errors import InvalidRequest, TychoraError
from tychora_schemas.identity import digest
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import BudgetContract, QueryResult

__all__ = ["query", "replay"]

QUERY_VERSION = 2
"""Enters a run's configuration: whatever changes the answer to a request on a snapshot must change it."""

CHECKS = ("every file read was checked against the hash in the snapshot's manifest",)


def query(workspace: Workspace, request: QueryRequest) -> QueryResult:
    """Answer a question with the evidence in the workspace.

    Any text is a valid question. Raises NotFound for an `at` that names no snapshot, InvalidRequest for an unknown
    filter, CorruptWorkspace for damaged files, and in a strict request whatever made a channel fail.
    """
    return delivered(workspace, lambda: _query(workspace, request))


def _query(workspace: Workspace, request: QueryRequest) -> QueryResult:
    snapshot = workspace.resolve(request.at)
    result = _answer(snapshot, snapshot.statements.number, request)
    if request.at != "main":
        return result if snapshot.id else result.model_copy(update={"warnings": (*result.warnings, BEFORE_ALL)})
    if workspace.passed_over is not None and request.strict:
        raise workspace.passed_over
    note = _incomplete(workspace, snapshot)
    return result.model_copy(update={"warnings": (*result.warnings, note)}) if note else result


def _incomplete(workspace: Workspace, snapshot: Snapshot) -> str:
    """What is to be said where the newest state is not the one that was asked."""
    if not snapshot.id:
        return NO_COMMIT if next(iter(workspace.store.list("snapshots/")), None) is not None else ""
    if workspace.passed_over is None:
        return ""
    return f"{workspace.passed_over.message}: this is the state before that commit (tychora verify)"


def replay(workspace: Workspace, run_id: str) -> QueryResult:
    """The result of an earlier run, again: the same segments byte for byte, from its snapshot.

    Raises InvalidRequest for a token that is none or names a snapshot that this workspace does not hold. A run of
    another version of the query may rank otherwise now; the result's warnings say so, as they do where statements
    (withdrawals, erasures) were made since.
    """
    run = Run.decode(run_id)
    return delivered(workspace, lambda: _replay(workspace, run))


def _replay(workspace: Workspace, run: Run) -> QueryResult:
    snapshot = _held(workspace, run.snapshot_id)
    result = _answer(snapshot, run.statements, run.request)
    notes = []
    if run.configuration != configuration():
        notes.append("this run was made by another version of the query: its ranking may differ")
    if run.statements != snapshot.statements.number:
        notes.append("statements were made since this run: what they withdraw is no longer in the result")
    return result.model_copy(update={"warnings": (*result.warnings, *notes)}) if notes else result


def _held(workspace: Workspace, snapshot_id: str) -> Snapshot:
    try:
        return workspace.snapshot(snapshot_id) if snapshot_id else workspace.empty()
    except TychoraError as error:
        raise InvalidRequest(
            f"this run was made on snapshot {snapshot_id[:12]}, which cannot be read here: {error.message}",
            next_step="replay it where that snapshot is, or sync it from there",
        ) from error


@cache
def configuration() -> str:
    """The fingerprint of what, beside request and snapshot, an answer depends on."""
    return digest("query-configuration-v1", {"query": QUERY_VERSION, "analysis": ANALYSIS_VERSION}).hex()[:16]


BEFORE_ALL = "this is the state before the first commit: nothing was there yet"

NO_COMMIT = "there are snapshots here, but no commit: a first add was interrupted, or the log was lost (tychora verify)"


def _answer(snapshot: Snapshot, statements: int, request: QueryRequest) -> QueryResult:
    trace = Trace(request.trace)
    with trace.stage("eligibility") as note:
        scope = eligible(snapshot, request.filters)
        note["rows"] = scope.scope.size
    question = Question(request.question)
    findings = search(scope, question, request, trace)
    hydrator = Hydrator(snapshot)
    with trace.stage("ranking") as note:
        ranked = rank(findings, scope, question, request, hydrator)
        note["candidates"] = [_noted(candidate) for candidate in ranked[: 2 * request.k]] if request.trace else []
    with trace.stage("context"):
        drafts = assemble(ranked, hydrator, request.k, request.segment_tokens, trace)
        if request.context:
            widen(drafts, hydrator, min(request.segment_tokens, request.budget_tokens // request.k))
    matcher = Matcher(question, scope.view)
    marker = Marker(question)
    budget = Budget(request.budget_tokens, request.segment_tokens)
    with trace.stage("citations"):
        writing = (made for draft in drafts for made in write(draft, scope, marker, matcher, budget, trace))
        written = list(islice(writing, request.k))
    with trace.stage("coverage"):
        forms = {candidate.place: candidate.forms for candidate in ranked if candidate.forms}
        evidence = [each.evidence(forms) for each in written]
        coverage, gaps = cover(question, matcher, evidence)
    if request.filters and not scope.scope.size:
        gaps.append("the filters leave nothing to search")
    citations = {citation.id: citation for each in written for citation in each.citations}
    return QueryResult(
        run_id=Run(snapshot.id, statements, configuration(), request).encode(),
        snapshot_id=snapshot.id,
        applied_scope=_scope(request, scope),
        segments=tuple(each.segment for each in written),
        citations=tuple(citations.values()),
        coverage=coverage,
        checks=CHECKS,
        coverage_gaps=tuple(gaps),
        warnings=tuple(findings.warnings),
        budget_contract=BudgetContract(
            tokens=budget.tokens,
            used_tokens=budget.used,
            segments_cut=budget.cut,
            segments_shortened=budget.shortened,
        ),
        trace=trace.as_dict(),
    )


def _scope(request: QueryRequest, scope: Eligible) -> dict[str, Any]:
    return {
        "at": request.at,
        "snapshot": scope.snapshot.id,
        "filters": {key: list(values) for key, values in request.filters.items()},
        "channels": list(request.channels),
        "chunks": scope.scope.size,
        "sources": scope.scope.table.num_rows,
    }


def _noted(candidate: Candidate) -> dict[str, Any]:
    return {
        "place": list(candidate.place),
        "score": candidate.score,
        "ranks": candidate.ranks,
        "scores": {channel: round(score, 6) for channel, score in candidate.scores.items()},
    }
