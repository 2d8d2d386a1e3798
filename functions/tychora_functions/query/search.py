"""Searching: the channels that were asked for, side by side, each over the same eligible rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tychora_functions.query.candidates import Found
from tychora_functions.query.channels import exact, lexical, text
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.fusion import Space
from tychora_functions.query.question import Question
from tychora_functions.query.trace import Trace
from tychora_schemas.errors import InvalidRequest, TychoraError
from tychora_schemas.requests import QueryRequest

__all__ = ["Findings", "search"]

BUILT = ("exact", "lexical", "text")
"""Channels of this version; the contract names more."""


@dataclass(slots=True)
class Findings:
    """What the channels found, best first, the vector spaces behind it, and what went wrong on the way."""

    rows: dict[str, list[Found]] = field(default_factory=dict)
    spaces: list[Space] = field(default_factory=list)
    floors: dict[str, float] = field(default_factory=dict)
    """Per text channel, the cosine from which on a neighbour without any word of the question is evidence."""
    warnings: list[str] = field(default_factory=list)


def search(eligible: Eligible, question: Question, request: QueryRequest, trace: Trace) -> Findings:
    """Run the channels. One that fails is a warning, and the others answer; a strict request gets its error."""
    findings = Findings()
    if not eligible.scope.size or not (question.terms or question.identifiers):
        return findings
    if "exact" in request.channels:
        _run("exact", partial(exact.search, eligible, question), findings, request.strict, trace)
    if "lexical" in request.channels:
        _run("lexical", partial(lexical.search, eligible, question), findings, request.strict, trace)
    if "text" in request.channels:
        names = text.families(eligible.snapshot)
        for name in names:
            channel = "text" if len(names) == 1 else f"text:{name}"
            find = partial(_neighbours, eligible, question, name, channel, findings)
            _run(channel, find, findings, request.strict, trace)
    for channel in request.channels:
        if channel not in BUILT:
            _refuse(channel, findings, request.strict)
    return findings


def _neighbours(eligible: Eligible, question: Question, name: str, channel: str, findings: Findings) -> list[Found]:
    from tychora_functions.embed.embed import embed_question
    from tychora_functions.embed.families import family

    calibration = family(name).calibration
    neighbours = text.search(eligible, embed_question(question.text, name), name)
    findings.spaces.append(Space(calibration.weight, neighbours))
    findings.floors[channel] = calibration.floor
    return neighbours.nearest()


def _run(channel: str, find: Callable[[], list[Found]], findings: Findings, strict: bool, trace: Trace) -> None:
    with trace.stage(channel) as note:
        try:
            findings.rows[channel] = find()
            note["candidates"] = len(findings.rows[channel])
        except TychoraError as error:
            if strict:
                raise
            findings.warnings.append(f"the channel {channel} did not answer: {error}")


def _refuse(channel: str, findings: Findings, strict: bool) -> None:
    message = f"this version has no channel {channel!r}"
    if strict:
        raise InvalidRequest(message, next_step=f"ask for: {', '.join(BUILT)}")
    findings.warnings.append(message)
